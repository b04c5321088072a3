// What the main thread does for a small call, counted and not timed: the same on a busy machine as on a quiet one, so that two
// revisions compare where their times do not. Bytes allocated (garbage collection and cold memory follow from them), and
// functions called.
import { join } from 'node:path';
import type { CallCounts } from '../call-probe.ts';
import { requestOf, smallBody } from '../harness/bodies.ts';
import { fixed, JSON_ANSWER } from '../harness/measure.ts';
import { BARE, ROOT, startBare, type Peer } from '../harness/peers.ts';
import { counted } from '../harness/probe.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';

export const allocations: Scenario = {
  name: 'allocations',
  about: 'bytes that the main thread allocates for a small call: repeatable on a busy machine',
  run: async (bench) => {
    const warm = bench.count(15_000, 300, null);
    return await tableOf(bench, 'allocation-probe.ts', warm, 'Allocated for', ['KB per call'], (bytes) => [
      (bytes as number) / 1024,
    ]);
  },
};

export const calls: Scenario = {
  name: 'calls',
  about:
    'functions that the main thread calls for a small call, by their owner: repeatable on a busy machine',
  run: async (bench) => {
    const columns = ['all', 'own', 'node', 'undici'];
    return await tableOf(
      bench,
      'call-probe.ts',
      bench.count(1_000, 100, null),
      'Functions called for',
      columns,
      (of) => {
        const { own, node, undici } = of as CallCounts;
        return [own + node + undici, own, node, undici];
      },
    );
  },
};

/** @param numbersOf what was counted, the first number being the one that is compared */
async function tableOf(
  bench: Bench,
  probe: string,
  warm: number,
  what: string,
  columns: readonly string[],
  numbersOf: (counted: unknown) => readonly number[],
): Promise<Table[]> {
  const upstreamPort = await bench.upstream('json');
  const flags = [`--import=${join(ROOT, 'bench', probe)}`];
  const bareRelay: Peer = {
    name: BARE,
    lacks: null,
    missing: () => null,
    start: (place) => startBare(place.upstreamPort, flags),
  };
  const peers = await bench.start([bareRelay, ...bench.ours(flags)], upstreamPort);
  const body = smallBody();
  const connections = bench.wanted.connections ?? 32;
  const requests = bench.count(6_000, 300);
  const rows: string[][] = [];
  let bare: number | null = null;
  for (const peer of peers) {
    const load = (count: number) =>
      bench.client({
        kind: 'load',
        port: peer.port,
        connections,
        requests: count,
        request: requestOf(body, peer),
        expected: JSON_ANSWER,
      });
    await load(warm);
    const numbers = numbersOf(await counted(peer.program, () => load(requests)));
    const each = numbers.map((one) => one / requests);
    const [first = 0] = each;
    if (peer.name === BARE) bare = first;
    rows.push([peer.name, ...each.map((one) => fixed(one, 1)), bare === null ? '-' : fixed(first / bare, 2)]);
  }
  return [
    {
      title: `${what} a small call: ${body.length} bytes in, ${connections} connections, ${requests} requests`,
      columns: ['', ...columns, 'x bare relay'],
      rows,
      notes: bench.notes,
    },
  ];
}
