// Service tiers in the words of the rows: `flex`, `priority` and the like. Google's are enums (`SERVICE_TIER_PRIORITY`), and Vertex AI
// states the tier as the kind of the traffic. Pure.
import { identifierIn, type Json } from '../bodies/json.ts';

/** Not there: who bought throughput pays for it whatever a call uses. */
const OF_TRAFFIC: ReadonlyMap<string, string> = new Map([
  ['ON_DEMAND', 'on_demand'],
  ['ON_DEMAND_FLEX', 'flex'],
  ['ON_DEMAND_PRIORITY', 'priority'],
]);

/** `SERVICE_TIER_FLEX`: `flex`; other words as they are. null: it states none. */
export function tierWord(stated: string): string | null {
  const word = /^SERVICE_TIER_[A-Z]/.test(stated)
    ? stated.slice('SERVICE_TIER_'.length).toLowerCase()
    : stated;
  return word === 'unspecified' ? null : word;
}

/**
 * The tier that a usage object states, as Anthropic's and Gemini's do. Anthropic's fast mode is a speed, beside the tier, at a price of
 * its own (platform.claude.com/docs/en/build-with-claude/fast-mode).
 */
export function tierIn(usage: Json | null): string | null {
  if (usage?.['speed'] === 'fast') return 'fast';
  const stated = identifierIn(usage, 'service_tier') ?? identifierIn(usage, 'serviceTier');
  const word = stated === null ? null : tierWord(stated);
  return word ?? OF_TRAFFIC.get(identifierIn(usage, 'trafficType') ?? '') ?? null;
}
