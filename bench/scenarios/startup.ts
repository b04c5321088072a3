// From the start of the process to its first answer, and what it holds when nobody calls: from the sources, and from
// the compiled files as a package or an image has them.
import { setTimeout as pause } from 'node:timers/promises';
import { built } from '../harness/built.ts';
import { fixed } from '../harness/measure.ts';
import { BARE, OURS, throughline } from '../harness/peers.ts';
import { least, quantile } from '../harness/quantiles.ts';
import { residentMb } from '../harness/processes.ts';
import type { Scenario } from '../harness/scenario.ts';

const IDLE_MS = 1_000;

export const startup: Scenario = {
  name: 'startup',
  about: 'time to ready and idle memory, from sources and built',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const peers = bench.peers([BARE]);
    try {
      peers.push(throughline(`${OURS}, built`, built(bench.folder)));
    } catch (error) {
      bench.notes.push(`${OURS}, built, was not run: ${(error as Error).message}.`);
    }
    const times = new Map<string, { readyMs: number[]; idleMb: number[] }>(
      peers.map(({ name }) => [name, { readyMs: [], idleMb: [] }]),
    );
    const rounds = bench.wanted.quick ? 2 : Math.max(5, bench.wanted.rounds);
    for (let round = 0; round < rounds; round += 1) {
      for (const peer of peers) {
        const startedAt = performance.now();
        const { program } = await bench.startOne(peer, upstreamPort, 1, `${peer.name}-${round}`);
        times.get(peer.name)?.readyMs.push(performance.now() - startedAt);
        await pause(IDLE_MS);
        times.get(peer.name)?.idleMb.push(residentMb(program.pid));
        program.stop();
      }
    }
    return [
      {
        title: `Start: process created to port open, ${rounds} starts of each in turn`,
        columns: ['', 'best ms', 'median ms', 'idle RSS MB'],
        rows: [...times].map(([name, { readyMs, idleMb }]) => [
          name === OURS ? `${name}, from sources` : name,
          fixed(least(readyMs), 0),
          fixed(quantile(readyMs, 0.5), 0),
          fixed(quantile(idleMb, 0.5), 0),
        ]),
        notes: bench.notes,
      },
    ];
  },
};
