// Streamed answers: what an event costs with many streams, and what the way adds to an event and to a first byte with
// few, when no core is busy.
import { requestOf, smallBody } from '../harness/bodies.ts';
import { EVERYONE } from '../harness/gateways.ts';
import { fixed, measureCpu, warmUp, CPU_COLUMNS, cpuRows } from '../harness/measure.ts';
import { OURS, type Running } from '../harness/peers.ts';
import { least } from '../harness/quantiles.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';
import type { Seen } from '../client.ts';

const EVENTS = 200;
const GAP_MS = 5;
const FEW = 8;
/** The shortest stream that the upstream sends: one word and its three last events. */
const SHORT = 4;
/** As with small calls (`WARM_CALLS`): V8 goes on compiling for half a million events, and for longer where there is more code. */
const WARM_LONG_STREAMS = 3_000;
/** Of the short ones; a first byte of code that V8 has not compiled yet takes twice as long. */
const WARM_STREAMS = 20_000;

async function perEvent(bench: Bench, peers: readonly Running[], upstreamPort: number): Promise<Table> {
  const streams = bench.count(300, 50, bench.wanted.streams);
  const body = smallBody({ kind: 'stream', events: EVENTS, gapMs: GAP_MS, stamped: false });
  const measured = await measureCpu(bench, {
    peers,
    upstreamPort,
    unitsPerRequest: EVENTS,
    warmUpRequests: bench.count(WARM_LONG_STREAMS, streams, null),
    load: (peer) => ({
      connections: streams,
      requests: streams,
      request: requestOf(body, peer),
      expected: { status: 200, events: EVENTS, stamped: false },
    }),
  });
  const nominalMs = (EVENTS - 3) * GAP_MS;
  return {
    title: `Streams: ${streams} at once, ${EVENTS} events ${GAP_MS} ms apart, best of ${bench.wanted.rounds}`,
    columns: ['', 'CPU us per event', ...CPU_COLUMNS.slice(0, 2), 'RSS MB', 'took / nominal'],
    rows: cpuRows(measured, 2).map((row, i) => [
      ...row.slice(0, 4),
      row[6] as string,
      fixed((measured[i]?.wallMs ?? NaN) / nominalMs, 2),
    ]),
    notes: [
      ...bench.notes,
      'Took / nominal above 1.1 says that the machine was full: events then arrive together and cost less each.',
    ],
  };
}

async function delays(bench: Bench, peers: readonly Running[], upstreamPort: number): Promise<Table> {
  const all = [{ name: 'direct', port: upstreamPort, headers: '' }, ...peers];
  const body = smallBody({ kind: 'stream', events: EVENTS, gapMs: GAP_MS, stamped: true });
  const expected = { status: 200, events: EVENTS, stamped: true };
  const rounds = bench.wanted.quick ? 1 : bench.wanted.rounds;
  const seen = new Map<string, Seen[]>(all.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const peer of all) {
      const request = requestOf(body, peer);
      const job = {
        kind: 'load',
        port: peer.port,
        connections: FEW,
        requests: FEW,
        request,
        expected,
      } as const;
      const report = await bench.client(job);
      seen.get(peer.name)?.push(...report.seen);
    }
  }
  const short = smallBody({ kind: 'stream', events: SHORT, gapMs: 1, stamped: false });
  await warmUp(bench, peers, (peer) => ({
    connections: 32,
    requests: bench.count(WARM_STREAMS, 500),
    request: requestOf(short, peer),
    expected: { status: 200, events: SHORT, stamped: false },
  }));
  const { seen: firsts } = await bench.client({
    kind: 'paired',
    targets: all.map((peer) => ({ port: peer.port, request: requestOf(short, peer) })),
    workers: 2,
    rounds: bench.wanted.quick ? 50 : 300,
    everyMs: 20,
    expected: { status: 200, events: SHORT, stamped: false },
  });
  const best = (name: string, of: (one: Seen) => number): number => least((seen.get(name) ?? []).map(of));
  const direct = { delay: best('direct', (one) => one.delayP50Ms), first: firsts[0]?.firstByteP50Ms ?? NaN };
  return {
    title: `Delay of an event: ${FEW} streams, ${EVENTS} events ${GAP_MS} ms apart, best of ${rounds}; first byte: 2 streams at a time, in turn`,
    columns: ['', 'delay p50 ms', 'p99 ms', 'added p50 ms', 'gap p99 ms', 'first byte p50 ms', 'added ms'],
    rows: all.map(({ name }, i) => {
      const delay = best(name, (one) => one.delayP50Ms);
      const first = firsts[i]?.firstByteP50Ms ?? NaN;
      return [
        name.startsWith(OURS) ? `${name}, everything on` : name,
        fixed(delay, 3),
        fixed(
          best(name, (one) => one.delayP99Ms),
          3,
        ),
        fixed(delay - direct.delay, 3),
        fixed(
          best(name, (one) => one.gapP99Ms),
          2,
        ),
        fixed(first, 3),
        fixed(first - direct.first, 3),
      ];
    }),
    notes: [
      "Delay: from the upstream's write to the client's read, by one clock. Gap: between two events, nominally 5 ms.",
    ],
  };
}

export const stream: Scenario = {
  name: 'stream',
  about: '200 events 5 ms apart: CPU per event, delay per event, first byte',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('asked');
    const peers = await bench.start(bench.peers(EVERYONE), upstreamPort);
    return [await perEvent(bench, peers, upstreamPort), await delays(bench, peers, upstreamPort)];
  },
};
