// One scenario with the proxy alone under V8's sampling profiler, as a file for the developer tools and a picture.
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flameGraph, type CpuProfile } from './flame.ts';
import { describeRun } from './machine.ts';
import { OURS } from './peers.ts';
import { Bench, type Scenario, type Wanted } from './scenario.ts';

/** Plays the scenario and writes `base.cpuprofile` and `base.svg`; what the start cost is left out of the picture. */
export async function profiled(scenario: Scenario, wanted: Wanted, base: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-profile-'));
  const bench = new Bench({ ...wanted, peers: [OURS], profileInto: folder });
  try {
    await scenario.run(bench);
    await bench.endProxies();
    const files = readdirSync(folder).map((name) => join(folder, name));
    const [largest] = files.toSorted((a, b) => statSync(b).size - statSync(a).size); // others are of short-lived threads
    if (largest === undefined) throw new Error('the proxy left no profile');
    const profile = JSON.parse(readFileSync(largest, 'utf8')) as CpuProfile;
    const svg = flameGraph(profile, `${scenario.name}: ${describeRun()}`, bench.firstLoadUs);
    copyFileSync(largest, `${base}.cpuprofile`);
    writeFileSync(`${base}.svg`, svg);
  } finally {
    bench.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
