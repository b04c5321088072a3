// The caps that are counted, and where their counters begin. One that is asked for is counted from then on, in the newest window that
// somebody has asked for. The counter of a window begins with nothing where all records were counted since before it, and that of a key
// with what was read at the start; every other one waits until the store is asked (seedings.ts).
import type { Calendar } from '../durations.ts';
import type { Counters } from '../counters.ts';
import { basePico, type Cap } from './caps.ts';
import type { ScopeKind } from './scopes.ts';
import { storedIds, type SumDirectory } from './spent-queries.ts';
import type { StartSums } from './start-sums.ts';
import { Tracked, TrackedCaps } from './tracked.ts';
import { CapWindows, SeenTime } from './windows.ts';

interface CountingWork {
  readonly counters: Pick<Counters, 'seed' | 'forget' | 'unused' | 'held' | 'isShared'>;
  readonly directory: SumDirectory;
  /** Whether a cap that nobody has used for an hour is one too many: of an object that is gone, or of an id that a client has named. */
  readonly isPassing: (cap: Cap) => boolean;
  /** A counter goes on with what was spent before the start. */
  readonly resumed: (tracked: Tracked, nowMs: number) => void;
}

export class CountedCaps {
  readonly #work: CountingWork;
  readonly #tracked = new TrackedCaps();
  /** To look in. */
  readonly tracked: Pick<TrackedCaps, 'all' | 'byCounter' | 'of' | 'size'> = this.#tracked;
  readonly #seen = new SeenTime();
  #windows: CapWindows;
  /** What keys had spent at the start: those that are asked for from now on go on with it. null: every budget has a counter. */
  startSums: StartSums | null = null;

  constructor(calendar: Calendar, work: CountingWork) {
    this.#windows = new CapWindows(calendar);
    this.#work = work;
  }

  /** Of the calendar in service. */
  get windows(): CapWindows {
    return this.#windows;
  }

  /** Windows are another calendar's: each counter is read anew when it is asked for. */
  restart(calendar: Calendar): void {
    this.#windows = new CapWindows(calendar);
    for (const tracked of this.#tracked.all()) this.#forget(tracked);
    this.startSums = null;
  }

  /** Whether records of such a scope count for anything. */
  has(kind: ScopeKind): boolean {
    return this.#tracked.has(kind) || (kind === 'key' && this.startSums !== null);
  }

  /** A cap is asked for as it is stated now: it is counted from now on, or goes on with what was counted. */
  track(cap: Cap, nowMs: number): Tracked {
    // The settlement looks here as well; the table by counter is as large and seldom in a cache of the processor.
    const known = this.#tracked.of(cap.scope.kind, cap.countedId);
    const before = known.find((one) => one.cap === cap) ?? this.#tracked.byCounter(cap.counter);
    this.#seen.saw(nowMs);
    // A clock that was set back has begun its window too early: a counter has one window, and none before it counts.
    if (before !== undefined && before.window.startMs > nowMs) this.#forget(before);
    else if (before !== undefined) {
      before.used(nowMs);
      if (before.cap === cap) return before;
      const isSame =
        before.cap.countFrom?.atMs === cap.countFrom?.atMs &&
        before.cap.countFrom?.pico === cap.countFrom?.pico;
      before.stated(cap);
      if (isSame) return before;
      this.#forget(before);
    }
    const { isPassing, counters } = this.#work;
    for (const idle of this.#tracked.idle(nowMs, isPassing, () => counters.held())) {
      this.#tracked.remove(idle);
      counters.unused?.({ budget: idle.cap.counter, windowStartMs: idle.window.startMs });
    }
    const tracked = new Tracked(cap, nowMs);
    this.#tracked.add(tracked);
    if (cap.scope.kind === 'key' && this.startSums !== null) this.#takeSum(this.startSums, tracked, nowMs);
    return tracked;
  }

  /** The first call of a key since the start begins its counter with what it had spent. */
  #takeSum(sums: StartSums, tracked: Tracked, nowMs: number): void {
    const { cap } = tracked;
    const sum = sums.take(storedIds('key', cap.scope.id, this.#work.directory), cap, nowMs);
    if (sum === null || sum.window.startMs > nowMs) return; // the clock was set back since
    const { startMs } = sum.window;
    tracked.moved(sum.window);
    void this.#work.counters.seed({ budget: cap.counter, windowStartMs: startMs }, sum.pico);
    tracked.opened(startMs, sums.countedFromMs);
    this.#work.resumed(tracked, nowMs);
  }

  /** The start of a cap's window at a time. One that began while all records were counted begins with nothing. */
  open(tracked: Tracked, atMs: number): number {
    if (atMs < tracked.window.startMs || atMs >= tracked.window.endMs) {
      const window = this.#windows.at(tracked.cap, atMs);
      if (window.startMs < tracked.window.startMs) return window.startMs; // of an older call
      tracked.moved(window);
    }
    const { startMs } = tracked.window;
    if (this.#work.counters.isShared === true) return startMs;
    if (startMs > tracked.openedMs && startMs >= tracked.sinceMs && !this.#seen.comesAgain(startMs)) {
      void this.#work.counters.seed(
        { budget: tracked.cap.counter, windowStartMs: startMs },
        basePico(tracked.cap, startMs),
      );
      tracked.opened(startMs);
    }
    return startMs;
  }

  #forget(tracked: Tracked): void {
    this.#tracked.remove(tracked);
    this.#work.counters.forget?.({ budget: tracked.cap.counter, windowStartMs: tracked.window.startMs });
  }
}
