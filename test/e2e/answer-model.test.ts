// `answer_model: asked`: an answer that is passed on states the name that its caller asked for, as the official SDKs read it. Without
// it, it stays as it came.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import t from 'tap';
import { KEY, send, startRig, type Row } from '../support/rig.ts';

/** The names of entries differ from those of the demo gateway, which states what it is asked for. */
const config = (demo: { readonly url: string }, general: string): string => `
model_list:
  - { model_name: claude, litellm_params: { model: anthropic/demo, api_base: "${demo.url}", api_key: k } }
  - { model_name: gpt, litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k } }
  - { model_name: gem, litellm_params: { model: gemini/demo, api_base: "${demo.url}", api_key: k } }
  - { model_name: own, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: k, answer_model: upstream } }
  - { model_name: other, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: k, answer_model: asked } }
  - { model_name: demo, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: k } }
router_settings: { model_group_alias: { nickname: claude } }
general_settings: { master_key: ${KEY}${general} }
`;
const asked = await startRig(t, { config: (demo) => config(demo, ', answer_model: asked') });
const plain = await startRig(t, { config: (demo) => config(demo, '') });

const anthropicOf = ({ url }: { readonly url: string }): Anthropic =>
  new Anthropic({ baseURL: url, apiKey: KEY, authToken: null, maxRetries: 0 });
const openaiOf = ({ url }: { readonly url: string }): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'one two three' }];

t.test(
  'messages, whole and streamed: the name that the client asked for, and the row has the other',
  async (t) => {
    const client = anthropicOf(asked);
    for (const model of ['claude', 'nickname', 'other', 'demo']) {
      const whole = await client.messages.create({ model, max_tokens: 99, messages });
      t.equal(whole.model, model);
      t.match(whole.usage, { output_tokens: 9 });
      const headers = { 'x-litellm-session-id': `s-${model}` };
      const streamed = client.messages.stream({ model, max_tokens: 99, messages }, { headers });
      t.equal((await streamed.finalMessage()).model, model);
      const rows = JSON.parse(
        (await send(asked.url, 'GET', `/spend/logs?session_id=s-${model}`)).text,
      ) as Row[];
      t.match(rows, [
        {
          model: 'demo',
          end_reason: 'complete',
          completion_tokens: 9,
        },
      ]);
    }
    t.equal(
      (await client.messages.create({ model: 'own', max_tokens: 99, messages })).model,
      'demo',
      'the entry wins',
    );
  },
);

t.test('chat completions, responses, embeddings: likewise', async (t) => {
  const client = openaiOf(asked);
  const model = 'gpt';
  t.equal((await client.chat.completions.create({ model, messages })).model, model);
  const models = new Set<string>();
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
    models.add(chunk.model);
  t.same([...models], [model]);
  t.equal((await client.responses.create({ model: 'other', input: 'one' })).model, 'other');
  const stated: string[] = [];
  for await (const event of await client.responses.create({ model: 'other', input: 'one', stream: true }))
    if ('response' in event) stated.push(event.response.model);
  t.ok(stated.length > 1);
  t.same([...new Set(stated)], ['other']);
  t.equal((await client.embeddings.create({ model, input: 'one' })).model, model);
});

t.test('Gemini: each event, also where the client wants an array', async (t) => {
  const body = { contents: [{ role: 'user', parts: [{ text: 'one two three' }] }] };
  const ask = async (call: string): Promise<string[]> => {
    const { text } = await send(asked.url, 'POST', `/v1beta/models/gem:${call}`, body);
    return [...text.matchAll(/"modelVersion": ?"(.*?)"/g)].map(([, name = '']) => name);
  };
  t.same(await ask('generateContent'), ['gem']);
  for (const call of ['streamGenerateContent?alt=sse', 'streamGenerateContent']) {
    const found = await ask(call);
    t.ok(found.length > 1, call);
    t.same([...new Set(found)], ['gem'], call);
  }
});

t.test('without the setting, or where the names agree, the name is the one of the gateway', async (t) => {
  for (const stream of [false, true]) {
    const body = { model: 'other', max_tokens: 99, messages, stream };
    const { text } = await send(plain.url, 'POST', '/v1/messages', body);
    t.match(text, '"model":"other"', 'an entry may ask for it alone');
    for (const [rig, model] of [
      [plain, 'claude'],
      [plain, 'demo'],
      [asked, 'demo'],
    ] as const) {
      const got = await send(rig.url, 'POST', '/v1/messages', { model, max_tokens: 99, messages, stream });
      t.match(got.text, '"model":"demo"', model);
      t.equal(got.text.includes('"model":"claude"'), false);
      if (!stream) t.equal(got.headers['content-length'], String(Buffer.byteLength(got.text)));
    }
  }
});
