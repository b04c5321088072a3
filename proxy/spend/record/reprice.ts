// The cost of a record, found or found again. Pure: the same function prices a request when it ends and a row when its
// prices were wrong, so the two can never differ. Reads only what the record keeps.
import { costOf, TOO_LARGE, type Charge, type Cost, type PriceSources } from './cost.ts';
import type { Attempt, SpendRecord } from './record.ts';

/** The part of a record that its cost follows from. */
export type Priceable = Pick<
  SpendRecord,
  'endReason' | 'tokens' | 'usage' | 'usageSource' | 'units' | 'serviceTier' | 'model'
>;

/**
 * The cost of a request that reached its upstream. A failed answer costs nothing unless the upstream says otherwise by
 * usage or by a cost, or had begun to stream: what came of it was counted.
 * @param statedPico what the upstream states, pico-dollars; null = nothing
 */
export function priceOf(record: Priceable, statedPico: number | null, prices: PriceSources): Cost {
  const charge: Charge = {
    tokens: record.tokens,
    estimated: record.usageSource === 'estimate',
    units: record.units ?? {},
    serviceTier: record.serviceTier,
    statedPico,
    model: record.model,
  };
  const isCounted = record.usage !== null || record.usageSource === 'estimate';
  if (record.endReason === 'upstream_error' && !isCounted && statedPico === null) return FREE;
  return costOf(charge, prices);
}

/** The cost of a call that reached no upstream, or got a stored response. */
export const FREE: Cost = Object.freeze({
  spendPico: 0,
  costSource: 'none',
  costReason: '',
  costs: Object.freeze({}),
  priceVersion: null,
});

/** What a request cost whose last attempt cost `last`: what is known of the attempts before is part of it. */
export function wholeCost(
  last: Pick<SpendRecord, 'spendPico' | 'costSource' | 'costReason'>,
  before: readonly Attempt[],
): Pick<SpendRecord, 'spendPico' | 'costSource' | 'costReason'> {
  if (last.spendPico === null) return last;
  // Each fits a double exactly, their sum may not.
  const sum = before.reduce((pico, { spendPico }) => pico + BigInt(spendPico ?? 0), BigInt(last.spendPico));
  if (sum > BigInt(Number.MAX_SAFE_INTEGER))
    return { spendPico: null, costSource: 'none', costReason: TOO_LARGE };
  const unknown = before.filter(({ spendPico }) => spendPico === null).length;
  const lacks = `of ${unknown} replaced ${unknown === 1 ? 'attempt' : 'attempts'} the cost is not known`;
  const costReason = [last.costReason, unknown > 0 ? lacks : ''].filter((reason) => reason !== '').join('; ');
  return { spendPico: Number(sum), costSource: last.costSource, costReason };
}

/**
 * The record with its cost by other prices. What the upstream stated stays, and so does what replaced attempts cost.
 * Records whose cost does not follow from prices are handed back as they are: requests that were refused or failed,
 * and replayed responses.
 */
export function reprice(record: SpendRecord, prices: PriceSources): SpendRecord {
  const statedPico = record.costs.upstream_header ?? null;
  if (record.spendPico === 0 && record.costSource === 'none') return record;
  if (record.status === 'failure' && record.usageSource === 'none' && statedPico === null) return record;
  // A row of several attempts that wrote one answer has the tokens of all of them.
  const { tokens = record.tokens } = record.attemptLog.at(-1) ?? {};
  const cost = priceOf({ ...record, tokens }, statedPico, prices);
  const before = record.attemptLog.slice(0, -1);
  const last = record.attemptLog.slice(-1).map((one) => ({ ...one, spendPico: cost.spendPico }));
  return { ...record, ...cost, ...wholeCost(cost, before), attemptLog: [...before, ...last] };
}
