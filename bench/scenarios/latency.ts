// What the way through adds to a call: each worker asks direct and through in turn, at half of what the machine can do.
import { requestOf, smallBody } from '../harness/bodies.ts';
import { fixed, JSON_ANSWER, jsonLoad, warmUp, WARM_CALLS } from '../harness/measure.ts';
import { OURS, type Running } from '../harness/peers.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';

type Way = Pick<Running, 'name' | 'port' | 'headers'>;

async function tableOf(bench: Bench, ways: readonly Way[], workers: number): Promise<Table> {
  const body = smallBody();
  const targets = ways.map((way) => ({ port: way.port, request: requestOf(body, way) }));
  const paired = (rounds: number, everyMs: number) =>
    bench.client({ kind: 'paired', targets, workers, rounds, everyMs, expected: JSON_ANSWER });
  // As fast as it goes first: that says what full load is.
  const warm = Math.ceil(bench.count(3_000, 500) / workers);
  const { wallMs } = await paired(warm, 0);
  const everyMs = (wallMs / warm) * 2;
  const [calls, limitMs] = [bench.count(8_000, 600), bench.wanted.quick ? 1_500 : 8_000];
  const rounds = Math.max(10, Math.ceil(Math.min(calls / workers, limitMs / everyMs)));
  const { seen } = await paired(rounds, everyMs);
  const direct = seen[0];
  return {
    title: `Added latency: ${workers} at a time, half load, ${rounds * workers} calls each way`,
    columns: ['', 'p50 ms', 'p99 ms', 'added p50 ms', 'added p99 ms'],
    rows: ways.map(({ name }, i) => {
      const [p50, p99] = [seen[i]?.wholeP50Ms ?? NaN, seen[i]?.wholeP99Ms ?? NaN];
      return [
        name.startsWith(OURS) ? `${name}, everything on` : name,
        fixed(p50, 3),
        fixed(p99, 3),
        i === 0 ? '-' : fixed(p50 - (direct?.wholeP50Ms ?? NaN), 3),
        i === 0 ? '-' : fixed(p99 - (direct?.wholeP99Ms ?? NaN), 3),
      ];
    }),
    notes: [],
  };
}

export const latency: Scenario = {
  name: 'latency',
  about: 'direct and through in turn at 1, 8, 32 and 128 at a time: added p50 and p99',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const peers = await bench.start(bench.peers(['bare', 'nginx', 'haproxy']), upstreamPort);
    const body = smallBody();
    await warmUp(bench, peers, jsonLoad(body, 32, bench.count(WARM_CALLS, 3_000)));
    const ways = [{ name: 'direct', port: upstreamPort, headers: '' }, ...peers];
    const tables: Table[] = [];
    for (const workers of bench.wanted.quick ? [1, 8] : [1, 8, 32, 128]) {
      tables.push(await tableOf(bench, ways, workers));
    }
    const note =
      'Half load: workers begin a round of all ways every two times as long as a round took at full speed. Load client and upstream share the cores.';
    return tables.map((table, i) =>
      i === tables.length - 1 ? { ...table, notes: [...bench.notes, note] } : table,
    );
  },
};
