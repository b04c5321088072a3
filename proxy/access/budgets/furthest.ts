// Which budgets are used up furthest, of those that nobody has used since the start: metrics show them, so that an alert that a
// budget is nearly used up does not end with each restart. Sums of the store say it, or those that the start has kept of keys;
// nothing is prepared for the many that have spent nothing, or less.
import { mapInTurns } from '../../base/turns.ts';
import type { SpentQuery, SpentSum } from '../../spend/store/store.ts';
import { isRule, type CapSources } from './cap-sources.ts';
import { basePico, capAt, capsOf, hasSharedWindows, type Cap } from './caps.ts';
import type { Scope } from './scopes.ts';
import type { BudgetTerms } from '../objects/objects.ts';
import { storedIds, type SumDirectory, type Unsummed } from './spent-queries.ts';
import { StartSums } from './start-sums.ts';
import type { CapWindows } from './windows.ts';

/** Where each window is a query of its own, calls that need the store come between so many. */
const OWN_WINDOWS_AT_ONCE = 200;
/** At 6 us for a key that has spent something. */
const KEYS_PER_TURN = 500;
/** Found, beside as many as are wanted, before the least are dropped. */
const MOST_SPARE = 1_000;

/** Of one configuration, at one time. */
export interface Present {
  readonly sources: CapSources;
  readonly windows: CapWindows;
  readonly directory: SumDirectory;
  readonly nowMs: number;
}

interface FurthestWork extends Present {
  /** What the start has read of keys, where everything else has a counter; null: all is to be read. */
  readonly kept: StartSums | null;
  /** Both throw StoreUnavailable. */
  readonly read: (queries: readonly SpentQuery[]) => Promise<readonly (readonly SpentSum[])[]>;
  readonly sums: (asked: readonly Unsummed[]) => Promise<readonly bigint[]>;
}

interface CapWithScope {
  readonly cap: Cap;
  readonly scope: Scope;
}

/** How much of a cap is used, 1 = all; null = there is none, or nothing that could be used. */
export function shareOf(cap: Cap, spentPico: bigint, nowMs: number): number | null {
  if ((cap.capPico ?? 0n) <= 0n) return null;
  return Number(spentPico) / Number(capAt(cap, nowMs));
}

/** Keeps those of which most is used. */
export class Furthest<T> {
  readonly #limit: number;
  #found: { readonly item: T; readonly share: number }[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(item: T, share: number): void {
    this.#found.push({ item, share });
    if (this.#found.length > this.#limit + MOST_SPARE) this.#cut();
  }

  /** At most so many as are wanted, the furthest first. */
  get items(): readonly T[] {
    this.#cut();
    return this.#found.map(({ item }) => item);
  }

  #cut(): void {
    this.#found = this.#found.sort((a, b) => b.share - a.share).slice(0, this.#limit);
  }
}

/**
 * The scopes whose budgets are used up furthest in their present windows, of those without a counter; then those that the
 * configuration names.
 * @param limit how many budgets beside those of the configuration
 * @throws StoreUnavailable
 */
export async function furthestOf(work: FurthestWork, limit: number): Promise<readonly Scope[]> {
  const { kept, sources, windows } = work;
  const furthest = new Furthest<Scope>(limit);
  if (kept !== null) {
    if (limit > 0) await addKeys(work, kept, furthest);
    return furthest.items;
  }
  const start = new StartSums((cap, atMs) => windows.at(cap, atMs));
  const scopes = scopesBeside(start, work);
  if (limit > 0) {
    start.add(await work.read(start.ask()));
    await addKeys(work, start, furthest);
    await addOthers(work, scopes, furthest);
  }
  return [...new Set([...furthest.items, ...scopes.filter((scope) => sources.names(scope))])];
}

/**
 * Has keys of one plain budget summed together.
 * @param each keys have caps beside their own, so that each of them is returned
 * @returns all other scopes with caps
 */
export function scopesBeside(
  start: StartSums,
  { sources, directory, nowMs }: Present,
  each = false,
): readonly Scope[] {
  const scopes: Scope[] = [...sources.others()];
  for (const { id, terms } of sources.keyTerms())
    if (each || !start.wants(storedIds('key', id, directory), terms, nowMs)) scopes.push({ kind: 'key', id });
  return scopes;
}

async function addKeys(
  { sources, directory, nowMs }: Present,
  start: StartSums,
  furthest: Furthest<Scope>,
): Promise<void> {
  const add = ({ id, terms }: { readonly id: string; readonly terms: BudgetTerms }): void => {
    const pico = start.spentBy(storedIds('key', id, directory), terms, nowMs);
    const scope: Scope = { kind: 'key', id };
    // Made for this look alone: caps that are prepared stay in memory.
    const [cap] = pico > 0n ? capsOf(scope, terms) : [];
    if (cap !== undefined) addUsed({ cap, scope }, pico, nowMs, furthest);
  };
  await mapInTurns([...sources.keyTerms()], add, KEYS_PER_TURN);
}

async function addOthers(
  { sources, windows, nowMs, sums }: FurthestWork,
  scopes: readonly Scope[],
  furthest: Furthest<Scope>,
): Promise<void> {
  const caps = scopes.flatMap((scope) =>
    sources.of(scope).flatMap((cap) => (isRule(cap) ? [] : [{ cap, scope }])),
  );
  const { shared = [], own = [] } = Object.groupBy(caps, ({ cap }) =>
    hasSharedWindows(cap) ? 'shared' : 'own',
  );
  const add = async (together: readonly CapWithScope[]): Promise<void> => {
    const asked = together.map(({ cap }) => ({ cap, windowStartMs: windows.at(cap, nowMs).startMs }));
    const spent = await sums(asked);
    for (const [i, { cap, scope }] of together.entries())
      addUsed(
        { cap, scope },
        (spent[i] ?? 0n) + basePico(cap, asked[i]?.windowStartMs ?? 0),
        nowMs,
        furthest,
      );
  };
  if (shared.length > 0) await add(shared);
  for (let at = 0; at < own.length; at += OWN_WINDOWS_AT_ONCE)
    await add(own.slice(at, at + OWN_WINDOWS_AT_ONCE));
}

function addUsed(
  { cap, scope }: CapWithScope,
  spentPico: bigint,
  nowMs: number,
  furthest: Furthest<Scope>,
): void {
  const share = spentPico > 0n ? shareOf(cap, spentPico, nowMs) : null;
  if (share !== null) furthest.add(scope, share);
}
