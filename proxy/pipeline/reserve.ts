// Reserves what a call needs of budgets and limits before it goes upstream: the most that it may cost, in every budget that its
// record will count for, and a place in every limit, or nothing at all. What is reserved is given back when the record is settled.
// A call without budgets and limits asks for nothing.
import type { Cap } from '../access/budgets/caps.ts';
import { outputWithin, type CallCost, type ReservedCost } from '../access/budgets/reservation.ts';
import { refusalText } from '../access/budgets/refusal.ts';
import type { ScopedRecord } from '../access/budgets/scopes.ts';
import type { BudgetRefusal } from '../access/budgets/budget-book.ts';
import type { Caller } from '../access/caller.ts';
import { needsOfLimits, type ScopedLimit } from '../access/limits/call-limits.ts';
import type { CallerModels } from '../access/model-access.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import { callCostAtMost } from './call-cost.ts';
import { CallReservation } from './call-reservation.ts';
import { DeploymentsWithRoom } from './deployments-with-room.ts';
import type { Exchange } from './exchange.ts';
import type { ParsedRequest } from './parse-request.ts';
import { countAvoided, planRequest, reachableDeployments, selectedBy, type CallPlan } from './plan.ts';
import type { ReadCall } from './read-call.ts';
import { headersOfLimits, promptOf, tokensOf, type Prompt } from './reserve-limits.ts';
import { servedGroup, type SelectedDeployment } from './select-deployment.ts';
import { asRecordedText, scopedOf } from './spend-entries.ts';
import type { Translations } from './translations.ts';

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
    limits: needsOfLimits(limits, tokensOf(reserving.call.request, selectedBy(plan), prompt.tokens)),
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
  const { request, models } = call;
  const { budgets } = x.active.services;
  const mayHaveCaps = own.length > 0 || budgets.dependsOnDestination;
  const selectable = mayHaveCaps ? reachableOf(x, request, models, plan) : [];
  const reachable = selectable.map((selected, n): Reachable => {
    const scoped = scopedAt(x, reserving, selected);
    return { selected, scoped, caps: n === 0 ? own : budgets.capsFor(scoped) };
  });
  const hasCaps = reachable.some(({ caps }) => caps.length > 0);
  if (!hasCaps && limits.length === 0) return { plan, headers: [], waitedMs: 0, cost: null };
  const reservation = new CallReservation(x, limits, tokensOf(request, selectedBy(plan), prompt.tokens));
  const cost = hasCaps ? costToReserve(x, reserving, prompt, plan, selectable) : null;
  const pico = cost?.whole.pico ?? 0n;
  const deployments = new DeploymentsWithRoom(reachable, {
    hasRoom: ({ scoped }) => !hasCaps || budgets.hasRoom(scoped, x.startMs, pico),
    isAble: ({ selected }) => translations?.wayTo(selected) !== 'not at all',
  });
  for (;;) {
    const { caps, without } = deployments.choose();
    const end = await reservation.reserve(caps, pico);
    if (end.is === 'over budget') {
      if (deployments.avoid(end.cap)) continue;
      throw refused(x, request, end.cap, end.refusal, cost?.whole ?? null);
    }
    const { headers, holdsBudget } = end;
    const usable = without.length === 0 ? plan : planWithout(x, reserving, without);
    countAvoided(x.active, plan, usable);
    return { plan: usable, headers, waitedMs: reservation.waitedMs, cost: holdsBudget ? cost : null };
  }
}

function planWithout(x: Exchange, reserving: Reserving, without: readonly Reachable[]): CallPlan {
  const { request, identity, models } = reserving.call;
  const excluded = new Set(without.map(({ selected }) => selected.deployment));
  const { translations = null } = reserving;
  return planRequest(x.active, request, identity, { allowed: models, excluded, translations });
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
  return stated ?? callCostAtMost(x, call.request, prompt, plan, reachable);
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
