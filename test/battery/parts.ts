// The parts of the battery, in the order in which they are played. A new part is one file and one line.
import type { Part } from './harness/stage.ts';
import { isolation } from './parts/isolation.ts';
import { kill9 } from './parts/kill.ts';
import { fuzz } from './parts/fuzz.ts';
import { peers } from './parts/peers.ts';
import { secrets } from './parts/secrets.ts';
import { soak } from './parts/soak.ts';
import { reloadStorm } from './parts/reload-storm.ts';
import { slowClients } from './parts/slow-clients.ts';
import { storeFaults } from './parts/store-faults.ts';
import { upstreamFaults } from './parts/upstream-faults.ts';

export const PARTS: readonly Part[] = [
  kill9,
  upstreamFaults,
  storeFaults,
  reloadStorm,
  slowClients,
  secrets,
  isolation,
  peers,
  fuzz,
  soak,
];
