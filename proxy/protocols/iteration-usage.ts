// Anthropic's `usage.iterations`: one entry for each time that a model ran for one answer. Its counts at the top level leave out
// what a compaction and an advisor used, and both are billed
// (platform.claude.com/docs/en/build-with-claude/compaction#understanding-usage). Pure.
import { asObject, isStated, type Json } from '../bodies/json.ts';

/** Entries that the counts at the top level leave out. Those of a model that declined are left out, too, and are not billed. */
const BESIDE: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message']);
const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;

/** The usage with all that is billed in its counts; other spellings than that of messages have it there already. */
export function withIterations(usage: Json): Json {
  const { iterations } = usage;
  if (!Array.isArray(iterations) || isOfOpenAi(usage)) return usage;
  const entries = iterations.map(asObject).filter((one) => one !== null);
  const beside = entries.filter(({ type }) => BESIDE.has(type));
  if (beside.length === 0) return usage;
  const counts = COUNTS.map((name): [string, unknown] => [name, whole(name, usage, entries, beside)]);
  const hourly = whole(
    'ephemeral_1h_input_tokens',
    asObject(usage['cache_creation']) ?? {},
    entries.map(creationOf),
    beside.map(creationOf),
  );
  return { ...usage, ...Object.fromEntries(counts), cache_creation: { ephemeral_1h_input_tokens: hourly } };
}

const isOfOpenAi = (usage: Json): boolean =>
  isStated(usage['prompt_tokens']) || asObject(usage['input_tokens_details']) !== null;

const creationOf = (entry: Json): Json => asObject(entry['cache_creation']) ?? {};

/** Gateways add the entries up themselves (Bifrost): what is no less than all of them has them in it. */
function whole(name: string, top: Json, entries: readonly Json[], beside: readonly Json[]): unknown {
  const stated = top[name];
  const missing = sum(name, beside);
  const all = sum(name, entries);
  if (missing === 0) return stated;
  if (typeof missing !== 'number') return missing;
  if (!isStated(stated)) return missing;
  if (typeof stated !== 'number' || (typeof all === 'number' && stated >= all)) return stated;
  return stated + missing;
}

/** What is no number stays as it is, so that the reader has its doubt. */
function sum(name: string, entries: readonly Json[]): unknown {
  const values = entries.map((entry) => entry[name]).filter(isStated);
  const wrong = values.find((value) => typeof value !== 'number' || value < 0);
  if (wrong !== undefined) return wrong;
  return values.reduce<number>((total, value) => total + Number(value), 0);
}
