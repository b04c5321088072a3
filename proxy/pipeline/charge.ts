// From the usage that a response states to what is charged: token counts, units, tier, the cost that the upstream states.
// Pure. Used when a request ends and for the cost in a stream's usage event, so the two agree.
import type { Gateway } from '../../config/resolve/gateways/gateway.ts';
import type { Mutable } from '../base/mutable.ts';
import type { Estimate } from '../spend/estimate/estimator.ts';
import { picoDollars, usd, type PriceSources } from '../spend/record/cost.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import { priceOf } from '../spend/record/reprice.ts';
import type { Outcome } from '../relay/outcome.ts';
import { asObject, type Json } from '../bodies/json.ts';
import type { PriceUsage } from '../relay/sse-tap.ts';
import { cleanObject } from '../bodies/text.ts';
import { tierIn } from '../protocols/service-tier.ts';
import { countsIn, isSeconds, isSome, readUnits, type Tokens, type Units } from '../protocols/usage.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Exchange } from './exchange.ts';
import type { BillableUnits } from './billable-units.ts';
import type { SelectedDeployment } from './select-deployment.ts';

/** The part of a record that states what was used. */
export type Used = Pick<
  SpendRecord,
  'usage' | 'usageSource' | 'tokens' | 'estimatedBy' | 'units' | 'serviceTier' | 'warnings'
>;

/** Ten times the largest that was seen; rows stay small whatever an upstream sends. */
const USAGE_CHARS = 8_192;

const UNREAD =
  'usage: the response is compressed and larger than what is read of one; it may have stated its usage';

/** What a response used. @param estimate token counts that the upstream did not state */
export function usedBy(
  endpoint: Endpoint,
  billable: BillableUnits,
  outcome: Outcome,
  estimate: Estimate | null,
): Used {
  const { reading } = outcome;
  const sent = endpoint.returnsStored ? null : reading.usage;
  const usage = sent === null ? null : cleanObject(sent, USAGE_CHARS);
  const { tokens: stated, doubts: ofCounts } = endpoint.protocol.readTokens(sent);
  const { usageIsPartial } = reading;
  const doubts =
    estimate === null ? ofCounts : [...ofCounts, ...doubtedZeros(stated, estimate, usageIsPartial)];
  const warnings =
    sent !== null && usage === null
      ? [...doubts, `usage: longer than ${USAGE_CHARS} characters; its counts were read, it was not stored`]
      : doubts;
  const tokens = imageTokens(endpoint, stated);
  const isUnread = reading.isPartlyRead === true && (sent === null || usageIsPartial);
  return {
    usage,
    usageSource: sourceOf(sent, estimate),
    tokens: estimate === null ? tokens : withEstimate(tokens, estimate, usageIsPartial),
    estimatedBy: estimate?.by ?? null,
    units: unitsOf(billable, outcome, sent, tokens, endpoint.returnsStored),
    serviceTier: reading.serviceTier ?? tierIn(sent) ?? billable.serviceTier,
    warnings: isUnread ? [...warnings, UNREAD] : warnings,
  };
}

function sourceOf(sent: Json | null, estimate: Estimate | null): Used['usageSource'] {
  if (estimate !== null) return 'estimate';
  return sent === null ? 'none' : 'upstream';
}

/** The output of an image endpoint is image tokens, also where the upstream gives no details. */
function imageTokens(endpoint: Endpoint, tokens: Tokens): Tokens {
  const unsaid = endpoint.pricedBy === 'images' && tokens.outputImage === null;
  return unsaid && tokens.completion !== null ? { ...tokens, outputImage: tokens.completion } : tokens;
}

/** Counts that the upstream stated win, except zeros; of an output that it had only begun to count, the larger one. */
function withEstimate(stated: Tokens, estimate: Estimate, isPartial: boolean): Tokens {
  const prompt = isSome(stated.prompt) ? stated.prompt : estimate.prompt;
  const completion =
    isSome(stated.completion) && !isPartial
      ? stated.completion
      : Math.max(stated.completion ?? 0, estimate.completion);
  return { ...stated, prompt, completion, total: prompt + completion };
}

/** What the upstream counted as 0, and is more. @param isPartial it had not counted the output yet */
function doubtedZeros({ prompt, completion }: Tokens, estimate: Estimate, isPartial: boolean): string[] {
  const doubts: string[] = [];
  if (prompt === 0 && estimate.prompt > 0)
    doubts.push('usage: it states 0 tokens for a prompt that has some; they were counted here');
  if (completion === 0 && estimate.completion > 0 && !isPartial)
    doubts.push('usage: it states 0 tokens for an answer that has text; they were counted here');
  return doubts;
}

function unitsOf(
  billable: BillableUnits,
  outcome: Outcome,
  usage: Json | null,
  tokens: Tokens,
  isStored: boolean,
): Units | null {
  const { duration, tools } = outcome.reading;
  const units: Mutable<Units> = {};
  if (outcome.end === 'complete') Object.assign(units, billable.units);
  // A transcript that is billed by tokens states its duration too.
  if (isSeconds(duration) && tokens.prompt === null) units.milliseconds = Math.round(duration * 1000);
  if (!isStored) Object.assign(units, tools);
  Object.assign(units, readUnits(usage)); // what it states counts
  return Object.keys(units).length === 0 ? null : units;
}

/** Pico-dollars that the upstream states in its cost header, else in its usage; null = none. */
export function statedPico(gateway: Gateway, header: string | null, usage: Json | null): number | null {
  const stated = header === null ? null : picoDollars(header);
  if (stated !== null || !gateway.costInUsage) return stated;
  const cost = asObject(usage?.['cost'])?.['total_cost'] ?? usage?.['cost'];
  return typeof cost === 'number' ? picoDollars(String(cost)) : null;
}

/** The price tables that apply to a call. */
export function pricesFor(
  x: Exchange,
  { deployment: { config }, upstreamModel }: SelectedDeployment,
): PriceSources {
  return x.active.services.catalogue.pricesOf(config, upstreamModel);
}

/** Prices the usage of a stream while it passes. */
export function usagePricer(
  x: Exchange,
  { protocol, counted }: Endpoint,
  selected: SelectedDeployment,
  billable: BillableUnits,
): PriceUsage {
  const doubtsZeros = x.active.snapshot.estimateMissingUsage && counted !== 'nothing';
  return (usage, serviceTier, tools) => {
    if (doubtsZeros && countsIn(usage, counted) === 'zero') return null; // the row may count what has text
    const units = { ...tools, ...readUnits(usage) };
    const used = {
      endReason: 'complete',
      model: selected.upstreamModel,
      usage,
      usageSource: 'upstream',
      tokens: protocol.readTokens(usage).tokens,
      units: Object.keys(units).length === 0 ? null : units,
      serviceTier: serviceTier ?? tierIn(usage) ?? billable.serviceTier,
    } as const;
    const stated = statedPico(selected.deployment.config.gateway, null, usage);
    const { spendPico } = priceOf(used, stated, pricesFor(x, selected));
    return spendPico === null ? null : usd(spendPico);
  };
}
