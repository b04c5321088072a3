// Makes config/model-facts.json out of LiteLLM's table of models, as its package on PyPI carries it:
//   pip download litellm==1.106.2 --no-deps && unzip litellm-*.whl
//   node config/generate-model-facts.ts . 1.106.2
// Runs in development only; nothing imports it. Kept: what agents choose a model by, and prices per token.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COLUMNS, FLAGS } from './model-facts.ts';

const [, , folder = '.', version = ''] = process.argv;
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

type Entry = Readonly<Record<string, unknown>>;

const table = JSON.parse(readFileSync(join(folder, TABLE), 'utf8')) as Readonly<Record<string, Entry>>;
const licence = readFileSync(join(folder, `litellm-${version}.dist-info/licenses/LICENSE`), 'utf8');

const lines = new Map<string, string>();
const entries = Object.entries(table).filter(([, entry]) => MODES.has(String(entry['mode'])));
for (const [name, entry] of entries) put(name, entry);
for (const [name, entry] of entries)
  if (MAKERS.has(String(entry['litellm_provider'])) && name.includes('/'))
    put(name.slice(name.indexOf('/') + 1), entry);

function put(name: string, entry: Entry): void {
  if (/[|\n]/.test(name) || lines.has(name)) return;
  const cells = COLUMNS.map((column) => cellOf(entry[column]));
  const flags = FLAGS.reduce((bits, flag, at) => (entry[flag] === true ? bits | (1 << at) : bits), 0);
  lines.set(name, [name, flags === 0 ? '' : flags.toString(16), ...cells].join('|').replace(/\|+$/, ''));
}

function cellOf(value: unknown): string {
  const plain = typeof value === 'number' ? Number.isFinite(value) && value >= 0 : typeof value === 'string';
  return plain && !/[|\n]/.test(String(value)) ? String(value) : '';
}

const output = {
  source: `litellm ${version} (pypi.org/project/litellm), ${TABLE}`,
  licence,
  models: [...lines.values()].toSorted(),
};
writeFileSync(
  fileURLToPath(new URL('model-facts.json', import.meta.url)),
  `${JSON.stringify(output, null, 1)}\n`,
);
