// What the main thread allocates for a small call. The same on a busy machine as on a quiet one, so that two revisions
// compare where their times do not. Garbage collection and cold memory follow from it.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { countFile } from '../allocation-probe.ts';
import { requestOf, smallBody } from '../harness/bodies.ts';
import { fixed } from '../harness/measure.ts';
import { BARE, ROOT, startBare, type Peer } from '../harness/peers.ts';
import type { Program } from '../harness/processes.ts';
import type { Scenario } from '../harness/scenario.ts';

const PROBE = `--import=${join(ROOT, 'bench/allocation-probe.ts')}`;
const WRITTEN_WITHIN_MS = 30_000;
/** A signal is handled by the event loop. */
const HANDLED_MS = 500;

export const allocations: Scenario = {
  name: 'allocations',
  about: 'bytes that the main thread allocates for a small call: repeatable on a busy machine',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const ours: Peer[] = bench.ours([PROBE]);
    const probed = { name: BARE, lacks: null, missing: () => null };
    const bareRelay: Peer = { ...probed, start: (place) => startBare(place.upstreamPort, [PROBE]) };
    const peers = await bench.start([bareRelay, ...ours], upstreamPort);
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
          expected: { status: 200, events: null, stamped: false },
        });
      await load(bench.count(15_000, 300, null));
      const bytes = (await counted(peer.program, () => load(requests))) / requests;
      if (peer.name === BARE) bare = bytes;
      rows.push([peer.name, fixed(bytes / 1024, 1), bare === null ? '-' : fixed(bytes / bare, 2)]);
    }
    return [
      {
        title: `Allocated for a small call: ${body.length} bytes in, ${connections} connections, ${requests} requests`,
        columns: ['', 'KB per call', 'x bare relay'],
        rows,
        notes: bench.notes,
      },
    ];
  },
};

/** Bytes that the main thread of a program allocates meanwhile; the program has the probe. */
async function counted({ pid }: Program, work: () => Promise<unknown>): Promise<number> {
  const file = countFile(pid);
  process.kill(pid, 'SIGUSR2');
  await pause(HANDLED_MS);
  await work();
  process.kill(pid, 'SIGUSR2');
  for (let waitedMs = 0; !existsSync(file); waitedMs += 50) {
    if (waitedMs > WRITTEN_WITHIN_MS) throw new Error('the program did not count what it allocates');
    await pause(50);
  }
  const bytes = Number(readFileSync(file, 'utf8'));
  rmSync(file);
  return bytes;
}
