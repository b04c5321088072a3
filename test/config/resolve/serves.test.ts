// Which APIs the gateway of an entry speaks, as the entry says it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadConfig } from '../../../config/load.ts';

interface Loaded {
  readonly serves: readonly string[] | null;
  readonly dropParams: boolean;
  readonly warnings: readonly string[];
}

function load(params: string, info = '', more = '', model = 'litellm_proxy/m'): Loaded {
  const path = join(t.testdir({}), 'gateway.yaml');
  writeFileSync(
    path,
    `model_list:
  - model_name: m
    litellm_params: { model: "${model}", api_base: "http://127.0.0.1:1${model.startsWith('openai') ? '/v1' : ''}", api_key: k${params} }
    model_info: { id: m${info} }
${more}`,
  );
  const loaded = loadConfig(path, {});
  if (!loaded.ok) throw new Error(loaded.issues.map(({ message }) => message).join());
  const { deployments, warnings } = loaded.snapshot;
  const [one] = deployments;
  return {
    serves: one?.serves instanceof Set ? [...one.serves] : null,
    dropParams: one?.dropParams === true,
    warnings: warnings.map(({ path: at, message, fix }) => `${at}: ${message} - ${fix}`),
  };
}

t.test('endpoints are read in every spelling; the entry wins over its model_info', async (t) => {
  const spelled = ', supported_endpoints: [/v1/chat/completions, "Messages/", "v1/responses"]';
  t.match(load(spelled), { serves: ['chat', 'messages', 'responses'], warnings: [] });
  t.match(load('', ', supported_endpoints: ["/v1beta/models/{model}:generateContent"]').serves, ['gemini']);
  t.match(load(', supported_endpoints: [chat]', ', supported_endpoints: [messages]').serves, ['chat']);
  t.equal(load('').serves, null, 'nothing is stated');
  t.equal(load('', ', supported_endpoints: [/v1/embeddings, /v1/batch]').serves, null, 'nor is it here');
  const { serves, warnings } = load(', supported_endpoints: [/v1/mesages, chat]');
  t.same(serves, ['mesages', 'chat']);
  t.match(warnings, [/supported_endpoints.*no endpoint known here - did you mean messages\?/]);
});

t.test('what cannot be carried is dropped unless the entry, the defaults or all say otherwise', async (t) => {
  t.equal(load('').dropParams, true);
  t.equal(load(', drop_params: false').dropParams, false);
  t.equal(load('', '', 'litellm_settings: { drop_params: false }').dropParams, false);
  t.equal(load(', drop_params: true', '', 'litellm_settings: { drop_params: false }').dropParams, true);
  const defaults = 'router_settings: { default_litellm_params: { drop_params: false } }';
  t.equal(load('', '', defaults).dropParams, false);
});

t.test(
  'a model of the mode responses is asked for in that API alone, unless the entry says more',
  async (t) => {
    const serves = (model: string, info = '', params = ''): readonly string[] | null =>
      load(params, info, '', model).serves;
    const ofAzure = ['responses', 'completions', 'embeddings', 'images', 'audio'];
    t.same(serves('openai/responses/gpt-5'), ['responses']);
    t.same(serves('azure/responses/gpt-5'), ofAzure);
    t.same(serves('openai/mine', ', mode: responses'), ['responses']);
    t.same(serves('hosted_vllm/mine', ', mode: responses'), ['responses']);
    t.same(serves('openai/gpt-5.1-codex'), ['responses'], 'the catalogue knows');
    t.same(serves('openai/openai/gpt-5.1-codex'), ['responses']);
    t.same(serves('azure/gpt-5.1-codex'), ofAzure);
    t.same(serves('azure/mine', ', base_model: azure/gpt-5.1-codex'), ofAzure);
    t.same(serves('openai/gpt-5.1-codex', ', mode: chat'), ['responses'], 'it has no other API');
    t.same(serves('openai/gpt-5.1-codex', '', ', supported_endpoints: [chat]'), ['chat']);
    t.same(serves('openai/responses/gpt-5', '', ', supported_endpoints: [chat, responses]'), [
      'chat',
      'responses',
    ]);
    t.equal(serves('openai/gpt-5'), null);
    t.equal(serves('openai/mine', ', mode: chat'), null);
  },
);

t.test('others are asked as before', async (t) => {
  const serves = (model: string, info = ''): readonly string[] | null => load('', info, '', model).serves;
  t.equal(serves('litellm_proxy/gpt-5.1-codex', ', mode: responses'), null, 'it translates by itself');
  t.equal(serves('openai/azure/gpt-5.1-codex'), null, "the gateway's own name for it");
  t.equal(serves('openai/perplexity/openai/gpt-5'), null);
  t.equal(serves('openai/grok-4.20-multi-agent'), null);
  t.same(serves('deepseek/mine', ', mode: responses'), ['chat', 'completions'], 'there is no such API');
  t.match(
    serves('openrouter/openai/gpt-5.1-codex'),
    ['chat'],
    'of another vendor the catalogue says nothing',
  );
});
