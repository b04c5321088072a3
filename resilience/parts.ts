// The parts of the battery, in the order in which they are played. A new part is one file and one line.
import type { Part } from './harness/stage.ts';
import { kill9 } from './parts/kill.ts';

export const PARTS: readonly Part[] = [kill9];
