// Hours of mixed calls, a fifth of them left in the middle: memory, sockets and handles must come back to where they
// were. Growth is judged by the slope over the second half, when caches and pools are full.
import { readdirSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { residentMb } from '../../../bench/harness/processes.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { sendLoadCall } from '../../support/load-call.ts';
import { send } from '../../support/rig.ts';
import { openProxySetup } from '../harness/proxy-setup.ts';
import { DEADLINE_MS, type Scenario } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const CALLERS = 24;
const ABORTED = 0.2;
const SAMPLES = 60;
const MODELS = [
  'demo',
  'demo-interval',
  'compat',
  'demo-tools',
  'demo-500',
  'demo-cut',
  'demo-pings',
  'demo-gzip',
];
/** Of the heap after a collection, once the run is long enough to tell growth from noise. */
const MOST_HEAP_MB_PER_HOUR = 20;
const TELLING_SECONDS = 600;

interface Sample {
  readonly atS: number;
  readonly heapMb: number;
  readonly residentMb: number;
  readonly handles: number;
}

/** Growth per second by least squares. */
function slopeOf(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const [x, y] = [mean(({ atS }) => atS), mean(value)];
  const above = samples.reduce((sum, one) => sum + (one.atS - x) * (value(one) - y), 0);
  return above / samples.reduce((sum, one) => sum + (one.atS - x) ** 2, 0);
}

const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

export const soak: Scenario = {
  name: 'soak',
  about: 'mixed calls for as long as asked, a fifth left in the middle: memory and handles come back',
  run: async (scenario) => {
    const { seed } = scenario.options;
    const seconds = scenario.count(300, 4, scenario.options.seconds);
    const random = seededRandom(seed);
    const calls = new ResultRow('calls', [], seed);
    const bounds = new ResultRow('memory, sockets and handles', [], seed);
    const setup = await openProxySetup(scenario);
    const probe = join(import.meta.dirname, '../harness/heap-probe.ts');
    const main = join(import.meta.dirname, '../../../proxy/main.ts');
    const proxy = await setup.serve(join(scenario.folder(), 'data'), ['--log-level', 'silent'], {
      command: [process.execPath, '--expose-gc', '--import', probe, main],
    });
    const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
    let over = false;
    let sent = 0;
    let left = 0;
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!over) {
        sent += 1;
        const model = MODELS[Math.floor(random() * MODELS.length)] as string;
        const leaves = random() < ABORTED;
        if (leaves) left += 1;
        const stream = leaves || random() < 0.7;
        const { port } = proxy;
        const end = await sendLoadCall({
          agent,
          port,
          session: `s-${sent % 50}`,
          model,
          stream,
          onBytes: () => leaves,
        });
        const asked =
          model === 'demo-500' ? 'refused' : model === 'demo-cut' ? (stream ? 'broken' : 'refused') : 'whole';
        const isCompressed = model === 'demo-gzip'; // its [DONE] is not readable here
        calls.check(
          leaves || isCompressed || end === asked,
          () => `${model}${stream ? ', streamed' : ''} was ${end}`,
        );
        setup.seen.length = 0;
      }
    });
    const heap = async (n: number): Promise<number> => {
      process.kill(proxy.pid, 'SIGUSR2');
      const [, bytes] = await proxy.said(new RegExp(`heap ${n} (\\d+)`));
      return Number(bytes) / 2 ** 20;
    };
    const samples: Sample[] = [];
    const startedAt = performance.now();
    for (let n = 1; n <= SAMPLES; n += 1) {
      await pause((seconds * 1000) / SAMPLES);
      const heapMb = await heap(n);
      const atS = (performance.now() - startedAt) / 1000;
      samples.push({ atS, heapMb, residentMb: residentMb(proxy.pid), handles: openFiles(proxy.pid) });
    }
    over = true;
    await Promise.all(callers);
    agent.destroy();
    const endsAt = performance.now() + DEADLINE_MS;
    const inFlight = async (): Promise<number> =>
      Number(
        /^throughline_in_flight (\d+)$/m.exec((await send(proxy.url, 'GET', '/metrics')).text)?.[1] ?? NaN,
      );
    // The call that asks is one itself.
    while ((await inFlight()) > 1 && performance.now() < endsAt) await pause(20);
    const rest = (await inFlight()) - 1;
    const handles = openFiles(proxy.pid);
    bounds.check(rest === 0, () => `${rest} calls are still in flight after the end`);
    // Idle connections to the gateway may stay for their keep-alive, one for each call at once.
    bounds.check(
      handles <= (samples[0]?.handles ?? 0) + CALLERS,
      () => `${handles} open files, ${samples[0]?.handles} at the start`,
    );
    const later = samples.slice(SAMPLES / 2);
    const perHour = (value: (sample: Sample) => number): number => slopeOf(later, value) * 3_600;
    const [heapMb, rssMb] = [perHour((one) => one.heapMb), perHour((one) => one.residentMb)];
    if (seconds >= TELLING_SECONDS)
      bounds.check(heapMb < MOST_HEAP_MB_PER_HOUR, () => `the heap grows by ${heapMb.toFixed(1)} MB an hour`);
    const [first, last] = [later[0], later.at(-1)];
    bounds.notes.push(
      `${seconds} s, ${sent} calls, ${left} left in the middle; second half: heap after a collection ${first?.heapMb.toFixed(1)} to ${last?.heapMb.toFixed(1)} MB (slope ${heapMb.toFixed(1)} MB an hour), resident ${first?.residentMb.toFixed(0)} to ${last?.residentMb.toFixed(0)} MB (slope ${rssMb.toFixed(1)} MB an hour), open files ${samples[0]?.handles} to ${last?.handles}, ${handles} afterwards.`,
    );
    return [calls, bounds];
  },
};
