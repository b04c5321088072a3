// What calls were like in the last minutes and in the last hour, for whoever looks at the proxy now: sampled from the counters
// that the metrics keep anyway, so that a call costs nothing more. Figures of several processes are added up.
import type { FaultSource } from '../errors/codes.ts';
import type { Clock } from '../base/clock.ts';
import type { Buckets, Tally } from './tally.ts';

/** What the metrics have counted of one model at one gateway since the start; the gateway is '' for calls that went nowhere. */
export interface CallCounts {
  readonly model: string;
  readonly gateway: string;
  readonly duration: Buckets;
  readonly firstByte: Buckets;
  readonly overhead: Buckets;
  readonly sides: Readonly<Record<FaultSource, Tally>>;
}

/** Sums of some time. Plain values, which processes send each other. */
export interface CallSums {
  calls: number;
  readonly faults: Record<FaultSource, number>;
  /** By bucket of `SECONDS`. */
  readonly duration: number[];
  readonly firstByte: number[];
  /** By bucket of `OVERHEAD_SECONDS`. */
  readonly overhead: number[];
}

interface PairSums extends CallSums {
  readonly model: string;
  readonly gateway: string;
  /** Of the last minute. */
  lastMinute: number;
}

/** Of one process. */
export interface RecentFigures {
  /** Over `WINDOW_MS`; models that had calls alone. */
  readonly pairs: readonly PairSums[];
  /** Requests refused without a record, in the last minute. */
  readonly refusedLastMinute: number;
  /** Cores that the process has used of late. */
  readonly cpuShare: number;
  /** The last hour, by minutes since the epoch; those without calls are left out. */
  readonly minutes: readonly {
    readonly minute: number;
    readonly calls: number;
    readonly faults: Readonly<Record<FaultSource, number>>;
    readonly firstByte: readonly number[];
  }[];
}

/** How often the counters are read: 1,000 busy models take a tenth of a millisecond. */
const SAMPLE_MS = 10_000;
export const WINDOW_MS = 300_000;
const SLOTS = WINDOW_MS / SAMPLE_MS;
const MINUTE_MS = 60_000;
export const MINUTES = 60;

interface Slot {
  readonly number: number;
  refused: number;
  readonly pairs: Map<string, CallSums & { readonly model: string; readonly gateway: string }>;
}

interface Last {
  readonly calls: number;
  readonly faults: Readonly<Record<FaultSource, number>>;
  readonly duration: readonly number[];
  readonly firstByte: readonly number[];
  readonly overhead: readonly number[];
}

export const noCalls = (): CallSums => ({
  calls: 0,
  faults: { client: 0, proxy: 0, upstream: 0 },
  duration: [],
  firstByte: [],
  overhead: [],
});

/** Adds sums to others. */
export function addCalls(to: CallSums, more: CallSums): void {
  to.calls += more.calls;
  for (const side of ['client', 'proxy', 'upstream'] as const) to.faults[side] += more.faults[side];
  addEach(to.duration, more.duration);
  addEach(to.firstByte, more.firstByte);
  addEach(to.overhead, more.overhead);
}

export class RecentCalls {
  readonly #source: { readonly callCounts: Iterable<CallCounts>; readonly refused: number };
  readonly #clock: Clock;
  readonly #last = new Map<string, Last>();
  #lastRefused = 0;
  /** Oldest first. */
  #slots: Slot[] = [];
  #minutes: (CallSums & { readonly minute: number })[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;
  #cpu = { at: -Infinity, usedMs: 0, share: 0 };

  /** @param source the metrics */
  constructor(source: { readonly callCounts: Iterable<CallCounts>; readonly refused: number }, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Reads the counters from now on; calls before it have no minute. Idempotent; nothing after `stop`. */
  start(): void {
    if (this.#isStopped) return;
    this.#timer ??= setInterval(() => this.#sample(), SAMPLE_MS).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
  }

  figures(): RecentFigures {
    this.#sample();
    const now = this.#clock.now();
    const lastMinute = Math.floor((now - MINUTE_MS) / SAMPLE_MS) + 1;
    const pairs = new Map<string, PairSums>();
    let refusedLastMinute = 0;
    for (const slot of this.#slots) {
      const isLate = slot.number >= lastMinute;
      if (isLate) refusedLastMinute += slot.refused;
      for (const [name, sums] of slot.pairs) {
        const { model, gateway } = sums;
        const pair = pairs.get(name) ?? { ...noCalls(), model, gateway, lastMinute: 0 };
        pairs.set(name, pair);
        addCalls(pair, sums);
        if (isLate) pair.lastMinute += sums.calls;
      }
    }
    return {
      pairs: [...pairs.values()],
      refusedLastMinute,
      cpuShare: this.#cpu.share,
      minutes: this.#minutes.map(({ minute, calls, faults, firstByte }) => ({
        minute,
        calls,
        faults,
        firstByte,
      })),
    };
  }

  #sample(): void {
    this.#sampleCpu();
    const now = this.#clock.now();
    const slot = this.#slotAt(Math.floor(now / SAMPLE_MS));
    const minute = this.#minuteAt(Math.floor(now / MINUTE_MS));
    const { callCounts, refused } = this.#source;
    slot.refused += refused - this.#lastRefused;
    this.#lastRefused = refused;
    for (const counts of callCounts) {
      const { model, gateway, duration } = counts;
      const name = `${gateway} ${model}`;
      const before = this.#last.get(name);
      if (duration.observed === (before?.calls ?? 0)) continue;
      const since = sumsSince(counts, before);
      this.#last.set(name, lastOf(counts));
      const pair = slot.pairs.get(name) ?? { ...noCalls(), model, gateway };
      slot.pairs.set(name, pair);
      addCalls(pair, since);
      addCalls(minute, since);
    }
  }

  #sampleCpu(): void {
    const now = this.#clock.mono();
    if (now - this.#cpu.at < SAMPLE_MS / 2) return;
    const { user, system } = process.cpuUsage();
    const usedMs = (user + system) / 1000;
    const share = (usedMs - this.#cpu.usedMs) / (now - this.#cpu.at);
    this.#cpu = { at: now, usedMs, share: Number(share.toFixed(3)) };
  }

  /** The wall clock may be set: a slot of the future makes the others old. */
  #slotAt(number: number): Slot {
    this.#slots = this.#slots.filter((one) => one.number > number - SLOTS && one.number <= number);
    const last = this.#slots.at(-1);
    if (last?.number === number) return last;
    const slot: Slot = { number, refused: 0, pairs: new Map() };
    this.#slots.push(slot);
    return slot;
  }

  #minuteAt(minute: number): CallSums {
    this.#minutes = this.#minutes.filter((one) => one.minute > minute - MINUTES && one.minute <= minute);
    const last = this.#minutes.at(-1);
    if (last?.minute === minute) return last;
    const sums = { ...noCalls(), minute };
    this.#minutes.push(sums);
    return sums;
  }
}

function sumsSince({ duration, firstByte, overhead, sides }: CallCounts, before: Last | undefined): CallSums {
  const { client, proxy, upstream } = sides;
  const faults = before?.faults ?? { client: 0, proxy: 0, upstream: 0 };
  return {
    calls: duration.observed - (before?.calls ?? 0),
    faults: {
      client: client.value - faults.client,
      proxy: proxy.value - faults.proxy,
      upstream: upstream.value - faults.upstream,
    },
    duration: less(duration.counts, before?.duration),
    firstByte: less(firstByte.counts, before?.firstByte),
    overhead: less(overhead.counts, before?.overhead),
  };
}

function lastOf({ duration, firstByte, overhead, sides }: CallCounts): Last {
  const { client, proxy, upstream } = sides;
  return {
    calls: duration.observed,
    faults: { client: client.value, proxy: proxy.value, upstream: upstream.value },
    duration: [...duration.counts],
    firstByte: [...firstByte.counts],
    overhead: [...overhead.counts],
  };
}

const less = (now: readonly number[], before: readonly number[] | undefined): number[] =>
  now.map((count, at) => count - (before?.[at] ?? 0));

function addEach(to: number[], more: readonly number[]): void {
  more.forEach((count, at) => (to[at] = (to[at] ?? 0) + count));
}

/**
 * The value below which a share of what was counted lies, ms, by the edges of the buckets; null = nothing was counted.
 * @param counts by bucket. @param bounds upper edges, seconds
 */
export function percentileMs(
  counts: readonly number[],
  bounds: readonly number[],
  share: number,
): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [at, count] of counts.entries()) {
    const [from, to] = [bounds[at - 1] ?? 0, bounds[at]];
    if (to === undefined) break; // above all edges: no more is known than that
    if (count > 0 && below + count >= total * share)
      return rounded((from + ((to - from) * (total * share - below)) / count) * 1000);
    below += count;
  }
  return rounded((bounds.at(-1) ?? 0) * 1000);
}

/** Three digits. */
const rounded = (ms: number): number => Number(ms.toPrecision(3));
