// What counting budgets and limits in Valkey or Redis costs a small call: the same key of the same proxy, counted in memory
// and there. Its own CPU alone; that of Valkey stands beside it.
import { join } from 'node:path';
import { smallBody } from '../harness/bodies.ts';
import { fixed, jsonLoad, measureCpu, moreUs } from '../harness/measure.ts';
import { onPath, type Running } from '../harness/peers.ts';
import { cpuSeconds, freePort, Program } from '../harness/processes.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';
import { KEY, withKeys } from './keys.ts';

export const keysShared: Scenario = {
  name: 'keys-shared',
  about: 'a virtual key with budgets and limits, counted in memory and in Valkey or Redis',
  run: async (bench) => {
    const server = onPath('valkey-server') ?? onPath('redis-server');
    if (server === null)
      return [{ title: 'Counters in Valkey', columns: ['not installed'], rows: [], notes: [] }];
    const upstreamPort = await bench.upstream('json');
    const port = await freePort();
    const valkey = new Program(server, ['--port', String(port), '--bind', '127.0.0.1', '--save', '']);
    await valkey.listens(port);
    try {
      return await tables(bench, { upstreamPort, port, valkey });
    } finally {
      valkey.stop();
    }
  },
};

interface Servers {
  readonly upstreamPort: number;
  readonly port: number;
  readonly valkey: Program;
}

async function tables(bench: Bench, { upstreamPort, port, valkey }: Servers): Promise<readonly Table[]> {
  const shared = (database: number): string =>
    `router_settings: { redis_host: 127.0.0.1, redis_port: ${port}, redis_db: ${database} }\n`;
  const peers: Running[] = [];
  const older = bench.wanted.revisions.map(({ name, folder }, i) => {
    const main = join(folder, 'proxy/main.ts');
    return withKeys(`counted in Valkey, at ${name}`, 100, KEY, [], true, shared(i + 1), main);
  });
  for (const peer of [
    withKeys('counted in memory', 100, KEY, [], true),
    ...older,
    withKeys('counted in Valkey', 100, KEY, [], true, shared(0)),
  ]) {
    peers.push(await bench.startOne(peer, upstreamPort, 1, peer.name.replaceAll(/\W+/g, '-')));
  }
  const body = smallBody();
  const requests = bench.count(20_000, 3_000);
  const before = cpuSeconds(valkey.pid);
  const measured = await measureCpu(bench, {
    peers,
    upstreamPort: null,
    unitsPerRequest: 1,
    warmUpRequests: bench.count(60_000, 3_000),
    load: jsonLoad(body, 32, requests),
  });
  const calls = bench.count(60_000, 3_000) + requests * bench.wanted.rounds;
  const serverUs = ((cpuSeconds(valkey.pid) - before) * 1e6) / (calls * (peers.length - 1));
  const [inMemory] = measured;
  return [
    {
      title: `Counters in Valkey: small JSON call, 32 connections, ${requests} requests, best of ${bench.wanted.rounds}`,
      columns: ['', 'CPU us per request', 'more than in memory, us', 'x in memory', 'p50 ms'],
      rows: measured.map((one) => [
        one.name,
        fixed(one.cpuUs, 1),
        fixed(inMemory === undefined ? NaN : moreUs(one, inMemory), 1),
        fixed(one.cpuUs / (inMemory?.cpuUs ?? NaN), 3),
        fixed(one.p50Ms, 2),
      ]),
      notes: [
        'More than in memory: the median of the differences of each round.',
        'Two budgets and six limits a call: of the key and of its team.',
        `The server of the counters itself took ${fixed(serverUs, 0)} us a call.`,
      ],
    },
  ];
}
