// A result that serves anybody is never made without a word.
import t from 'tap';
import { parse as parseYaml } from 'yaml';
import { importLitellm, type Imported } from '../../../config/import/litellm.ts';

function imported(text: string): Imported {
  const result = importLitellm('x.yaml', text, () => ({ ok: false, message: 'does not exist' }));
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.imported;
}

const MODELS = 'model_list: [{model_name: a, litellm_params: {model: gpt-4o, api_key: os.environ/K}}]';

t.test('values of the chart that state no master key get the one that the chart sets', async (t) => {
  for (const [values, line] of [
    [`proxy_config:\n  ${MODELS}\n`, 2],
    [`litellm-helm:\n  proxy_config:\n    ${MODELS}\n`, 3],
    [`proxy_config:\n  ${MODELS}\n  general_settings: {master_key: null}\n`, 3],
    [`proxy_config:\n  ${MODELS}\n  general_settings:\n    store_model_in_db: false\n`, 4],
  ] as const) {
    const result = imported(values);
    t.match(parseYaml(result.text), { general_settings: { master_key: 'os.environ/PROXY_MASTER_KEY' } });
    t.match(result, { addedKey: 'os.environ/PROXY_MASTER_KEY', isOpen: false, unresolved: [] });
    t.strictSame(result.variables, ['K', 'PROXY_MASTER_KEY']);
    const found = result.findings.filter(({ path }) => path.endsWith('general_settings.master_key'));
    t.match(found.at(-1), { level: 'exact', line, message: /PROXY_MASTER_KEY: LiteLLM's chart sets it/ });
  }
});

t.test('a key that the values state stays', async (t) => {
  for (const settings of [
    'general_settings: {master_key: os.environ/OURS}',
    'environment_variables: {PROXY_MASTER_KEY: os.environ/OURS}',
  ]) {
    const result = imported(`proxy_config:\n  ${MODELS}\n  ${settings}\n`);
    t.match(result, { addedKey: null, isOpen: false, variables: ['K', 'OURS'] });
  }
});

t.test('a file that names no key gives a result that is known to be open', async (t) => {
  for (const [settings, isOpen] of [
    ['', true],
    ['general_settings: {master_key: null}', true],
    ['general_settings: {master_key: ""}', true],
    ['environment_variables: {OTHER: x}', true],
    ['general_settings: {master_key: os.environ/M}', false],
    ['general_settings: {master_key_file: /run/secrets/m}', false],
    ['environment_variables: {LITELLM_MASTER_KEY: os.environ/M}', false],
    ['general_settings: {custom_auth: a.b}', false],
  ] as const)
    t.equal(imported(`${MODELS}\n${settings}\n`).isOpen, isOpen, settings);
});
