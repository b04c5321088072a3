// The `llm` that a runtime gets: the profile, but for what leads past this proxy.
import t from 'tap';
import { send } from '../../support/rig.ts';
import { startInRuntime, startWithRuntimes, type HandedLlm } from '../fixture/agent.ts';

const OWN_ACCOUNT = {
  api_key: 'sk-own-account',
  base_url: 'https://provider.example.com/v1',
  api_version: '2024-06-01',
  ollama_base_url: 'http://ollama.example.com',
  aws_access_key_id: 'AKIA-own',
  aws_secret_access_key: 'aws-own-secret',
  aws_session_token: 'aws-own-token',
  aws_region_name: 'eu-west-1',
  aws_profile_name: 'own',
  extra_headers: { 'X-Project': 'p42' },
};

t.test('a profile is handed over without what leads past this proxy', async (t) => {
  const rig = await startWithRuntimes(t);
  const kept = { temperature: 0.5, num_retries: 3, reasoning_effort: 'low' };
  const saved = await rig.api('POST', '/api/v1/settings/profiles/own', {
    llm: { model: 'demo', ...kept, ...OWN_ACCOUNT },
  });
  t.equal(saved.status, 201, saved.text);
  const { id, runtime } = await startInRuntime(rig, { llm_profile: 'own' });
  const [seen] = (await runtime.ask('/conversations')) as [{ agent_settings: { llm: HandedLlm } }];
  const { llm } = seen.agent_settings;
  t.match(llm, { model: 'litellm_proxy/demo', ...kept, base_url: `${rig.url}/c/${id}` });
  t.match(llm.api_key, /^sk-conv-/);
  const own = Object.keys(OWN_ACCOUNT).filter((name) => name !== 'api_key' && name !== 'base_url');
  t.same(
    own.filter((name) => Object.hasOwn(llm, name)),
    [],
  );
  t.notMatch(JSON.stringify(seen), /own-account|aws-own|provider\.example/);
});

t.test('the call by which an agent server checks a profile is answered, chat and responses', async (t) => {
  const rig = await startWithRuntimes(t);
  const { runtime } = await startInRuntime(rig, { llm_model: 'demo' });
  const [seen] = (await runtime.ask('/conversations')) as [{ agent_settings: { llm: HandedLlm } }];
  const { base_url: base, api_key: key } = seen.agent_settings.llm;
  const { origin, pathname } = new URL(base);
  const authorization = { authorization: `Bearer ${key}` };
  const probe = { model: 'demo', messages: [{ role: 'user', content: 'ping' }], max_tokens: 1 };
  const input = { model: 'demo', input: 'ping', max_output_tokens: 16 };
  for (const version of ['', '/v1']) {
    const at = `${pathname}${version}`;
    t.equal((await send(origin, 'POST', `${at}/chat/completions`, probe, authorization)).status, 200);
    t.equal((await send(origin, 'POST', `${at}/responses`, input, authorization)).status, 200);
    const info = await send(origin, 'GET', `${at}/v1/model/info`, undefined, authorization);
    t.match(JSON.parse(info.text), { data: [{ model_name: 'demo', litellm_params: {}, model_info: {} }] });
  }
});
