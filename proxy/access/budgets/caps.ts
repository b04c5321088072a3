// The caps and soft budgets of one scope, made of the terms that its object or the configuration states. Pure. A cap names
// its counter by scope, duration and model, so that a cap that is raised or lowered goes on with what was counted.
import { scaledDecimal } from '../../../config/decimal.ts';
import { parseDuration, windowAt, type BudgetWindow, type Calendar, type Duration } from '../durations.ts';
import type { BudgetTerms } from '../objects/objects.ts';
import type { SpendRecord } from '../../spend/record/record.ts';
import { wasUnderWay } from '../../spend/store/under-way.ts';
import { fitsPattern } from '../wildcard.ts';
import type { Scope, ScopeKind } from './scopes.ts';

/** What a scope may spend in a window, on all models or on one: a cap, an amount for an alert, or both. */
export interface Cap {
  readonly scope: Scope;
  /** What its scope is counted by: its id, of a key the `lastingId`, so that another value of it begins nothing anew. */
  readonly countedId: string;
  /** Names its counters in all processes: `key:<hash> 30d`. */
  readonly counter: string;
  /** As it was stated: `30d`; null = one window that never ends. */
  readonly durationText: string | null;
  readonly duration: Duration | null;
  /** When it was set: windows that are not the calendar's are counted from it. */
  readonly anchorMs: number;
  /** Of calls for one requested model, or for those that fit a pattern with `*`; null = of all. */
  readonly model: string | null;
  /** null: soft only. */
  readonly capPico: bigint | null;
  readonly increase: { readonly pico: bigint; readonly untilMs: number } | null;
  readonly softPico: bigint | null;
  /** What was spent before this moment counts as `pico`. */
  readonly countFrom: { readonly atMs: number; readonly pico: bigint } | null;
  /** A cap that is used up exactly lets in what costs nothing, as the dialect's check of `spend > max_budget` does. */
  readonly letsFreeIn: boolean;
}

/** What a record says of when its call was. */
type EndedCall = Pick<SpendRecord, 'startMs' | 'endMs' | 'endReason'>;

const PICO_DIGITS = 12;

/** Scopes that the dialect refuses at `spend >= max_budget`; the others at `spend > max_budget`. */
const STRICT: ReadonlySet<ScopeKind> = new Set(['key', 'user', 'organization', 'member']);

/** Above it no cap can be reached, and a decimal of it is longer than any amount that is read. */
const MOST_USD = 1e40;

/** Pico-dollars of USD, exactly as the number is written; null: no cap at all. */
export function picoOfUsd(usd: number): bigint | null {
  return usd > MOST_USD ? null : (scaledDecimal(String(Math.max(0, usd)), PICO_DIGITS) ?? 0n);
}

/**
 * The caps that terms state for a scope, the one of `max_budget` first.
 * @param countedId see `Cap`
 * @param targetOf what a name of a model stands for: calls for an alias of a key or a team are recorded as its target
 */
export function capsOf(
  scope: Scope,
  terms: BudgetTerms,
  countedId = scope.id,
  targetOf: (model: string) => string = itself,
): readonly Cap[] {
  const { maxBudget, softBudget, budgetDuration, budgetLimits, modelMaxBudget } = terms;
  const whose = { scope, countedId };
  const caps: Cap[] = [];
  if (maxBudget !== null || softBudget !== null) {
    const increase = terms.temporaryIncrease;
    caps.push({
      ...capOf(whose, terms, { maxBudget, budgetDuration }),
      softPico: softBudget === null ? null : picoOfUsd(softBudget),
      increase: increase === null ? null : { pico: picoOfUsd(increase.usd) ?? 0n, untilMs: increase.untilMs },
    });
  }
  for (const limit of budgetLimits) caps.push(capOf(whose, terms, limit));
  for (const [model, limit] of Object.entries(modelMaxBudget))
    caps.push(capOf(whose, terms, limit, targetOf(model)));
  return apart(caps.filter(({ capPico, softPico }) => capPico !== null || softPico !== null));
}

const itself = (model: string): string => model;

/** A counter holds one cap: terms may state the same window twice, also in other words (`1d`, `daily`). */
export function apart(caps: readonly Cap[]): readonly Cap[] {
  const taken = new Set<string>();
  return caps.map((cap, i) => {
    const counter = taken.has(cap.counter) ? `${cap.counter} #${i}` : cap.counter;
    taken.add(counter);
    return { ...cap, counter };
  });
}

/** What a scope without a cap has spent is shown since ever, or since it was set. */
export const uncapped = (scope: Scope, terms: BudgetTerms): Cap =>
  capOf({ scope, countedId: scope.id }, terms, { maxBudget: null, budgetDuration: terms.budgetDuration });

function capOf(
  { scope, countedId }: Pick<Cap, 'scope' | 'countedId'>,
  { budgetSetMs, countFrom }: BudgetTerms,
  stated: { readonly maxBudget: number | null; readonly budgetDuration: string | null },
  model: string | null = null,
): Cap {
  const duration = stated.budgetDuration === null ? null : parseDuration(stated.budgetDuration);
  return {
    scope,
    countedId,
    counter: counterName({ kind: scope.kind, id: countedId }, duration, budgetSetMs, model),
    durationText: stated.budgetDuration,
    duration,
    anchorMs: budgetSetMs,
    model,
    capPico: stated.maxBudget === null ? null : picoOfUsd(stated.maxBudget),
    increase: null,
    softPico: null,
    countFrom: countFrom === null ? null : { atMs: countFrom.atMs, pico: picoOfUsd(countFrom.usd) ?? 0n },
    letsFreeIn: !STRICT.has(scope.kind),
  };
}

function counterName(
  { kind, id }: Scope,
  duration: Duration | null,
  anchorMs: number,
  model: string | null,
): string {
  const anchor = duration === null || isOfCalendar(duration) ? '' : `@${anchorMs}`;
  const window = duration === null ? 'ever' : `${duration.count}${duration.unit}${anchor}`;
  return `${kind}:${id} ${window}${model === null ? '' : ` ${model}`}`;
}

/** Windows of the calendar are the same whenever a budget was set; others are counted from then. */
export function isOfCalendar({ count, unit }: Duration): boolean {
  if (unit === 'h' && count % 24 === 0) return isOfCalendar({ count: count / 24, unit: 'd' });
  if (unit === 'd') return count === 1 || count === 7 || count === 30;
  return count === 1 && unit !== 's';
}

/** Whether its windows are those of all caps of this duration. */
export const hasSharedWindows = ({ duration, countFrom }: Cap): boolean =>
  countFrom === null && (duration === null || isOfCalendar(duration));

const EVER: BudgetWindow = Object.freeze({ startMs: 0, endMs: Infinity });

/** The window of a cap that holds a time. What was spent before `countFrom` belongs to a window of its own. */
export function capWindow(cap: Cap, atMs: number, calendar: Calendar): BudgetWindow {
  const { duration, countFrom } = cap;
  const window = duration === null ? EVER : windowAt(duration, cap.anchorMs, atMs, calendar);
  if (countFrom === null || countFrom.atMs <= window.startMs || countFrom.atMs >= window.endMs) return window;
  return atMs < countFrom.atMs
    ? { startMs: window.startMs, endMs: countFrom.atMs }
    : { startMs: countFrom.atMs, endMs: window.endMs };
}

/** What a window of a cap begins with: where its start is `countFrom`, what was said to be spent then. */
export const basePico = ({ countFrom }: Cap, windowStartMs: number): bigint =>
  countFrom?.atMs === windowStartMs ? countFrom.pico : 0n;

/**
 * When a call counts: at its beginning, but of one that was under way when the spend was set anew, then. So its cost adds to that
 * spend, as in the dialect.
 */
export const countedMs = ({ countFrom }: Cap, call: EndedCall): number =>
  countFrom !== null && wasUnderWay(call, countFrom.atMs) ? countFrom.atMs : call.startMs;

/** The cap at a time; null = soft only. */
export function capAt({ capPico, increase }: Cap, nowMs: number): bigint | null {
  if (capPico === null || increase === null || nowMs >= increase.untilMs) return capPico;
  return capPico + increase.pico;
}

/** How a cap is called within its scope: `30d`, `ever`, `1d gpt-4o`. */
export const capName = ({ durationText, model }: Cap): string =>
  `${durationText ?? 'ever'}${model === null ? '' : ` ${model}`}`;

/**
 * Whether a cap of one model is about a call for `requested`.
 * @param meant what the name stands for where it is an alias, else the same name
 */
export function coversModel({ model }: Pick<Cap, 'model'>, requested: string, meant: string): boolean {
  if (model === null) return true;
  return [requested, meant, bare(requested), bare(meant)].some((name) => fitsPattern(model, name));
}

/** `openai/gpt-4o` is budgeted as `gpt-4o`, too, as in the dialect. */
export const bare = (model: string): string => model.slice(model.indexOf('/') + 1);
