// The parts of the battery that kill, fill, damage and reload, in short.
import t from 'tap';
import { kill9 } from '../../resilience/parts/kill.ts';
import { reloadStorm } from '../../resilience/parts/reload-storm.ts';
import { soak } from '../../resilience/parts/soak.ts';
import { storeFaults } from '../../resilience/parts/store-faults.ts';
import { playInShort } from './fixture/in-short.ts';

await playInShort(t, [kill9, storeFaults, reloadStorm, soak]);
