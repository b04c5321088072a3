// The one measurement that most scenarios share: CPU of each peer's whole process tree under the same load, in turn,
// several times, the best of each. It never divides by what was not answered in full.
import type { LoadJob } from '../client.ts';
import { requestOf } from './bodies.ts';
import { BARE, OURS, type Running } from './peers.ts';
import { quantile } from './quantiles.ts';
import { cpuSeconds, quiet, residentMb } from './processes.ts';
import type { Bench } from './scenario.ts';

export interface Measured {
  readonly name: string;
  /** Microseconds of CPU per unit; NaN of the upstream itself. */
  readonly cpuUs: number;
  /** Of each round. */
  readonly everyCpuUs: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly residentMb: number;
  readonly wallMs: number;
}

/** A load on one peer: everything but its port. */
export type Load = Omit<LoadJob, 'kind' | 'port'>;

export interface Plan {
  readonly peers: readonly Running[];
  /** Of the direct way; null leaves it out. */
  readonly upstreamPort: number | null;
  load(peer: Pick<Running, 'headers'>): Load;
  /** Sent before anything is measured; default: a quarter of the load. */
  readonly warmUpRequests?: number;
  /** What the CPU is divided by, for each request: 1, events, bytes. */
  readonly unitsPerRequest: number;
}

const NO_HEADERS = { headers: '' };

/** Warms every peer up, then measures in turn. @throws Error on an answer that is not right */
export async function measureCpu(bench: Bench, plan: Plan): Promise<Measured[]> {
  const best = new Map<string, Measured>();
  const keep = (one: Measured): void => {
    const before = best.get(one.name);
    const isBetter =
      before === undefined || one.cpuUs < before.cpuUs || (isNaN(one.cpuUs) && one.p50Ms < before.p50Ms);
    const memory = Math.max(one.residentMb, before?.residentMb ?? 0);
    const everyCpuUs = [...(before?.everyCpuUs ?? []), ...one.everyCpuUs];
    best.set(one.name, { ...(isBetter ? one : before), residentMb: memory, everyCpuUs });
  };
  await warmUp(bench, plan.peers, (peer) => {
    const load = plan.load(peer);
    return { ...load, requests: plan.warmUpRequests ?? Math.ceil(load.requests / 4) };
  });
  for (let round = 0; round < bench.wanted.rounds; round += 1) {
    if (plan.upstreamPort !== null) {
      const { wallMs, seen } = await job(bench, 'direct', plan.load(NO_HEADERS), plan.upstreamPort);
      const [p50Ms, p99Ms] = [seen[0]?.wholeP50Ms ?? NaN, seen[0]?.wholeP99Ms ?? NaN];
      keep({ name: 'direct', cpuUs: NaN, everyCpuUs: [], p50Ms, p99Ms, residentMb: NaN, wallMs });
    }
    for (let step = 0; step < plan.peers.length; step += 1) {
      // Another one begins each round, so that nobody always follows the same neighbour.
      const peer = plan.peers[(step + round) % plan.peers.length] as Running;
      keep(await measureOne(bench, peer, plan));
    }
  }
  const names = [...(plan.upstreamPort === null ? [] : ['direct']), ...plan.peers.map(({ name }) => name)];
  return names.map((name) => best.get(name) as Measured);
}

/** V8 goes on compiling for some 50,000 small calls, on threads of its own: 15 us per call that a day does not see. */
export const WARM_CALLS = 60_000;

/** A whole answer, no stream. */
export const JSON_ANSWER = { status: 200, events: null, stamped: false } as const;

/** The same body again and again, for such answers. */
export const jsonLoad =
  (body: Buffer, connections: number, requests: number): Plan['load'] =>
  (peer) => ({ connections, requests, request: requestOf(body, peer), expected: JSON_ANSWER });

/** Sends each peer a load of which nothing is measured. @throws Error on an answer that is not right */
export async function warmUp(
  bench: Bench,
  peers: readonly Running[],
  loadOf: (peer: Running) => Load,
): Promise<void> {
  for (const peer of peers) await job(bench, peer.name, shareOf(loadOf(peer), peer), peer.port);
}

/** The load, or the part of it that a slow peer gets. */
function shareOf(load: Load, peer: Running): Load {
  const requests = Math.max(1, Math.round(load.requests * (peer.share ?? 1)));
  return { ...load, requests, connections: Math.min(load.connections, requests) };
}

async function measureOne(bench: Bench, peer: Running, plan: Plan): Promise<Measured> {
  const load = shareOf(plan.load(peer), peer);
  const { pid } = peer.program;
  await quiet(pid);
  const before = cpuSeconds(pid);
  const { wallMs, seen } = await job(bench, peer.name, load, peer.port);
  const memory = residentMb(pid);
  await quiet(pid);
  const cpuUs = ((cpuSeconds(pid) - before) * 1e6) / (load.requests * plan.unitsPerRequest);
  const [p50Ms, p99Ms] = [seen[0]?.wholeP50Ms ?? NaN, seen[0]?.wholeP99Ms ?? NaN];
  return { name: peer.name, cpuUs, everyCpuUs: [cpuUs], p50Ms, p99Ms, residentMb: memory, wallMs };
}

/** A load whose failure names the peer. */
async function job(bench: Bench, name: string, load: Load, port: number) {
  return bench.client({ kind: 'load', port, ...load }).catch((error: unknown) => {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  });
}

/** CPU of `name` in the run; NaN when it did not run. */
const cpuOf = (all: readonly Measured[], name: string): number =>
  all.find((one) => one.name === name)?.cpuUs ?? NaN;

/** Rows with the CPU, its ratios to the bare relay and to nginx, latency under this load, and memory. */
export function cpuRows(all: readonly Measured[], digits = 1): string[][] {
  const times = (one: number, other: number): string => fixed(one / other, 2);
  return all.map(({ name, cpuUs, p50Ms, p99Ms, residentMb }) => [
    name.startsWith(OURS) ? `${name}, everything on` : name,
    fixed(cpuUs, digits),
    times(cpuUs, cpuOf(all, BARE)),
    times(cpuUs, cpuOf(all, 'nginx')),
    fixed(p50Ms, 2),
    fixed(p99Ms, 2),
    fixed(residentMb, 0),
  ]);
}

export const CPU_COLUMNS = ['x bare relay', 'x nginx', 'p50 ms', 'p99 ms', 'RSS MB'] as const;

/**
 * What one takes more than another: the median of the differences within each round, which a busy machine disturbs less than the
 * difference of the best.
 */
export function moreUs(one: Measured, other: Measured): number {
  return quantile(
    one.everyCpuUs.map((cpuUs, round) => cpuUs - (other.everyCpuUs[round] ?? NaN)),
    0.5,
  );
}

/** A number for a cell; a dash for what was not measured. */
export const fixed = (value: number, digits: number): string =>
  Number.isFinite(value) ? value.toFixed(digits) : '-';
