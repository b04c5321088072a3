// The parts of the battery, in the order in which they are played. A new part is one file and one line.
import type { Part } from './harness/stage.ts';
import { kill9 } from './parts/kill.ts';
import { storeFaults } from './parts/store-faults.ts';
import { upstreamFaults } from './parts/upstream-faults.ts';

export const PARTS: readonly Part[] = [kill9, upstreamFaults, storeFaults];
