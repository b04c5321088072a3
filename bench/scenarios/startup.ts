// From the start of the process to its first answer, and what it holds when nobody calls: from the sources, and from
// the compiled files as a package or an image has them.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fixed } from '../harness/measure.ts';
import { BARE, OURS, ROOT, throughline, type Peer } from '../harness/peers.ts';
import { least, quantile } from '../harness/quantiles.ts';
import { residentMb } from '../harness/processes.ts';
import type { Bench, Scenario } from '../harness/scenario.ts';

const IDLE_MS = 1_000;

/** A package as it would be installed, in the bench's own folder. @throws Error with tsc's words */
function built(bench: Bench): Peer {
  const app = join(bench.folder, 'built');
  mkdirSync(app);
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const { status, stdout } = spawnSync(
    tsc,
    ['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(app, 'dist')],
    {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}` },
    },
  );
  if (status !== 0) throw new Error(`tsc could not build the proxy: ${stdout.slice(0, 500)}`);
  for (const name of ['package.json', 'schemas', 'config/samples']) {
    cpSync(join(ROOT, name), join(app, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(app, 'node_modules'));
  return throughline(`${OURS}, built`, join(app, 'dist/proxy/main.js'));
}

export const startup: Scenario = {
  name: 'startup',
  about: 'time to ready and idle memory, from sources and built',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const peers = bench.peers([BARE]);
    try {
      peers.push(built(bench));
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
