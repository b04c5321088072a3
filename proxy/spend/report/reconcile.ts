// What two ledgers agree on and what not, in whole pico-dollars: every call once, then the same by model, session, tag
// and day. Pure.
import { dollarText } from '../record/dollars.ts';
import { dayOf } from '../store/utc-dates.ts';
import { joinLedgers, type Joined, type JoinedBy, type Pair } from './join-ledgers.ts';
import { isWithoutCost, type LedgerEntry } from './ledger-entry.ts';

/** How far apart two costs of one call may be: an amount, or a part of the larger one. */
export type Tolerance = { readonly pico: bigint } | { readonly millionths: bigint };

/** A call, or the two entries of one, that the ledgers do not agree on. Dollars are exact decimals. */
export interface Difference {
  readonly kind: 'cost' | 'tokens' | 'only_here' | 'only_there';
  readonly start: string;
  readonly here_id: string | null;
  readonly there_id: string | null;
  readonly joined_by: JoinedBy | null;
  readonly model: string;
  readonly session: string;
  readonly tags: readonly string[];
  readonly here_prompt_tokens: number | null;
  readonly there_prompt_tokens: number | null;
  readonly here_completion_tokens: number | null;
  readonly there_completion_tokens: number | null;
  readonly here_spend: string | null;
  readonly there_spend: string | null;
  /** There minus here; what is not known counts as 0. */
  readonly difference: string;
}

/** Sums of a part of both ledgers. */
export interface Part {
  readonly key: string;
  readonly matched: number;
  /** Of `matched`, those that differ. */
  readonly differing: number;
  readonly only_here: number;
  readonly only_there: number;
  readonly here_spend: string;
  readonly there_spend: string;
  /** There minus here. */
  readonly difference: string;
}

export interface Reconciliation {
  /** Whether nothing is above the tolerance. */
  readonly agrees: boolean;
  readonly total: Part;
  /** Pairs by how they were found. */
  readonly joined_by: Readonly<Record<JoinedBy, number>>;
  /** Entries of one ledger alone without a cost: failed and refused calls. They are in no other count. */
  readonly without_cost: { readonly here: number; readonly there: number };
  /** The costliest first. */
  readonly differences: readonly Difference[];
  /** Parts, those with the greatest difference first; days in their order. A call of two tags stands in both. */
  readonly by_model: readonly Part[];
  readonly by_session: readonly Part[];
  readonly by_tag: readonly Part[];
  readonly by_day: readonly Part[];
}

/** The time that is compared; entries before and after may only complete a pair. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** Compares both ledgers over `period`, which the entries should exceed by the clocks' difference. */
export function reconcile(
  here: readonly LedgerEntry[],
  there: readonly LedgerEntry[],
  period: Period,
  tolerance: Tolerance,
): Reconciliation {
  const calls = callsOf(joinLedgers(here, there), period, tolerance);
  const counted = calls.filter(({ kind }) => kind !== 'without_cost');
  const differences = counted.filter(({ kind }) => kind !== 'equal');
  const tagsOf = ({ entry }: Call): readonly string[] =>
    entry.tags.length === 0 ? [''] : [...new Set(entry.tags)];
  const alone = (side: 'here' | 'there'): number =>
    calls.filter(({ kind, pair }) => kind === 'without_cost' && pair[side] !== null).length;
  const joinedBy = (by: JoinedBy): number => calls.filter((call) => call.by === by).length;
  return {
    agrees: differences.length === 0,
    total: partOf('', counted),
    joined_by: {
      call_id: joinedBy('call_id'),
      answer_id: joinedBy('answer_id'),
      session_and_time: joinedBy('session_and_time'),
    },
    without_cost: { here: alone('here'), there: alone('there') },
    differences: differences
      .toSorted((a, b) => compare(size(b.apart), size(a.apart)) || a.entry.startMs - b.entry.startMs)
      .map(differenceOf),
    by_model: partsBy(counted, ({ entry }) => [entry.model]),
    by_session: partsBy(counted, ({ entry }) => [entry.session]),
    by_tag: partsBy(counted, tagsOf),
    by_day: partsBy(counted, ({ entry }) => [dayOf(entry.startMs)]).toSorted((a, b) =>
      a.key < b.key ? -1 : 1,
    ),
  };
}

/** One call of either ledger or of both. */
interface Call {
  readonly kind: Difference['kind'] | 'equal' | 'without_cost';
  /** What it is attributed by: our entry where there is one. */
  readonly entry: LedgerEntry;
  readonly pair: { readonly here: LedgerEntry | null; readonly there: LedgerEntry | null };
  readonly by: JoinedBy | null;
  /** There minus here, pico-dollars. */
  readonly apart: bigint;
}

function callsOf({ pairs, onlyHere, onlyThere }: Joined, period: Period, tolerance: Tolerance): Call[] {
  const within = ({ startMs }: LedgerEntry): boolean => startMs >= period.startMs && startMs < period.endMs;
  const alone =
    (side: 'here' | 'there') =>
    (entry: LedgerEntry): Call => {
      const [here, there] = side === 'here' ? [entry, null] : [null, entry];
      const apart = apartOf(here, there);
      const small = entry.spendPico !== null && !exceeds(apart, entry.spendPico, tolerance);
      const known = small ? 'equal' : (`only_${side}` as const);
      return {
        kind: isWithoutCost(entry) ? 'without_cost' : known,
        entry,
        pair: { here, there },
        by: null,
        apart,
      };
    };
  return [
    ...pairs.filter(({ here }) => within(here)).map((pair) => callOf(pair, tolerance)),
    ...onlyHere.filter(within).map(alone('here')),
    ...onlyThere.filter(within).map(alone('there')),
  ];
}

function callOf(pair: Pair, tolerance: Tolerance): Call {
  const { here, there, by } = pair;
  const apart = apartOf(here, there);
  const larger = compare(here.spendPico ?? 0n, there.spendPico ?? 0n) > 0 ? here.spendPico : there.spendPico;
  const unknown = (here.spendPico === null) !== (there.spendPico === null);
  const costs =
    exceeds(apart, larger ?? 0n, tolerance) || (unknown && !(isWithoutCost(here) && isWithoutCost(there)));
  const tokens =
    (here.promptTokens ?? 0) !== (there.promptTokens ?? 0) ||
    (here.completionTokens ?? 0) !== (there.completionTokens ?? 0);
  const sameCost = tokens ? 'tokens' : 'equal';
  return {
    kind: costs ? 'cost' : sameCost,
    entry: here,
    pair: { here, there },
    by,
    apart,
  };
}

function apartOf(here: LedgerEntry | null, there: LedgerEntry | null): bigint {
  return (there?.spendPico ?? 0n) - (here?.spendPico ?? 0n);
}

function exceeds(apart: bigint, larger: bigint, tolerance: Tolerance): boolean {
  if ('pico' in tolerance) return size(apart) > tolerance.pico;
  return size(apart) * 1_000_000n > larger * tolerance.millionths;
}

function partsBy(calls: readonly Call[], keysOf: (call: Call) => readonly string[]): Part[] {
  const groups = new Map<string, Call[]>();
  for (const call of calls) {
    for (const key of keysOf(call)) {
      const same = groups.get(key);
      if (same === undefined) groups.set(key, [call]);
      else same.push(call);
    }
  }
  return Array.from(groups, ([key, some]) => ({
    part: partOf(key, some),
    apart: sumOf(some, ({ apart }) => apart),
  }))
    .sort((a, b) => compare(size(b.apart), size(a.apart)) || (a.part.key < b.part.key ? -1 : 1))
    .map(({ part }) => part);
}

function partOf(key: string, calls: readonly Call[]): Part {
  const pairs = calls.filter(({ by }) => by !== null);
  return {
    key,
    matched: pairs.length,
    differing: pairs.filter(({ kind }) => kind !== 'equal').length,
    only_here: calls.filter(({ pair }) => pair.there === null).length,
    only_there: calls.filter(({ pair }) => pair.here === null).length,
    here_spend: dollarText(sumOf(calls, ({ pair }) => pair.here?.spendPico ?? 0n)),
    there_spend: dollarText(sumOf(calls, ({ pair }) => pair.there?.spendPico ?? 0n)),
    difference: dollarText(sumOf(calls, ({ apart }) => apart)),
  };
}

function differenceOf({ kind, entry, pair: { here, there }, by, apart }: Call): Difference {
  const spend = (side: LedgerEntry | null): string | null =>
    side === null || side.spendPico === null ? null : dollarText(side.spendPico);
  return {
    kind: kind as Difference['kind'],
    start: new Date(entry.startMs).toISOString(),
    here_id: here?.id ?? null,
    there_id: there?.id ?? null,
    joined_by: by,
    model: entry.model,
    session: entry.session,
    tags: entry.tags,
    here_prompt_tokens: here?.promptTokens ?? null,
    there_prompt_tokens: there?.promptTokens ?? null,
    here_completion_tokens: here?.completionTokens ?? null,
    there_completion_tokens: there?.completionTokens ?? null,
    here_spend: spend(here),
    there_spend: spend(there),
    difference: dollarText(apart),
  };
}

function sumOf(calls: readonly Call[], amount: (call: Call) => bigint): bigint {
  return calls.reduce((sum, call) => sum + amount(call), 0n);
}

function size(pico: bigint): bigint {
  return pico < 0n ? -pico : pico;
}

function compare(a: bigint, b: bigint): number {
  return Number(a > b) - Number(a < b);
}
