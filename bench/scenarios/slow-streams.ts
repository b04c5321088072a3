// Very many slow streams at once: all complete, and what each of them holds in memory.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { requestOf, smallBody } from '../harness/bodies.ts';
import { fixed } from '../harness/measure.ts';
import { BARE, OURS, type Running } from '../harness/peers.ts';
import { cpuSeconds, residentMb } from '../harness/processes.ts';
import type { Bench, Scenario } from '../harness/scenario.ts';

const EVENTS = 12;
const SPARE_FILES = 100;
const SETTLE_MS = 5_000;

/** Two descriptors per stream in the proxy, one on each side. */
function mostStreams(): number {
  const [, hard = '1024'] =
    /Max open files\s+\S+\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return Math.floor((Number(hard) - SPARE_FILES) / 2);
}

async function rowOf(bench: Bench, peer: Running, streams: number, gapMs: number): Promise<string[]> {
  const { pid } = peer.program;
  const request = requestOf(smallBody({ kind: 'stream', events: EVENTS, gapMs, stamped: false }), peer);
  const expected = { status: 200, events: EVENTS, stamped: false };
  const load = (count: number) =>
    bench.client({ kind: 'load', port: peer.port, connections: count, requests: count, request, expected });
  const warm = smallBody({ kind: 'stream', events: EVENTS, gapMs: 1, stamped: false });
  const warmed = {
    port: peer.port,
    connections: 20,
    requests: 500,
    request: requestOf(warm, peer),
    expected,
  };
  await bench.client({ kind: 'load', ...warmed });
  await pause(1_000);
  const [startMb, cpuBefore] = [residentMb(pid), cpuSeconds(pid)];
  let peakMb = startMb;
  let isOver = false;
  const whole = load(streams).finally(() => (isOver = true));
  while (!isOver) {
    peakMb = Math.max(peakMb, residentMb(pid));
    await Promise.race([whole, pause(200)]);
  }
  const { wallMs } = await whole;
  await pause(bench.wanted.quick ? 500 : SETTLE_MS);
  const afterMb = residentMb(pid);
  return [
    peer.name.startsWith(OURS) ? `${peer.name}, everything on` : peer.name,
    `${streams} of ${streams}`,
    fixed(startMb, 0),
    fixed(peakMb, 0),
    fixed(((peakMb - startMb) * 1024) / streams, 1),
    fixed(afterMb, 0),
    fixed(((cpuSeconds(pid) - cpuBefore) * 1e6) / (streams * EVENTS), 1),
    fixed(wallMs / 1000, 1),
  ];
}

export const slowStreams: Scenario = {
  name: 'slow-streams',
  about: '10,000 slow streams at once: all complete, memory of each, memory afterwards',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('asked');
    const peers = await bench.start(bench.peers([BARE]), upstreamPort);
    const asked = bench.count(10_000, 500, bench.wanted.streams);
    const streams = Math.min(asked, mostStreams());
    const gapMs = bench.wanted.quick ? 150 : 1_500;
    if (streams < asked)
      bench.notes.push(`Open files are limited (ulimit -Hn), so ${streams} streams in place of ${asked}.`);
    const rows: string[][] = [];
    for (const peer of peers) rows.push(await rowOf(bench, peer, streams, gapMs));
    return [
      {
        title: `Slow streams: ${streams} at once, ${EVENTS} events ${gapMs} ms apart`,
        columns: [
          '',
          'complete',
          'RSS before MB',
          'peak MB',
          'KB per stream',
          'RSS after MB',
          'CPU us per event',
          'seconds',
        ],
        rows,
        notes: [
          ...bench.notes,
          'RSS after: five seconds after the last answer, nobody having asked for a collection.',
        ],
      },
    ];
  },
};
