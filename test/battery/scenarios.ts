// The scenarios of the battery, in the order in which they run. A new scenario is one file and one line.
import type { Scenario } from './harness/scenario-run.ts';
import { budget } from './scenarios/budget.ts';
import { failoverBench } from './scenarios/failover-bench.ts';
import { isolation } from './scenarios/isolation.ts';
import { kill9 } from './scenarios/kill.ts';
import { fuzz } from './scenarios/fuzz.ts';
import { peers } from './scenarios/peers.ts';
import { secrets } from './scenarios/secrets.ts';
import { soak } from './scenarios/soak.ts';
import { rollingRestart } from './scenarios/rolling-restart.ts';
import { reloadStorm } from './scenarios/reload-storm.ts';
import { slowClients } from './scenarios/slow-clients.ts';
import { storeFaults } from './scenarios/store-faults.ts';
import { upstreamFaults } from './scenarios/upstream-faults.ts';

export const SCENARIOS: readonly Scenario[] = [
  kill9,
  budget,
  upstreamFaults,
  failoverBench,
  storeFaults,
  rollingRestart,
  reloadStorm,
  slowClients,
  secrets,
  isolation,
  peers,
  fuzz,
  soak,
];
