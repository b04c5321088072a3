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
