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

function load(params: string, info = '', more = ''): Loaded {
  const path = join(t.testdir({}), 'gateway.yaml');
  writeFileSync(
    path,
    `model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/m, api_base: "http://127.0.0.1:1"${params} }
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
