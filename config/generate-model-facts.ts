// Makes config/model-facts.json out of LiteLLM's table of models, as its package on PyPI carries it:
//   pip download litellm==1.110.2 --no-deps && unzip litellm-*.whl
//   node config/generate-model-facts.ts . 1.110.2
// Runs in development only; nothing imports it. Kept: what agents choose a model by, and prices per token.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { COLUMNS, FLAGS, PER_QUERY_CODE, PRICE_CODES, TOOL_CODES } from './model-facts.ts';

const [folder = '.', version = ''] = parseArgs({ allowPositionals: true }).positionals;
const TABLE = 'litellm/model_prices_and_context_window_backup.json';
/** Other modes are priced and called in ways that no gateway's chat API has. */
const MODES = new Set(
  'chat responses completion embedding rerank moderation audio_transcription audio_speech image_generation realtime'.split(
    ' ',
  ),
);
/** Whose entries also count for the bare name, where no entry has it: makers of models, not resellers. */
const MAKERS = new Set(
  'openai anthropic gemini mistral deepseek xai cohere cohere_chat moonshot zai minimax perplexity voyage dashscope'.split(
    ' ',
  ),
);

/** Not what a maker resells: `perplexity/openai/gpt-5` says nothing of `openai/gpt-5`. */
const OF_MAKER = /^[^/]+\/[^/]+$/;

const REASONING = 'output_cost_per_reasoning_token';

type Entry = Readonly<Record<string, unknown>>;

const table = JSON.parse(readFileSync(join(folder, TABLE), 'utf8')) as Readonly<Record<string, Entry>>;
const licence = readFileSync(join(folder, `litellm-${version}.dist-info/licenses/LICENSE`), 'utf8');

/** Lines by name: all entries, and those of makers by their bare names too. */
function linesOf(entries: readonly (readonly [name: string, entry: Entry])[]): ReadonlyMap<string, string> {
  const bare = entries
    .filter(([name, entry]) => MAKERS.has(String(entry['litellm_provider'])) && OF_MAKER.test(name))
    .map(([name, entry]) => [name.slice(name.indexOf('/') + 1), entry] as const);
  const lines = new Map<string, string>();
  for (const [name, entry] of [...entries, ...bare])
    if (!/[|\n]/.test(name) && !lines.has(name)) lines.set(name, lineOf(name, entry));
  return lines;
}

function lineOf(name: string, entry: Entry): string {
  const cells = COLUMNS.map((column) => cellOf(column === 'max_tokens' ? maxTokensOf(entry) : entry[column]));
  const flags = FLAGS.reduce((bits, flag, at) => (entry[flag] === true ? bits | (1 << at) : bits), 0);
  return [name, flags === 0 ? '' : flags.toString(16), ...cells, pricesOf(entry)]
    .join('|')
    .replace(/\|+$/, '');
}

/** The table says it of some models only; clients of older ones read it: what a model writes at most, or reads if it writes nothing. */
function maxTokensOf(entry: Entry): unknown {
  const isRead = entry['mode'] === 'embedding' || entry['mode'] === 'rerank';
  return (
    entry['max_tokens'] ?? entry['max_output_tokens'] ?? (isRead ? entry['max_input_tokens'] : undefined)
  );
}

/** Prices that are no columns. One of reasoning that says no more than the one of output would stand beside its tiers. */
function pricesOf(entry: Entry): string {
  const stated = [...PRICE_CODES].filter(([, name]) => {
    if (COLUMNS.some((column) => column === name)) return false;
    if (name === REASONING && entry[name] === entry['output_cost_per_token']) return false;
    return cellOf(entry[name]) !== '';
  });
  return [...stated.map(([code, name]) => `${code}=${cellOf(entry[name])}`), ...toolPricesOf(entry)].join(
    ',',
  );
}

/** Answers do not say which size of context was read: the middle one counts. */
function toolPricesOf(entry: Entry): string[] {
  const bySize = entry['search_context_cost_per_query'] as Entry | undefined;
  const flat: Entry = { ...entry, search_context_cost_per_query: bySize?.['search_context_size_medium'] };
  const stated = [...TOOL_CODES].flatMap(([code, name]) =>
    cellOf(flat[name]) === '' ? [] : [`${code}=${cellOf(flat[name])}`],
  );
  return entry['web_search_billing_unit'] === 'per_query' ? [...stated, PER_QUERY_CODE] : stated;
}

function cellOf(value: unknown): string {
  const plain = typeof value === 'number' ? Number.isFinite(value) && value >= 0 : typeof value === 'string';
  return plain && !/[|\n]/.test(String(value)) ? String(value) : '';
}

/** Kinds of tokens that Anthropic's messages have. */
const FAST_KINDS = ['i', 'o', 'r', 'w', 'h'];
const DIGITS = 12;

/** The table states Anthropic's fast mode as a factor of every price of tokens. */
function withFastMode(entry: Entry): Entry {
  const { fast } = (entry['provider_specific_entry'] ?? {}) as Entry;
  if (typeof fast !== 'number') return entry;
  const prices = FAST_KINDS.flatMap((code) => {
    const price = entry[PRICE_CODES.get(code) ?? ''];
    const name = PRICE_CODES.get(`${code}x`) ?? '';
    return typeof price === 'number' ? [[name, Number((price * fast).toPrecision(DIGITS))]] : [];
  });
  return { ...entry, ...Object.fromEntries(prices) };
}

const lines = linesOf(
  Object.entries(table)
    .filter(([, entry]) => MODES.has(String(entry['mode'])))
    .map(([name, entry]) => [name, withFastMode(entry)]),
);
const output = {
  source: `${TABLE} of the package litellm ${version} on PyPI`,
  licence,
  models: [...lines.values()].toSorted(),
};
writeFileSync(
  fileURLToPath(new URL('model-facts.json', import.meta.url)),
  `${JSON.stringify(output, null, 1)}\n`,
);
