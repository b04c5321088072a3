// The cost of a record, found or found again. Pure: the same function prices a request when it ends and a row when its
// prices were wrong, so the two can never differ. Reads only what the record keeps.
import { costOf, type Charge, type Cost, type PriceSources } from './cost.ts';
import type { SpendRecord } from './record.ts';

/** The part of a record that its cost follows from. */
export type Priceable = Pick<
  SpendRecord,
  'endReason' | 'tokens' | 'usage' | 'usageSource' | 'units' | 'serviceTier' | 'model'
>;

/**
 * The cost of a request that reached its upstream. A failed answer costs nothing unless the upstream says otherwise by
 * usage or by a cost.
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
  if (record.endReason === 'upstream_error' && record.usage === null && statedPico === null) return FREE;
  return costOf(charge, prices);
}

/** What was never asked of an upstream, or is told a second time. */
export const FREE: Cost = Object.freeze({
  spendPico: 0,
  costSource: 'none',
  costReason: '',
  costs: Object.freeze({}),
  priceVersion: null,
});

/**
 * The record with its cost by other prices. What the upstream stated stays. Records whose cost does not follow from
 * prices are handed back as they are: requests that were refused or came to nothing, and answers that were told again.
 */
export function reprice(record: SpendRecord, prices: PriceSources): SpendRecord {
  const statedPico = record.costs.upstream_header ?? null;
  if (record.spendPico === 0 && record.costSource === 'none') return record;
  if (record.status === 'failure' && record.usageSource === 'none' && statedPico === null) return record;
  return { ...record, ...priceOf(record, statedPico, prices) };
}
