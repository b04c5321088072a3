// What all workers say, asked at once; those that do not answer in time are left out, or named.
import type { BrakeQuestion, BrakeReport } from '../access/brake/brake.ts';
import type { WholeReport, WorkerStatus } from '../active-config/cluster-peers.ts';
import type { WorkerFigures } from '../observability/worker-figures.ts';
import type { WorkerProcess } from './worker-process.ts';

/** Health probes and scrapes must not wait for a worker that is stuck: a probe has one second by default. */
const PROBE_MS = 500;

export async function statusesOf(workers: readonly WorkerProcess[]): Promise<readonly WorkerStatus[]> {
  const asked = await Promise.all(
    workers.map(({ channel }) => channel.ask('status', null, PROBE_MS).catch(() => null)),
  );
  return asked.filter((one) => one !== null);
}

export async function brakesOf(
  workers: readonly WorkerProcess[],
  question: BrakeQuestion,
): Promise<readonly BrakeReport[]> {
  const asked = await Promise.all(
    workers.map(({ channel }) => channel.ask('brake', question, PROBE_MS).catch(() => [])),
  );
  return asked.flat();
}

export async function reportsOf(workers: readonly WorkerProcess[]): Promise<WholeReport> {
  const asked = await Promise.all(
    workers.map(async ({ number, channel }) => {
      const report = await channel.ask('report', null, PROBE_MS).catch(() => null);
      return { number, report };
    }),
  );
  return {
    reports: asked.flatMap(({ report }) => (report === null ? [] : [report])),
    silent: asked.flatMap(({ number, report }) => (report === null ? [number] : [])),
  };
}

/** The text of `/metrics`. Of workers that do not answer, the last counts are shown; those that end meanwhile are left out. */
export async function scrapeOf(workers: readonly WorkerProcess[], whole: WorkerFigures): Promise<string> {
  const wishes = await Promise.all(
    workers.map(({ channel }) => channel.ask('labels', null, PROBE_MS).catch(() => null)),
  );
  const { named, gone } = whole.name(wishes.filter((one) => one !== null));
  const asked = await Promise.all(
    workers.map(async (worker, n) => {
      const isSilent = wishes[n] === null;
      const figures = isSilent
        ? null
        : await worker.channel.ask('figures', named, PROBE_MS).catch(() => null);
      return [worker, figures] as const;
    }),
  );
  const here = asked.filter(([worker]) => !worker.gone);
  return whole.scrape(new Map(here.map(([{ id }, figures]) => [id, figures])), gone);
}
