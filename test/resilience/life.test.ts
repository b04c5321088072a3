// The parts of the battery that kill, reload and wear out the program, in short.
import t from 'tap';
import { kill9 } from '../../resilience/parts/kill.ts';
import { reloadStorm } from '../../resilience/parts/reload-storm.ts';
import { soak } from '../../resilience/parts/soak.ts';
import { playInShort } from './fixture/in-short.ts';

await playInShort(t, [kill9, reloadStorm, soak]);
