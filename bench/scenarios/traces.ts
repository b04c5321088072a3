// What tracing costs: the small call with every trace kept, with every trace given up by its caller, and without tracing.
import { smallBody } from '../harness/bodies.ts';
import { fixed, jsonLoad, measureCpu } from '../harness/measure.ts';
import { OURS, throughline } from '../harness/peers.ts';
import type { Scenario } from '../harness/scenario.ts';

/** The upstream takes the spans too: it answers whatever it is sent. */
const collector =
  (ratio: number) =>
  (port: number): string =>
    `  otel: { endpoint: "http://127.0.0.1:${port}", sample_ratio: ${ratio} }\n`;

export const traces: Scenario = {
  name: 'traces',
  about: 'the small call without tracing, and with none and all of the traces kept: CPU per request',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const traced = (name: string, ratio: number) =>
      throughline(`${OURS}, ${name}`, undefined, [], [], collector(ratio));
    const peers = await bench.start(
      [throughline(`${OURS}, no tracing`), traced('no trace kept', 0), traced('all traces kept', 1)],
      upstreamPort,
    );
    const body = smallBody();
    const connections = bench.wanted.connections ?? 32;
    const requests = bench.count(20_000, 3_000);
    const measured = await measureCpu(bench, {
      peers,
      upstreamPort: null,
      unitsPerRequest: 1,
      warmUpRequests: bench.count(60_000, 3_000),
      load: jsonLoad(body, connections, requests),
    });
    return [
      {
        title: `Tracing: small JSON call, ${connections} connections, ${requests} requests, best of ${bench.wanted.rounds}`,
        columns: ['', 'CPU us per request', 'p50 ms', 'p99 ms', 'RSS MB'],
        rows: measured.map(({ name, cpuUs, p50Ms, p99Ms, residentMb }) => [
          name,
          fixed(cpuUs, 1),
          fixed(p50Ms, 2),
          fixed(p99Ms, 2),
          fixed(residentMb, 0),
        ]),
        notes: [
          'CPU of the whole process: spans are made and sent in a thread of their own.',
          ...bench.notes,
        ],
      },
    ];
  },
};
