// What is known of a cap while it is counted. Every change of it stands here.
import type { CounterState } from '../counters.ts';
import type { BudgetWindow } from '../durations.ts';
import type { Cap } from './caps.ts';
import type { ScopeKind } from './scopes.ts';

/** A cap that a call or a person has asked for: from then on every record of its scope is counted. */
export class Tracked {
  #cap: Cap;
  #usedMs: number;
  #window: BudgetWindow = { startMs: 0, endMs: 0 };
  #sinceMs = Infinity;
  #openedMs = -1;
  #looksDue = 0;
  /** The window whose marks were told, and at which amounts; null = not yet. */
  #told: { readonly windowStartMs: number; softPico: bigint | null; capPico: bigint | null };

  constructor(cap: Cap, nowMs: number) {
    this.#cap = cap;
    this.#usedMs = nowMs;
    this.#told = { windowStartMs: -1, softPico: null, capPico: null };
  }

  get cap(): Cap {
    return this.#cap;
  }

  get usedMs(): number {
    return this.#usedMs;
  }

  /** The newest window that was asked for. */
  get window(): BudgetWindow {
    return this.#window;
  }

  /** Epoch milliseconds from which on all records are counted; Infinity = its counter was never seeded. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** Start of the newest window that has a counter; -1 = none. */
  get openedMs(): number {
    return this.#openedMs;
  }

  /** A call begins or has ended. */
  used(atMs: number): void {
    this.#usedMs = Math.max(this.#usedMs, atMs);
  }

  /** Its configuration or its object states it anew. */
  stated(cap: Cap): void {
    this.#cap = cap;
  }

  moved(window: BudgetWindow): void {
    this.#window = window;
  }

  /** A window has a counter. @param sinceMs from when on all records are counted in it; Infinity: from its start */
  opened(windowStartMs: number, sinceMs = Infinity): void {
    this.#openedMs = Math.max(this.#openedMs, windowStartMs);
    this.#sinceMs = Math.min(this.#sinceMs, sinceMs);
  }

  /**
   * Whether its marks are reached is to be looked; only where other processes count.
   * @returns false: somebody is about to, and looks again after that, as the next look may be too early for the last record
   */
  lookDue(): boolean {
    this.#looksDue = Math.min(2, this.#looksDue + 1);
    return this.#looksDue === 1;
  }

  /** Somebody looks. @returns whether to look again */
  looked(): boolean {
    this.#looksDue -= 1;
    return this.#looksDue > 0;
  }

  /** Tells a mark of a window. @returns false: it was told at this amount */
  tells(mark: 'softPico' | 'capPico', pico: bigint, windowStartMs: number): boolean {
    if (this.#told.windowStartMs !== windowStartMs)
      this.#told = { windowStartMs, softPico: null, capPico: null };
    const isNew = this.#told[mark] !== pico;
    this.#told[mark] = pico;
    return isNew;
  }
}

/** With so many, what nobody has used for an hour is forgotten, and seeded again when it is. */
const MOST_TRACKED = 100_000;
/** After so many new ones those of objects that are gone, and of ids that clients have named, are forgotten in any case. */
const LOOK_AFTER = 10_000;
const IDLE_MS = 3_600_000;
const PRUNE_EVERY_MS = 60_000;

const NONE: readonly Tracked[] = Object.freeze([]);

/** Finds the caps that are counted: by counter, by what a record counts for, and those that may be forgotten. */
export class TrackedCaps {
  /** By kind and `countedId`: names that are put together are hashed anew each time. */
  readonly #byScope = new Map<ScopeKind, Map<string, readonly Tracked[]>>();
  readonly #byCounter = new Map<string, Tracked>();
  #prunedMs = 0;
  #newSincePruned = 0;

  get size(): number {
    return this.#byCounter.size;
  }

  all(): Iterable<Tracked> {
    return this.#byCounter.values();
  }

  byCounter(counter: string): Tracked | undefined {
    return this.#byCounter.get(counter);
  }

  of(kind: ScopeKind, countedId: string): readonly Tracked[] {
    return this.#byScope.get(kind)?.get(countedId) ?? NONE;
  }

  has(kind: ScopeKind): boolean {
    return this.#byScope.has(kind);
  }

  add(tracked: Tracked): void {
    const { counter, countedId, scope } = tracked.cap;
    this.#byCounter.set(counter, tracked);
    const ids = this.#byScope.get(scope.kind) ?? new Map<string, readonly Tracked[]>();
    this.#byScope.set(scope.kind, ids.set(countedId, [...(ids.get(countedId) ?? []), tracked]));
  }

  /**
   * What may be forgotten, asked before each new one.
   * @param isPassing whether a cap is one too many already
   * @param held the budgets that running calls hold something in, which go on; asked seldom
   */
  *idle(
    nowMs: number,
    isPassing: (cap: Cap) => boolean,
    held: () => ReadonlySet<string>,
  ): Generator<Tracked> {
    this.#newSincePruned += 1;
    const isFull = this.size >= MOST_TRACKED;
    if (!isFull && this.#newSincePruned < LOOK_AFTER) return;
    if (nowMs - this.#prunedMs < PRUNE_EVERY_MS) return;
    this.#prunedMs = nowMs;
    this.#newSincePruned = 0;
    const running = held();
    for (const tracked of this.#byCounter.values()) {
      const { cap, usedMs } = tracked;
      if (nowMs - usedMs > IDLE_MS && (isFull || isPassing(cap)) && !running.has(cap.counter)) yield tracked;
    }
  }

  remove(tracked: Tracked): void {
    const { counter, countedId, scope } = tracked.cap;
    this.#byCounter.delete(counter);
    const ids = this.#byScope.get(scope.kind);
    const others = (ids?.get(countedId) ?? []).filter((one) => one !== tracked);
    if (others.length > 0) ids?.set(countedId, others);
    else ids?.delete(countedId);
    if (ids?.size === 0) this.#byScope.delete(scope.kind);
  }
}

/** What the counter of a cap's present window says. */
export interface CounterReading {
  readonly cap: Cap;
  readonly window: BudgetWindow;
  readonly state: CounterState;
}
