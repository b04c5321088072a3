// The most that a call may cost, wherever it goes: what it reserves of its budgets. Puts together what the request says of its size, the
// prices of the deployments that may serve it, and how many of them may answer; `access/budgets/reservation.ts` does the sum.
import {
  FREE,
  mostCost,
  costOfOne,
  withContinuation,
  type CallCost,
  type Candidate,
  type RequestSize,
} from '../access/budgets/reservation.ts';
import { askedOf, tierAsked } from './asked-of.ts';
import { pricesFor } from './charge.ts';
import type { Exchange } from './exchange.ts';
import { outputLimit } from './output-limit.ts';
import type { ParsedRequest } from './parse-request.ts';
import { isContinuable, type CallPlan } from './plan.ts';
import type { Prompt } from './reserve-limits.ts';
import type { SelectedDeployment } from './select-deployment.ts';

/** @param reachable the deployments that may serve it */
export function callCostAtMost(
  x: Exchange,
  request: ParsedRequest,
  prompt: Prompt,
  plan: CallPlan,
  reachable: readonly SelectedDeployment[],
): CallCost {
  if (request.endpoint.countAnswer !== undefined) return costOfOne(FREE); // tokens are counted, none are read
  const size = sizeOf(request, prompt);
  const candidates = reachable.map((one) => candidateOf(x, request, one));
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

function candidateOf(x: Exchange, request: ParsedRequest, selected: SelectedDeployment): Candidate {
  const candidate: Candidate = {
    model: selected.upstreamModel,
    prices: pricesFor(x, selected),
    maxOutput: outputLimit(x, selected),
  };
  if (selected.deployment.stated === null) return candidate;
  const { maxOutput, choices } = askedOf(request, selected);
  const serviceTier = tierAsked(request.endpoint, selected, request.billable.serviceTier);
  return { ...candidate, asked: { maxOutput, choices, serviceTier } };
}
