// One worker and two: CPU per call, and how evenly it is spread. Client and upstream share the cores with what is
// measured, so calls per second say little on a small machine; the CPU of the busiest process is what would limit the
// proxy on free cores.
import { requestOf, smallBody } from '../harness/bodies.ts';
import { fixed, JSON_ANSWER } from '../harness/measure.ts';
import { OURS, throughline, type Running } from '../harness/peers.ts';
import { cpuSecondsOfEach, quiet, residentMb } from '../harness/processes.ts';
import type { Bench, Scenario } from '../harness/scenario.ts';

interface Measured {
  readonly workers: number;
  /** Microseconds per call, of all processes and of the busiest one. */
  readonly cpuUs: number;
  readonly busiestUs: number;
  readonly callsPerSecond: number;
  readonly residentMb: number;
}

const COUNTS = [1, 2] as const;

async function measure(
  bench: Bench,
  peer: Running,
  workers: number,
  job: { readonly connections: number; readonly requests: number; readonly request: Buffer },
): Promise<Measured> {
  const { pid } = peer.program;
  await quiet(pid);
  const before = cpuSecondsOfEach(pid);
  const { wallMs } = await bench.client({ kind: 'load', port: peer.port, expected: JSON_ANSWER, ...job });
  const memory = residentMb(pid);
  await quiet(pid);
  const spent = [...cpuSecondsOfEach(pid)].map(([one, seconds]) => seconds - (before.get(one) ?? 0));
  const us = (seconds: number): number => (seconds * 1e6) / job.requests;
  return {
    workers,
    cpuUs: us(spent.reduce((sum, one) => sum + one, 0)),
    busiestUs: us(Math.max(...spent)),
    callsPerSecond: (job.requests * 1000) / wallMs,
    residentMb: memory,
  };
}

export const workers: Scenario = {
  name: 'workers',
  about: 'one worker and two: CPU per call of all and of the busiest process',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const running: { readonly count: number; readonly peer: Running }[] = [];
    for (const count of COUNTS) {
      const peer = throughline(`${OURS}, ${count} workers`, undefined, [], ['--workers', String(count)]);
      running.push({ count, peer: await bench.startOne(peer, upstreamPort) });
    }
    const body = smallBody();
    const connections = bench.wanted.connections ?? 64;
    const requests = bench.count(20_000, 3_000);
    const best = new Map<number, Measured>();
    const job = (peer: Running, more = 1) => ({
      connections,
      requests: requests * more,
      request: requestOf(body, peer),
    });
    // Each process compiles its hot code for itself, so each needs as many calls to get warm.
    for (const { count, peer } of running) await measure(bench, peer, count, job(peer, count));
    for (let round = 0; round < bench.wanted.rounds; round += 1) {
      for (const { count, peer } of running) {
        const one = await measure(bench, peer, count, job(peer));
        const before = best.get(count);
        if (before === undefined || one.cpuUs < before.cpuUs) best.set(count, one);
      }
    }
    const all = COUNTS.map((count) => best.get(count) as Measured);
    const alone = all[0]?.cpuUs ?? NaN;
    return [
      {
        title: `Workers: ${body.length} bytes in, ${connections} connections, ${requests} requests, best of ${bench.wanted.rounds}`,
        columns: [
          'workers',
          'CPU us per call',
          'of the busiest',
          'x on free cores',
          'calls/s here',
          'RSS MB',
        ],
        rows: all.map((one) => [
          String(one.workers),
          fixed(one.cpuUs, 1),
          fixed(one.busiestUs, 1),
          fixed(alone / one.busiestUs, 2),
          fixed(one.callsPerSecond, 0),
          fixed(one.residentMb, 0),
        ]),
        notes: [
          'x on free cores: CPU per call of one worker by that of the busiest process; client and upstream take the same cores here.',
        ],
      },
    ];
  },
};
