// Disks, databases and clocks that fail, in short; a file of its own because it is the longest of the battery's parts.
import t from 'tap';
import { storeFaults } from '../../resilience/parts/store-faults.ts';
import { playInShort } from './fixture/in-short.ts';

await playInShort(t, [storeFaults]);
