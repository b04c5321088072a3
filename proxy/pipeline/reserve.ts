// Reserves what a call needs of budgets and limits before it goes upstream: the most that it may cost, in every budget that its
// record will count for, and a place in every limit, or nothing at all. What is reserved is given back when the record is settled.
// A call without budgets and limits asks for nothing.
import type { Cap } from '../access/budgets/caps.ts';
import {
  FREE,
  mostCost,
  outputWithin,
  costOfOne,
  withContinuation,
  type CallCost,
  type Candidate,
  type RequestSize,
  type ReservedCost,
} from '../access/budgets/reservation.ts';
import { refusalText } from '../access/budgets/refusal.ts';
import type { ScopedRecord } from '../access/budgets/scopes.ts';
import type { BudgetRefusal } from '../access/budgets/budget-book.ts';
import { CountersUnavailable, type ReserveResult, type ReservingCall } from '../access/counters.ts';
import { needsOfLimits, type ScopedLimit } from '../access/limits/call-limits.ts';
import type { LimitNeed } from '../access/limits/rate-book.ts';
import type { CallerModels } from '../access/model-access.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import { pricesFor } from './charge.ts';
import { headersOfLimits, LimitQueue, promptOf, tokensOf, type Prompt } from './reserve-limits.ts';
import type { Caller } from '../access/caller.ts';
import type { Exchange } from './exchange.ts';
import type { ParsedRequest } from './parse-request.ts';
import { outputLimit } from './output-limit.ts';
import { isContinuable, planRequest, reachableDeployments, selectedBy, type CallPlan } from './plan.ts';
import type { ReadCall } from './read-call.ts';
import { seedCounters } from './seed-counters.ts';
import { servedGroup, type SelectedDeployment } from './select-deployment.ts';
import { asRecordedText, scopedOf } from './spend-entries.ts';
import type { Translations } from './translations.ts';

/**
 * For so long a call asks again where its counters are not known: on a full machine shared counters come and go, and what is
 * seeded here is gone again before it is asked for.
 */
const SEED_WITHIN_MS = 30_000;

interface Reserving {
  readonly caller: Caller;
  readonly call: ReadCall;
  /** Tokens of the response that it continues; absent: it continues none. */
  readonly readAgain?: number;
  /** Knows which deployments can be told what the call holds; absent: all can. */
  readonly translations?: Translations;
  /** What it reserves whatever it says; absent: the most that the request may cost. */
  readonly stated?: CallCost;
}

/** What a call was let in with. */
interface ReservedCall {
  /** Without deployments whose own budget has no room for the call. */
  readonly plan: CallPlan;
  /** What its client is told of its limits; flat. */
  readonly headers: readonly string[];
  /** How long it waited for a limit. */
  readonly waitedMs: number;
  /** What it has reserved of its budgets; null = nothing. */
  readonly cost: CallCost | null;
}

/** @throws Fault budget_exceeded, budget_unverified, rate_limit_exceeded, counters_unavailable, client_gone, shutting_down */
export function reserveCall(
  x: Exchange,
  reserving: Reserving,
  plan: CallPlan,
): ReservedCall | Promise<ReservedCall> {
  const { budgets, limits: limitsOf } = x.active.services;
  const scoped = scopedAt(x, reserving, selectedBy(plan));
  const { modelGroup } = scoped;
  const limits = limitsOf.of(scoped, x.active.snapshot.routing.aliases.get(modelGroup));
  const own = budgets.capsFor(scoped);
  budgets.watch(scoped, x.startMs);
  if (own.length === 0 && limits.length === 0 && !budgets.dependsOnDestination)
    return { plan, headers: [], waitedMs: 0, cost: null };
  const needs = { own, limits, prompt: promptOf(reserving.call.request, reserving.readAgain ?? 0) };
  return reserveAtOnce(x, reserving, plan, needs) ?? reserveNeeds(x, reserving, plan, needs);
}

/** What the scopes of the call follow from if it goes to `selected`. */
function scopedAt(
  x: Exchange,
  { caller, call: { request, identity } }: Reserving,
  selected: SelectedDeployment,
): ScopedRecord {
  return scopedOf(x.active, {
    caller,
    modelGroup: asRecordedText(x, request.model) ?? '',
    identity,
    selected,
  });
}

/** What a call has to reserve of: the caps of the planned deployment, and its limits. */
interface Needs {
  readonly own: readonly Cap[];
  readonly limits: readonly ScopedLimit[];
  readonly prompt: Prompt;
}

/**
 * Where one deployment can serve a call and its counters are in this process, it is mostly let in without a wait, and without the
 * lists and promises of `reserveNeeds`. null: it is not let in so, and nothing is reserved.
 */
function reserveAtOnce(
  x: Exchange,
  reserving: Reserving,
  plan: CallPlan,
  { own, limits, prompt }: Needs,
): ReservedCall | null {
  const { budgets, counters } = x.active.services;
  if (!plan.isAlone || counters.isShared === true || budgets.dependsOnDestination) return null;
  const cost = own.length === 0 ? null : costToReserve(x, reserving, prompt, plan, [selectedBy(plan)]);
  const result = counters.reserve({
    requestId: x.id,
    budgets: budgets.needsOf(own, x.startMs),
    pico: cost?.whole.pico ?? 0n,
    limits: needsOfLimits(limits, tokensOf(reserving.call.request, prompt.tokens)),
  });
  if (result instanceof Promise || result.kind !== 'reserved') return null;
  return { plan, headers: headersOfLimits(x, limits, result.remaining), waitedMs: 0, cost };
}

/** A deployment that may serve the call, with what its record would count for. */
interface Reachable {
  readonly selected: SelectedDeployment;
  readonly scoped: ScopedRecord;
  readonly caps: readonly Cap[];
}

async function reserveNeeds(
  x: Exchange,
  reserving: Reserving,
  plan: CallPlan,
  { own, limits, prompt }: Needs,
): Promise<ReservedCall> {
  const { call, translations = null } = reserving;
  const { request, identity, models } = call;
  const { budgets } = x.active.services;
  const needs = needsOfLimits(limits, tokensOf(request, prompt.tokens));
  const queue = new LimitQueue(x, limits);
  const context = { x, needs, queue, unknown: new Set<string>() };
  const mayHaveCaps = own.length > 0 || budgets.dependsOnDestination;
  const selectable = mayHaveCaps ? reachableOf(x, request, models, plan) : [];
  const reachable = selectable.map((selected, n): Reachable => {
    const scoped = scopedAt(x, reserving, selected);
    return { selected, scoped, caps: n === 0 ? own : budgets.capsFor(scoped) };
  });
  if (reachable.every(({ caps }) => caps.length === 0)) {
    const result = limits.length === 0 ? NOTHING_RESERVED : await reserve(context, [], 0n);
    const headers = headersOfLimits(x, limits, result.remaining);
    return { plan, headers, waitedMs: queue.waitedMs, cost: null };
  }
  const cost = costToReserve(x, reserving, prompt, plan, selectable);
  const pico = cost?.whole.pico ?? 0n;
  const full = new Set<string>(); // counters that refused
  const isFull = ({ scoped, caps }: Reachable): boolean =>
    !budgets.hasRoom(scoped, x.startMs, pico) || caps.some(({ counter }) => full.has(counter));
  // One that cannot be told all of the call is no way out for one without room.
  const isUnable = ({ selected }: Reachable): boolean => translations?.wayTo(selected) === 'not at all';
  for (;;) {
    const roomy = reachable.filter((one) => !isFull(one));
    const open = roomy.length === reachable.length ? roomy : roomy.filter((one) => !isUnable(one));
    const isAll = open.length === 0;
    const left = isAll ? reachable : open;
    const isEach = left.length === reachable.length;
    const without = isEach ? [] : reachable.filter((one) => !left.includes(one));
    const excluded = new Set(without.map(({ selected }) => selected.deployment));
    const caps = new Map<string, Cap>();
    for (const one of left) for (const cap of one.caps) caps.set(cap.counter, cap);
    const asksNothing = caps.size === 0 && limits.length === 0;
    const result = asksNothing ? NOTHING_RESERVED : await reserve(context, [...caps.values()], pico);
    if (result.refusal !== null) {
      const cap = caps.get(result.refusal.need.budget);
      if (cap === undefined) throw new Error('a budget refused that the call did not ask');
      if (isAll || left.every((one) => one.caps.some(({ counter }) => counter === cap.counter)))
        throw refused(x, request, cap, result.refusal, cost?.whole ?? null);
      full.add(cap.counter); // the call may go to one that it does not hold for
      continue;
    }
    const usable =
      excluded.size === 0
        ? plan
        : planRequest(x.active, request, identity, { allowed: models, excluded, translations });
    const headers = headersOfLimits(x, limits, result.remaining);
    return { plan: usable, headers, waitedMs: queue.waitedMs, cost: result.holdsBudget ? cost : null };
  }
}

/** Every deployment that may serve the call, the planned one first. */
function reachableOf(
  x: Exchange,
  request: ParsedRequest,
  models: CallerModels,
  plan: CallPlan,
): readonly SelectedDeployment[] {
  const { model } = request;
  const first = selectedBy(plan);
  if (plan.isAlone || !plan.hasMore) return [first];
  const reachable = reachableDeployments(x.active, request, models);
  const others = reachable.filter((one) => one !== first.deployment);
  return [first, ...others.map((deployment) => selectedIn(x, deployment, model))];
}

/** The deployment as a call for `model` would select it, also as one of a fallback's group. */
function selectedIn(x: Exchange, deployment: LiveDeployment, model: string): SelectedDeployment {
  const { group } = deployment.config;
  const of = servedGroup(x.active, group.includes('*') ? model : group);
  if (of?.deployments.includes(deployment) === true) return of.select(deployment);
  return { deployment, upstreamModel: deployment.config.upstreamModel, forwards: false };
}

/** What a call reserves of its budgets; null = they only count. */
function costToReserve(
  x: Exchange,
  { call, stated }: Reserving,
  prompt: Prompt,
  plan: CallPlan,
  reachable: readonly SelectedDeployment[],
): CallCost | null {
  if (x.active.snapshot.budgets.reservation === 'off') return null;
  return stated ?? costOf(x, call.request, prompt, plan, reachable);
}

function costOf(
  x: Exchange,
  request: ParsedRequest,
  prompt: Prompt,
  plan: CallPlan,
  reachable: readonly SelectedDeployment[],
): CallCost {
  if (request.endpoint.countAnswer !== undefined) return costOfOne(FREE); // tokens are counted, none are read
  const size = sizeOf(request, prompt);
  const candidates = reachable.map((one) => candidateOf(x, one));
  const cost = mostCost(size, candidates);
  // A hedged call may be answered by two.
  const isHedged =
    reachable.length > 1 && reachable.some(({ deployment }) => deployment.config.clocks.hedgeAfterMs > 0);
  const answer = isHedged ? { ...cost, pico: cost.pico * 2n, inputPico: () => cost.inputPico() * 2n } : cost;
  return isContinuable(x.active.snapshot.routing, request, plan)
    ? withContinuation(answer, cost, size, candidates)
    : costOfOne(answer);
}

function sizeOf(
  { endpoint, members, maxOutput, choices, billable }: ParsedRequest,
  prompt: Prompt,
): RequestSize {
  return {
    body: prompt.body(),
    promptTokens: prompt.tokens,
    formParts: members.kind === 'form' ? members.peeked.partCount : null,
    pricedBy: endpoint.pricedBy,
    writes: endpoint.writes,
    maxOutput,
    choices,
    units: billable.units,
    serviceTier: billable.serviceTier,
  };
}

function candidateOf(x: Exchange, selected: SelectedDeployment): Candidate {
  return {
    model: selected.upstreamModel,
    prices: pricesFor(x, selected),
    maxOutput: outputLimit(x, selected),
  };
}

interface ReserveContext {
  readonly x: Exchange;
  readonly needs: readonly LimitNeed[];
  readonly queue: LimitQueue;
  /** Counters that the store could not be asked for, and that the call is let in without. */
  readonly unknown: Set<string>;
}

/** How reserving ended: with what is left of each limit, or with the budget that has no room. */
interface ReserveEnd {
  readonly remaining: readonly number[];
  readonly refusal: BudgetRefusal | null;
  /** It has room in one budget at least. */
  readonly holdsBudget: boolean;
}

const NOTHING_RESERVED: ReserveEnd = { remaining: [], refusal: null, holdsBudget: false };

/** @throws Fault budget_unverified, rate_limit_exceeded, counters_unavailable, client_gone, shutting_down */
async function reserve(
  { x, needs, queue, unknown }: ReserveContext,
  caps: readonly Cap[],
  pico: bigint,
): Promise<ReserveEnd> {
  const { budgets, clock } = x.active.services;
  let untilMs = clock.mono() + SEED_WITHIN_MS;
  const call = { requestId: x.id, pico, limits: needs };
  let asked = caps.filter(({ counter }) => !unknown.has(counter));
  for (let seedings = 0; clock.mono() <= untilMs;) {
    const result = await askCounters(x, { ...call, budgets: budgets.needsOf(asked, x.startMs) });
    if (result.kind === 'over_budget') return { ...NOTHING_RESERVED, refusal: result.refusal };
    if (result.kind === 'reserved')
      return { remaining: result.remaining, refusal: null, holdsBudget: asked.length > 0 };
    if (result.kind === 'over_limit') {
      await queue.wait(result.refusal);
      continue;
    }
    seedings += 1;
    try {
      await seedCounters(x, result.counters, seedings);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      if (!letsPass(x, error)) throw unverified(error);
      for (const { budget } of result.counters) unknown.add(budget);
      asked = asked.filter(({ counter }) => !unknown.has(counter)); // its limits and its other budgets hold all the same
      untilMs = clock.mono() + SEED_WITHIN_MS; // a store that is stuck takes as long to say so
    }
  }
  throw unverified(new Error(`counters are forgotten again and again, for ${SEED_WITHIN_MS / 1000} s`));
}

async function askCounters(x: Exchange, call: ReservingCall): Promise<ReserveResult> {
  try {
    const result = x.active.services.counters.reserve(call);
    return result instanceof Promise ? await result : result;
  } catch (cause) {
    if (!(cause instanceof CountersUnavailable)) throw cause;
    const what = call.budgets.length > 0 ? 'Budget' : 'Rate limit'; // as the dialect says it
    const text = `${what} enforcement unavailable: ${cause.message}. Try again.`;
    throw new Fault('counters_unavailable', text, { cause, headers: [['retry-after', '1']] });
  }
}

function letsPass(x: Exchange, err: Error): boolean {
  if (!x.active.snapshot.budgets.allowUnverified) return false;
  const text =
    'served although its budgets cannot be read (general_settings.allow_requests_on_db_unavailable)';
  x.active.services.log.warn({ call_id: x.id, err }, text);
  return true;
}

function unverified(cause: Error): Fault {
  const text =
    'Budget enforcement unavailable: what was spent cannot be read from the store at the moment. Try again.';
  return new Fault('budget_unverified', text, { cause, headers: [['retry-after', '5']] });
}

function refused(
  x: Exchange,
  { choices }: ParsedRequest,
  cap: Cap,
  refusal: BudgetRefusal,
  reserved: ReservedCost | null,
): Fault {
  const { budgets, access } = x.active.services;
  budgets.refused(cap);
  const key = cap.scope.kind === 'key' ? access.directory.key(cap.scope.id) : null;
  const text = refusalText({
    cap,
    refusal,
    pico: reserved?.pico ?? 0n,
    fitting: reserved === null ? null : outputWithin(reserved, refusal.leftPico, choices),
    keyName: key === null ? '' : shownKey(key),
    resetMs: budgets.resetOf(cap),
  });
  return new Fault('budget_exceeded', text, { status: x.active.snapshot.budgets.exceededStatus });
}

function shownKey({ alias, name }: { readonly alias: string | null; readonly name: string }): string {
  return alias === null ? `(${name})` : `${alias} (${name})`;
}
