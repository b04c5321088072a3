// The lines that are named after the issues of a file, where these make warnings of some of them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { waiverNote } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';

const path = join(t.testdir(), 'gateway.yaml');

function noteOn(text: string): string {
  writeFileSync(path, text);
  const loaded = loadConfig(path, {});
  return loaded.ok ? 'loads' : waiverNote(loaded.issues);
}

const list = (params: string): string =>
  `model_list:\n  - model_name: a\n    litellm_params: { ${params} }\n`;
const GOOD = list('model: openai/a, api_base: "https://gateway.example.com/v1"');
const note = (which: string, ...lines: string[]): string =>
  `note: where this is a file of LiteLLM, these lines in it make warnings of ${which}:\ngeneral_settings:\n${lines.map((line) => `  ${line}\n`).join('')}`;

t.test('each line is named where it helps', async (t) => {
  t.equal(noteOn(`${GOOD}litellm_settings: { sundry_thing: 1 }\n`), note('this error', 'unknown_keys: warn'));
  t.equal(
    noteOn(list('model: openai/a, api_base: "https://gateway.example.com"')),
    note('this error', 'unknown_keys: warn'),
  );
  for (const params of [
    'model: sundry/a',
    'model: openai/a',
    'model: azure/, api_base: "https://r.openai.azure.com", api_key: k',
  ])
    t.equal(noteOn(list(params)), note('this error', 'skip_unsupported_models: true'), params);
  t.equal(
    noteOn(`${list('model: sundry/a')}sundry_thing: 1\nguardrails: [{ guardrail_name: g }]\n`),
    note('2 of these errors', 'unknown_keys: warn', 'skip_unsupported_models: true'),
  );
});

t.test('what they name does help', async (t) => {
  const lenient = 'general_settings: { unknown_keys: warn, skip_unsupported_models: true }\n';
  for (const params of [
    'model: sundry/a',
    'model: azure/',
    'model: openai/a, api_base: "https://gateway.example.com"',
  ])
    t.equal(noteOn(`${list(params)}sundry_thing: 1\n${lenient}`), 'loads', params);
});

t.test('nothing is named where nothing helps', async (t) => {
  t.equal(noteOn(`${GOOD}general_setings: {}\n`), '', 'misspelt');
  t.equal(noteOn(`${GOOD}general_settings: { require_mfa: true }\n`), '', 'protects');
  t.equal(noteOn(`${GOOD}brake: { sundry_thing: 1 }\n`), '', 'a section of ours');
  t.equal(noteOn(`${GOOD}general_settings: { master_key: [] }\n`), '', 'a wrong value');
  t.equal(noteOn('kind: ConfigMap\napiVersion: v1\n'), '', 'another file');
});
