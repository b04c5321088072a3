// Reads what counters had spent before calls first ask for them: one reading at a time, and what is asked for meanwhile is read
// together with it. A thousand conversations that begin at once cost the store a few readings, not a thousand.
import type { Clock } from '../../base/clock.ts';
import { counterId, type CounterName, type Counters, type SumOrigin } from '../counters.ts';
import { basePico } from './caps.ts';
import type { Unsummed } from './spent-queries.ts';
import type { Tracked } from './tracked.ts';

/** A counter whose sum is being read, or waits for it. */
interface Seeding {
  readonly name: string;
  readonly counter: CounterName;
  readonly tracked: Tracked;
  /** What records have added since the moment that its sum is read at; null = not at that moment yet. */
  pico: bigint | null;
  /** Requests that were settled before that moment. */
  readonly counted: string[];
  /** Where counters are shared: what records of this process have added since that moment. */
  laterPico: bigint;
}

/** What one caller has asked for. */
interface Group {
  readonly seedings: readonly Seeding[];
  readonly done: PromiseWithResolvers<void>;
}

interface SeedingWork {
  readonly counters: Pick<Counters, 'seed' | 'isShared' | 'beginSums'>;
  readonly clock: Clock;
  /** What windows have spent by the records that are settled before `captured`. */
  readonly sums: (asked: readonly Unsummed[], captured: () => void) => Promise<readonly bigint[]>;
  /** A counter has begun. */
  readonly begun: (tracked: Tracked) => void;
}

/** Groups are read together up to this many counters: the store takes some hundreds of names in one query (spent-queries.ts). */
const MOST_TOGETHER = 200;

export class Seedings {
  readonly #work: SeedingWork;
  readonly #byName = new Map<string, { readonly seeding: Seeding; readonly done: Promise<void> }>();
  #waiting: Group[] = [];
  #isReading = false;

  constructor(work: SeedingWork) {
    this.#work = work;
  }

  /** Reads the sums of these counters and begins them. @throws StoreUnavailable */
  async seed(
    counters: readonly CounterName[],
    trackedOf: (budget: string) => Tracked | undefined,
  ): Promise<void> {
    const under: Promise<void>[] = [];
    const mine: Seeding[] = [];
    const done = Promise.withResolvers<void>();
    for (const counter of counters) {
      const name = counterId(counter);
      const before = this.#byName.get(name);
      const tracked = trackedOf(counter.budget);
      if (before !== undefined) under.push(before.done);
      else if (tracked !== undefined) {
        const seeding: Seeding = { name, counter, tracked, pico: null, counted: [], laterPico: 0n };
        this.#byName.set(name, { seeding, done: done.promise });
        mine.push(seeding);
      }
    }
    if (mine.length > 0) {
      under.push(done.promise);
      this.#waiting.push({ seedings: mine, done });
      if (!this.#isReading) void this.#readAll();
    }
    await Promise.all(under);
  }

  /**
   * A record counts in a counter. @returns false: the sum that is read holds it or will be given it, so that it must not be
   * counted by itself
   */
  settle(counter: CounterName, requestId: string, pico: bigint): boolean {
    const seeding = this.#byName.size === 0 ? undefined : this.#byName.get(counterId(counter))?.seeding;
    if (seeding === undefined) return true;
    if (seeding.pico === null) {
      seeding.counted.push(requestId);
      return true;
    }
    // Shared counters keep by themselves what comes before its sum.
    if (this.#work.counters.isShared === true) {
      seeding.laterPico += pico;
      return true;
    }
    seeding.pico += pico;
    return false;
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.length > 0) {
      const groups = this.#nextGroups();
      const seedings = groups.flatMap((group) => group.seedings);
      let failure: { readonly error: unknown } | null = null;
      try {
        await this.#read(seedings);
      } catch (error) {
        failure = { error };
      }
      for (const { name } of seedings) this.#byName.delete(name);
      for (const { done } of groups) {
        if (failure === null) done.resolve();
        else done.reject(failure.error);
      }
    }
    this.#isReading = false;
  }

  #nextGroups(): readonly Group[] {
    let size = 0;
    let end = 0;
    for (const { seedings } of this.#waiting) {
      size += seedings.length;
      if (end > 0 && size > MOST_TOGETHER) break;
      end += 1;
    }
    return this.#waiting.splice(0, end);
  }

  async #read(seedings: readonly Seeding[]): Promise<void> {
    const { counters, clock, sums, begun } = this.#work;
    const names = seedings.map(({ counter }) => counter);
    // No turn passes where nobody is asked.
    const reading = counters.beginSums === undefined ? null : await counters.beginSums(names);
    let capturedMs = Infinity;
    const asked = seedings.map(({ counter: { windowStartMs }, tracked: { cap } }) => ({
      cap,
      windowStartMs,
    }));
    const read = await sums(asked, () => {
      capturedMs = clock.now();
      for (const one of seedings) one.pico = 0n;
    });
    const told: Promise<void>[] = [];
    for (const [i, seeding] of seedings.entries()) {
      const { counter, tracked, pico } = seeding;
      const sum = basePico(tracked.cap, counter.windowStartMs) + (read[i] ?? 0n) + (pico ?? 0n);
      const counted = [...(reading?.counted[i] ?? []), ...seeding.counted];
      const origin: SumOrigin | undefined =
        reading === null ? undefined : { generation: reading.generation, laterPico: () => seeding.laterPico };
      const seeded = counters.seed(counter, sum, counted, origin); // in this process in the same turn, before another record comes
      if (seeded !== undefined) told.push(seeded);
      tracked.opened(counter.windowStartMs, capturedMs);
    }
    await Promise.all(told);
    for (const { tracked } of seedings) begun(tracked); // records may have come meanwhile, where no call waits for its counter
  }
}
