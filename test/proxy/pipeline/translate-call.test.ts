// A translated call, as it goes upstream.
import t from 'tap';
import { KEY, lastSeen, send, startRig } from '../../support/rig.ts';

t.test('a wildcard of a vendor: an answer may be as long as that vendor lets the model write', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: "*"
    litellm_params: { model: "gemini/*", api_base: "${demo.url}", api_key: sk-up, supported_endpoints: [messages] }
general_settings: { master_key: ${KEY} }`,
  });
  const model = 'gemini-2.5-pro'; // at another vendor it writes a token less
  const messages = [{ role: 'user', content: 'one' }];
  await send(rig.url, 'POST', '/v1/chat/completions', { model, messages });
  t.match(JSON.parse(lastSeen(rig).body.toString()), { model, max_tokens: 65_536 });
});

t.test('a file that Google stores goes to a model that `base_model` calls a Gemini', async (t) => {
  const entry = (name: string, info: string, url: string): string =>
    `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/fast, api_base: "${url}", supported_endpoints: [chat/completions] }${info} }\n`;
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
${entry('stated', ', model_info: { base_model: gemini-2.5-flash }', demo.url)}${entry('unstated', '', demo.url)}
general_settings: { master_key: ${KEY} }`,
  });
  const url = 'gs://bucket/a.png';
  const content = [{ type: 'image', source: { type: 'url', url } }];
  const ask = (model: string): ReturnType<typeof send> =>
    send(rig.url, 'POST', '/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content }] });
  t.equal((await ask('stated')).status, 200);
  t.match(lastSeen(rig).body.toString(), url);
  t.equal((await ask('unstated')).status, 400, 'the name alone tells nothing');
});
