// Ten thousand entries in model_list: what loading adds to the start, a look-up to a call, and what the list costs.
import { getOf, requestOf, smallBody } from '../harness/bodies.ts';
import { fixed, JSON_ANSWER, measureCpu } from '../harness/measure.ts';
import type { Peer, Running } from '../harness/peers.ts';
import { residentMb } from '../harness/processes.ts';
import type { Bench, Scenario } from '../harness/scenario.ts';

interface Sized {
  readonly models: number;
  readonly readyMs: number;
  readonly running: Running;
}

async function started(bench: Bench, peer: Peer, models: number, upstreamPort: number): Promise<Sized> {
  const startedAt = performance.now();
  const running = await bench.startOne(peer, upstreamPort, models, `${peer.name}-${models}`);
  return {
    models,
    readyMs: performance.now() - startedAt,
    running: { ...running, name: `${running.name}, ${models}` },
  };
}

export const manyModels: Scenario = {
  name: 'many-models',
  about: '10,000 models: time to load, cost of a look-up, /v1/models',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const many = bench.wanted.quick ? 1_000 : 10_000;
    const sized: Sized[] = [];
    for (const peer of bench.ours()) {
      for (const models of [1, many]) sized.push(await started(bench, peer, models, upstreamPort));
    }
    const peers = sized.map(({ running }) => running);
    const calls = { connections: 32, requests: bench.count(10_000, 1_000), expected: JSON_ANSWER };
    const body = smallBody();
    const plan = { peers, upstreamPort: null, unitsPerRequest: 1 };
    const asked = await measureCpu(bench, {
      ...plan,
      load: (peer) => ({ ...calls, request: requestOf(body, peer) }),
    });
    const lists = {
      connections: 4,
      requests: bench.count(3_000, 400),
      expected: JSON_ANSWER,
      request: getOf('/v1/models'),
    };
    const listed = await measureCpu(bench, { ...plan, load: () => lists });
    return [
      {
        title: `Many models: ${calls.requests} small calls for the last model, ${lists.requests} lists, best of ${bench.wanted.rounds}`,
        columns: [
          'models',
          'ready ms',
          'more than for 1, ms',
          'CPU us per call',
          'CPU us per /v1/models',
          'RSS MB',
        ],
        rows: sized.map(({ readyMs, running }, i) => [
          running.name,
          fixed(readyMs, 0),
          i % 2 === 0 ? '-' : fixed(readyMs - (sized[i - 1]?.readyMs ?? NaN), 0),
          fixed(asked[i]?.cpuUs ?? NaN, 1),
          fixed(listed[i]?.cpuUs ?? NaN, 1),
          fixed(residentMb(running.program.pid), 0),
        ]),
        notes: [],
      },
    ];
  },
};
