// What models can do and hold: mode, token limits, features, prices per token. From LiteLLM's table, made into
// model-facts.json by generate-model-facts.ts; only catalogue.ts asks here. Read when the first model is looked up.
import source from './model-facts.json' with { type: 'json' };

/** Cells of a line behind the name and the features, by the table's own names. */
export const COLUMNS = [
  'mode',
  'max_tokens',
  'max_input_tokens',
  'max_output_tokens',
  'output_vector_size',
  'input_cost_per_token',
  'output_cost_per_token',
  'cache_read_input_token_cost',
  'cache_creation_input_token_cost',
] as const;

/** Kinds of prices, each by the letter that begins it in the cell behind `COLUMNS`: `i200p=7.2e-06`. */
const PRICE_LETTERS: Readonly<Record<string, string>> = {
  i: 'input_cost_per_token',
  o: 'output_cost_per_token',
  r: 'cache_read_input_token_cost',
  w: 'cache_creation_input_token_cost',
  h: 'cache_creation_input_token_cost_above_1hr',
  a: 'input_cost_per_audio_token',
  m: 'input_cost_per_image_token',
  t: 'output_cost_per_reasoning_token',
  A: 'output_cost_per_audio_token',
  M: 'output_cost_per_image_token',
};
/** Service tiers, each by the letter that ends it. */
const TIER_LETTERS: Readonly<Record<string, string>> = {
  f: 'flex',
  b: 'balanced',
  p: 'priority',
  u: 'ultrafast',
  x: 'fast',
};
const THRESHOLDS = ['', '32', '100', '128', '200', '256', '272', '512'];

/** Every price of tokens that is no column, by its code: `i200p`. */
export const PRICE_CODES: ReadonlyMap<string, string> = new Map(
  Object.entries(PRICE_LETTERS).flatMap(([letter, base]) =>
    THRESHOLDS.flatMap((thousands) =>
      ['', ...Object.keys(TIER_LETTERS)].map((tier) => {
        const long = thousands === '' ? '' : `_above_${thousands}k_tokens`;
        const ofTier = tier === '' ? '' : `_${TIER_LETTERS[tier]}`;
        return [`${letter}${thousands}${tier}`, `${base}${long}${ofTier}`] as const;
      }),
    ),
  ),
);

/** Prices of tools that an upstream runs, each by its code: of one web search, of one search on a map. */
export const TOOL_CODES: ReadonlyMap<
  string,
  'search_context_cost_per_query' | 'google_maps_grounding_cost_per_query'
> = new Map([
  ['S', 'search_context_cost_per_query'],
  ['G', 'google_maps_grounding_cost_per_query'],
]);
/** They are for each query; without it, for what the name of the model says. */
export const PER_QUERY_CODE = 'Q';

/** Features, in the order of their bits. Absent says unknown, not no. */
export const FLAGS = [
  'supports_function_calling',
  'supports_parallel_function_calling',
  'supports_tool_choice',
  'supports_vision',
  'supports_pdf_input',
  'supports_audio_input',
  'supports_audio_output',
  'supports_video_input',
  'supports_response_schema',
  'supports_native_structured_output',
  'supports_reasoning',
  'supports_prompt_caching',
  'supports_system_messages',
  'supports_assistant_prefill',
  'supports_web_search',
  'supports_computer_use',
  'supports_url_context',
  'supports_native_streaming',
  'supports_embedding_image_input',
] as const;

const COST = /^(?:input|output|cache_\w+)_cost(?:_per)?_[a-z0-9_]+$|_token_cost$/;

/** Whether a member of another proxy's `model_info` is such a fact: what else stands there is that proxy's own affair. */
export function isModelFact(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return /^supports_[a-z_]{1,60}$/.test(name);
  if (name === 'mode') return typeof value === 'string' && /^[a-z_]{1,40}$/.test(value);
  const isAmount = typeof value === 'number' && Number.isFinite(value) && value >= 0;
  return isAmount && ((COLUMNS as readonly string[]).includes(name) || COST.test(name));
}

export type ModelFacts = Readonly<Partial<Record<string, string | number | true>>>;

/** Read on first use; a holder, since modules keep no state of their own. */
const table: { lines?: ReadonlyMap<string, string>; folded?: ReadonlyMap<string, string> } = {};

const nameOf = (line: string): string => line.slice(0, line.indexOf('|'));

/**
 * As the table writes the name, else in letters of another case: vendors write `DeepSeek-V3`, the table mostly does not. A name
 * without its vendor is taken as it is: capitals are how weights are called that anybody runs.
 */
function lineOf(name: string): string | undefined {
  table.lines ??= new Map(source.models.map((line) => [nameOf(line), line])); // 2 ms
  const line = table.lines.get(name);
  if (line !== undefined || !name.includes('/')) return line;
  table.folded ??= new Map(source.models.map((one) => [nameOf(one).toLowerCase(), one]));
  return table.folded.get(name.toLowerCase());
}

/** The facts of the model of this name, or null. Costs in US dollars per token. */
export function modelFacts(name: string): ModelFacts | null {
  const line = lineOf(name);
  if (line === undefined) return null;
  const [, bits = '', ...cells] = line.split('|');
  const facts: Record<string, string | number | true> = {};
  for (const [at, column] of COLUMNS.entries()) {
    const cell = cells[at] ?? '';
    if (cell !== '') facts[column] = column === 'mode' ? cell : Number(cell);
  }
  for (const price of (cells[COLUMNS.length] ?? '').split(',')) {
    const [code = '', value] = price.split('=');
    const name = PRICE_CODES.get(code) ?? TOOL_CODES.get(code);
    if (name !== undefined && value !== undefined) facts[name] = Number(value);
    else if (code === PER_QUERY_CODE) facts['web_search_billing_unit'] = 'per_query';
  }
  const flags = Number.parseInt(bits === '' ? '0' : bits, 16);
  for (const [at, flag] of FLAGS.entries()) if ((flags & (1 << at)) !== 0) facts[flag] = true;
  return facts;
}
