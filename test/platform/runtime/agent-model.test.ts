// How a model is spelled for an agent: each name of the model list reaches this proxy under its own name, nothing reaches
// a provider.
import t from 'tap';
import { agentModel } from '../../../platform/runtime/agent-model.ts';
import { KEY, send } from '../../support/rig.ts';
import { SECRET_KEY, specs } from '../fixture/rig.ts';
import { sentByLiteLlm, startInRuntime, startWithRuntimes, type HandedLlm } from '../fixture/agent.ts';

t.test('the spelling follows what is served, the most exact name first', (t) => {
  const listed = new Set([
    'demo',
    'claude-sonnet-4-5',
    'litellm_proxy/odd',
    'responses/odd',
    'azure/team',
    'both',
  ]);
  const patterns = [/^openai\//, /^anthropic\//, /^free-/];
  const models = {
    find: (name: string) => {
      if (listed.has(name)) return 'listed';
      return patterns.some((one) => one.test(name)) ? 'pattern' : null;
    },
  } as const;
  const cases: readonly (readonly [name: string, model: string | null])[] = [
    ['demo', 'litellm_proxy/demo'],
    ['claude-sonnet-4-5', 'litellm_proxy/claude-sonnet-4-5'],
    ['azure/team', 'litellm_proxy/azure/team'],
    ['free-text', 'litellm_proxy/free-text'],
    ['openai/gpt-4o', 'litellm_proxy/openai/gpt-4o'],
    ['anthropic/claude-opus-4-8', 'litellm_proxy/anthropic/claude-opus-4-8'],
    // Spelled for the agent already.
    ['litellm_proxy/demo', 'litellm_proxy/demo'],
    ['openhands/demo', 'litellm_proxy/demo'],
    ['openai/demo', 'openai/demo'],
    ['litellm_proxy/openai/gpt-4o', 'litellm_proxy/openai/gpt-4o'],
    ['openai/free-text', 'litellm_proxy/openai/free-text'],
    // LiteLLM takes these apart in its own way.
    ['litellm_proxy/odd', 'openai/litellm_proxy/odd'],
    ['litellm_proxy/litellm_proxy/odd', 'openai/litellm_proxy/odd'],
    ['responses/odd', null],
    ['litellm_proxy/responses/odd', null],
    ['openai/responses/odd', null],
    // Not served.
    ['gpt-4o', null],
    ['claude-opus-4-8', null],
    ['litellm_proxy/gpt-4o', null],
    ['azure/demo', null],
    ['bedrock/claude-sonnet-4-5', null],
    ['DEMO', null],
    [' demo', null],
    ['demo/', null],
    ['/demo', null],
    ['OpenAI/demo', null],
    ['', null],
    ['litellm_proxy/', null],
    // Covered by a pattern, and no name of a model.
    ['openai/', null],
    ['litellm_proxy/openai/', null],
    ['openai/gpt\0', null],
    ['openai/gpt\n', null],
  ];
  for (const [name, model] of cases) t.equal(agentModel(name, models)?.model ?? null, model, name);
  t.equal(agentModel('demo', models)?.hasV1, false);
  t.equal(agentModel('openai/demo', models)?.hasV1, true);
  t.end();
});

t.test('each name of GET /v1/models reaches the proxy under that name, chat and responses', async (t) => {
  const rig = await startWithRuntimes(t);
  const entry = (name: string, model: string): string => `
  - { model_name: "${name}", litellm_params: { model: "${model}", api_base: "${rig.demo.url}${model.startsWith('openai/') ? '/compat/v1' : ''}" } }`;
  await rig.reconfigure(`
model_list:${[
    entry('demo', 'litellm_proxy/demo'),
    entry('claude-sonnet-4-5', 'litellm_proxy/demo'),
    entry('gpt-5.5', 'litellm_proxy/demo'),
    entry('team a/claude', 'litellm_proxy/demo'),
    entry('openai/gpt-4o', 'openai/acme/demo'),
    entry('bedrock/anthropic.claude', 'openai/acme/demo'),
    entry('litellm_proxy/odd', 'litellm_proxy/demo'),
    entry('anthropic/*', 'litellm_proxy/demo'),
    entry('openai/*', 'openai/acme/demo'),
  ].join('')}
router_settings: { model_group_alias: { short: demo } }
general_settings: { master_key: ${KEY} }
platform:
  session_api_key: session-key-of-the-tests
  secret_key: "${SECRET_KEY}"
${specs('      conversations_path: /api/conversations\n', 'none')}`);
  const first = await startInRuntime(rig, { llm_model: 'demo' });
  const key = first.runtime;
  const [seen] = (await key.ask('/conversations')) as [{ agent_settings: { llm: HandedLlm } }];
  const asked = { authorization: `Bearer ${seen.agent_settings.llm.api_key}` };
  const list = await send(rig.url, 'GET', '/v1/models', undefined, asked);
  const names = (JSON.parse(list.text) as { data: { id: string }[] }).data.map(({ id }) => id);
  t.ok(names.includes('short') && names.includes('anthropic/*'), 'aliases and patterns are among them');
  const chosen = [
    ...names.filter((name) => !name.includes('*')),
    'anthropic/claude-opus-4-8',
    'openai/gpt-4.1',
    'openai/demo',
    'litellm_proxy/demo',
  ];
  for (const name of chosen) {
    await startInRuntime(rig, { llm_model: name, sandbox_id: key.sandboxId });
    const all = (await key.ask('/conversations')) as { agent_settings: { llm: HandedLlm } }[];
    const llm = all.at(-1)?.agent_settings.llm as HandedLlm;
    const { model, base } = sentByLiteLlm(llm);
    t.equal(
      model,
      name.replace(/^(litellm_proxy|openai)\/demo$/, 'demo'),
      `${name}: the name arrives as it was chosen`,
    );
    const { origin, pathname } = new URL(base);
    const headers = { authorization: `Bearer ${llm.api_key}` };
    const chat = { model, messages: [{ role: 'user', content: 'x' }] };
    const said = await send(origin, 'POST', `${pathname}/chat/completions`, chat, headers);
    t.equal(said.status, 200, `${name}: chat`);
    const responses = await send(origin, 'POST', `${pathname}/responses`, { model, input: 'x' }, headers);
    t.equal(responses.status, 200, `${name}: responses`);
    if (llm.model.startsWith('litellm_proxy/')) {
      const info = await send(origin, 'GET', `${pathname}/v1/model/info`, undefined, headers);
      t.equal(info.status, 200, `${name}: the agent finds its facts`);
    }
  }
  for (const name of names.filter((one) => one.includes('*'))) {
    const refused = await rig.api('POST', '/api/v1/app-conversations', { llm_model: name });
    t.equal(refused.status, 400, name);
    t.match(refused.json, { detail: /is a pattern of the model list/ });
  }
});
