// The load client, a process of its own (forked by the driver) so that neither its CPU nor its timers are part of what
// is measured. Takes one job at a time over IPC and answers with what it saw; a single bad answer fails the job.
import { setTimeout as pause } from 'node:timers/promises';
import { Connection, type EventTimes, type Expected } from './harness/connection.ts';
import { quantile } from './harness/quantiles.ts';

/** Sends `requests` over `connections`; each connection sends its next one when the last answer is complete. */
export interface LoadJob {
  readonly kind: 'load';
  readonly port: number;
  readonly connections: number;
  readonly requests: number;
  /** Head and body. */
  readonly request: Buffer;
  readonly expected: Expected;
}

/** Each of `workers` asks all targets in turn, `rounds` times, so that what disturbs one disturbs all. */
export interface PairedJob {
  readonly kind: 'paired';
  readonly targets: readonly { readonly port: number; readonly request: Buffer }[];
  readonly workers: number;
  readonly rounds: number;
  /** From the start of a round to the start of the next, at least; 0 = as fast as it goes. */
  readonly everyMs: number;
  readonly expected: Expected;
}

export type Job = LoadJob | PairedJob;

/** Milliseconds; delay and gap only of stamped events. */
export interface Seen {
  readonly wholeP50Ms: number;
  readonly wholeP99Ms: number;
  readonly firstByteP50Ms: number;
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  readonly gapP99Ms: number;
}

export interface Report {
  readonly wallMs: number;
  /** One per target. */
  readonly seen: readonly Seen[];
}

export type Reply = { readonly report: Report } | { readonly problem: string };

/** Connects at once; more would overflow a listen backlog of 511 and wait for a SYN to be sent again. */
const CONNECTS_AT_ONCE = 100;

class Samples implements EventTimes {
  readonly whole: number[] = [];
  readonly firstByte: number[] = [];
  readonly delaysMs: number[] = [];
  readonly gapsMs: number[] = [];

  seen(): Seen {
    return {
      wholeP50Ms: quantile(this.whole, 0.5),
      wholeP99Ms: quantile(this.whole, 0.99),
      firstByteP50Ms: quantile(this.firstByte, 0.5),
      delayP50Ms: quantile(this.delaysMs, 0.5),
      delayP99Ms: quantile(this.delaysMs, 0.99),
      gapP99Ms: quantile(this.gapsMs, 0.99),
    };
  }
}

async function opened(port: number, count: number, samples: Samples): Promise<Connection[]> {
  const all = Array.from({ length: count }, () => new Connection(port, samples));
  for (let i = 0; i < count; i += CONNECTS_AT_ONCE) {
    await Promise.all(all.slice(i, i + CONNECTS_AT_ONCE).map((one) => one.open()));
  }
  return all;
}

async function ask(
  connection: Connection,
  request: Buffer,
  expected: Expected,
  samples: Samples,
): Promise<void> {
  const { firstByteMs, wholeMs } = await connection.ask(request, expected);
  samples.firstByte.push(firstByteMs);
  samples.whole.push(wholeMs);
}

async function load(job: LoadJob): Promise<Report> {
  const samples = new Samples();
  const connections = await opened(job.port, job.connections, samples);
  let left = job.requests;
  const startedAt = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      while (left > 0) {
        left -= 1;
        await ask(connection, job.request, job.expected, samples);
      }
    }),
  );
  const wallMs = performance.now() - startedAt;
  for (const connection of connections) connection.close();
  return { wallMs, seen: [samples.seen()] };
}

async function paired(job: PairedJob): Promise<Report> {
  const samples = job.targets.map(() => new Samples());
  const lanes = await Promise.all(
    job.targets.map(({ port }, i) => opened(port, job.workers, samples[i] as Samples)),
  );
  const startedAt = performance.now();
  const worker = async (index: number): Promise<void> => {
    // Workers that start together would stay together and measure each other.
    if (job.everyMs > 0) await pause((job.everyMs * index) / job.workers);
    for (let round = 0; round < job.rounds; round += 1) {
      const roundAt = performance.now();
      for (let step = 0; step < job.targets.length; step += 1) {
        const i = (step + round) % job.targets.length;
        const [target, lane, own] = [job.targets[i], lanes[i]?.[index], samples[i]];
        if (target === undefined || lane === undefined || own === undefined)
          throw new Error('a lane is missing');
        await ask(lane, target.request, job.expected, own);
      }
      const restMs = job.everyMs - (performance.now() - roundAt);
      if (restMs > 0) await pause(restMs);
    }
  };
  await Promise.all(Array.from({ length: job.workers }, (_, index) => worker(index)));
  const wallMs = performance.now() - startedAt;
  for (const connection of lanes.flat()) connection.close();
  return { wallMs, seen: samples.map((one) => one.seen()) };
}

async function reply(job: Job): Promise<Reply> {
  try {
    return { report: await (job.kind === 'load' ? load(job) : paired(job)) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

process.on('message', (job: Job) => void reply(job).then((one) => process.send?.(one)));
process.on('disconnect', () => process.exit());
