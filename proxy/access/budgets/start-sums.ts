// What keys had spent that nobody has used since the start: one sum each in place of a counter, which 100,000 keys would pay
// for with memory and a slow start. A sum goes on counting until the first call of its key takes it into a counter. Keys that
// are made later have none: their number has no bound where keys come and go all day.
import type { SpentQuery, SpentSum } from '../../spend/store/store.ts';
import { parseDuration, type BudgetWindow } from '../durations.ts';
import type { BudgetTerms } from '../objects/objects.ts';
import { capsOf, isOfCalendar, type Cap } from './caps.ts';

/** The sums of all keys in the present window of one duration. */
interface Group {
  readonly cap: Cap;
  window: BudgetWindow;
  /** Of the keys that had this budget at the start and have no counter of their own since. */
  readonly sums: Map<string, bigint>;
}

/** Of more keys the sums of all are read: that is faster, unless most keys are gone. */
const MOST_IDS = 30_000;

/** What a counter begins with. */
interface TakenSum {
  readonly pico: bigint;
  readonly window: BudgetWindow;
}

/** Whether the budget of a key is one cap whose windows are the same for all keys. */
function isSummed(terms: BudgetTerms): boolean {
  const { maxBudget, softBudget, budgetDuration, budgetLimits, modelMaxBudget, countFrom } = terms;
  if (maxBudget === null || softBudget !== null || countFrom !== null || budgetLimits.length > 0)
    return false;
  for (const _ in modelMaxBudget) return false;
  const duration = budgetDuration === null ? null : parseDuration(budgetDuration);
  return duration === null || isOfCalendar(duration);
}

export class StartSums {
  /** By the duration as it was stated. */
  readonly #groups = new Map<string | null, Group>();
  readonly #windowAt: (cap: Cap, atMs: number) => BudgetWindow;
  /** Whose sums were asked for, query by query. */
  #asked: readonly { readonly group: Group; readonly window: BudgetWindow }[] = [];
  #countedFromMs = Infinity;
  #isReady = false;

  constructor(windowAt: (cap: Cap, atMs: number) => BudgetWindow) {
    this.#windowAt = windowAt;
  }

  /** Epoch milliseconds: records that are settled from then on are in the sums. */
  get countedFromMs(): number {
    return this.#countedFromMs;
  }

  /**
   * Sums are wanted for a key with this budget.
   * @param ids its present and former ones
   * @returns false where a counter of the key's own must count: its budget is more than one cap, or of windows of its own
   */
  wants(ids: readonly string[], terms: BudgetTerms, nowMs: number): boolean {
    if (!isSummed(terms)) return false;
    const known = this.#groups.get(terms.budgetDuration);
    if (known !== undefined) setAll(known.sums, ids);
    else {
      const [cap] = capsOf({ kind: 'key', id: '' }, terms);
      if (cap === undefined) return true;
      const group = { cap, window: this.#windowAt(cap, nowMs), sums: new Map<string, bigint>() };
      setAll(group.sums, ids);
      this.#groups.set(cap.durationText, group);
    }
    return true;
  }

  /** What to ask the store for: of these keys alone, because those that are gone may be a hundred times as many. */
  ask(): readonly SpentQuery[] {
    this.#asked = Array.from(this.#groups.values(), (group) => ({ group, window: group.window }));
    return this.#asked.map(({ group: { sums }, window }) => ({
      by: ['apiKeyHash'],
      ids: sums.size > MOST_IDS ? null : [...sums.keys()],
      sinceMs: window.startMs,
    }));
  }

  /** Whether the store has said what was spent. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** From this moment on records are counted. */
  captured(nowMs: number): void {
    this.#countedFromMs = nowMs;
  }

  /** @param results of `ask`, of all records before `captured` */
  add(results: readonly (readonly SpentSum[])[]): void {
    for (const [i, { group, window }] of this.#asked.entries())
      if (group.window === window)
        for (const { values, pico } of results[i] ?? []) addTo(group.sums, values[0] ?? '', pico);
    this.#asked = [];
    this.#isReady = true;
  }

  /** Counts a record of a key that has no counter. */
  settle(id: string, startMs: number, pico: bigint): void {
    if (this.#countedFromMs === Infinity || pico === 0n) return;
    for (const group of this.#groups.values()) {
      if (this.#isCounted(group, startMs) && startMs >= group.window.startMs) addTo(group.sums, id, pico);
    }
  }

  /**
   * What a key has spent in the window of its cap; null = ask the store. Counted elsewhere from now on.
   * @param ids the key's present and former ones
   */
  take(ids: readonly string[], cap: Cap, nowMs: number): TakenSum | null {
    const group = this.#groups.get(cap.durationText);
    const isCounted = group !== undefined && this.#isCounted(group, nowMs);
    const sums = ids.map((id) => group?.sums.get(id));
    for (const { sums: all } of this.#groups.values()) for (const id of ids) all.delete(id);
    if (!this.#isReady || !isCounted || cap.model !== null || cap.countFrom !== null) return null;
    let pico = 0n;
    for (const sum of sums) {
      if (sum === undefined) return null; // made, or given this budget, since the start
      pico += sum;
    }
    return { pico, window: group.window };
  }

  /** What a key with this budget has spent that nobody has used; 0n also where that is not known. */
  spentBy(ids: readonly string[], terms: BudgetTerms, nowMs: number): bigint {
    const group = this.#groups.get(terms.budgetDuration);
    if (group === undefined || !this.#isCounted(group, nowMs)) return 0n;
    let pico = 0n;
    for (const id of ids) pico += group.sums.get(id) ?? 0n;
    return pico === 0n || isSummed(terms) ? pico : 0n;
  }

  /** A window that began while records were counted begins with nothing; of any other later one not all are counted. */
  #isCounted(group: Group, atMs: number): boolean {
    if (atMs < group.window.endMs) return true;
    group.window = this.#windowAt(group.cap, atMs);
    setAll(group.sums, group.sums.keys());
    if (group.window.startMs >= this.#countedFromMs) return true;
    this.#groups.delete(group.cap.durationText);
    return false;
  }
}

function setAll(sums: Map<string, bigint>, ids: Iterable<string>): void {
  for (const id of ids) sums.set(id, 0n);
}

/** Only where a sum is wanted: rows and calls are also of keys that are gone, have counters, or no budget. */
function addTo(sums: Map<string, bigint>, id: string, pico: bigint): void {
  const sum = sums.get(id);
  if (sum !== undefined) sums.set(id, sum + pico);
}
