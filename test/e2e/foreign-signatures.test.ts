// A conversation that one server translated goes on at another one, in its own protocol: the signatures of thoughts that it holds
// were made by another vendor, and the upstream would refuse the call for them.
import t from 'tap';
import { startUpstream, type ReceivedCall } from '../support/call.ts';
import { KEY, lastSeen, send, startRig } from '../support/rig.ts';

type Json = Readonly<Record<string, unknown>>;

/** Gemini, as it answers with a thought that it signed. */
function thinks({ res }: ReceivedCall): void {
  const parts = [{ text: 'hm', thought: true, thoughtSignature: 'c2ln' }, { text: 'two' }];
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  res.setHeader('content-type', 'application/json');
  res.end(
    JSON.stringify({
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata,
    }),
  );
}

const gemini = await startUpstream(t, thinks);
const settings = `general_settings: { master_key: ${KEY} }`;
const translating = await startRig(t, {
  config: () => `
model_list:
  - model_name: talk
    litellm_params: { model: litellm_proxy/g, api_base: "${gemini}", supported_endpoints: [gemini] }
${settings}`,
});
const native = await startRig(t, {
  config: (demo) => `
model_list:
  - { model_name: talk, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" } }
${settings}`,
});

t.test('a server that has just started leaves out signatures that another one has translated', async (t) => {
  const ask = (url: string, messages: readonly Json[]): ReturnType<typeof send> =>
    send(url, 'POST', '/v1/messages', { model: 'talk', max_tokens: 100, messages });
  const question = { role: 'user', content: 'one' };
  const answer = await ask(translating.url, [question]);
  const { content } = JSON.parse(answer.text) as { content: readonly Json[] };
  t.match(JSON.stringify(content), /"throughline\.gemini\./, 'it holds a foreign signature');
  const more = [question, { role: 'assistant', content }, { role: 'user', content: 'three' }];
  t.equal((await ask(native.url, more)).status, 200);
  const sent = JSON.parse(lastSeen(native).body.toString()) as { messages: readonly Json[] };
  t.same(sent.messages[1], { role: 'assistant', content: [{ type: 'text', text: 'two' }] });
});

t.test(
  'texts that only look like signatures change no byte of a call, and are no reason to refuse it',
  async (t) => {
    const passes = async (content: string): Promise<void> => {
      const body = `{ "model": "demo", "temperature": 1.0, "messages": [ { "role": "user", "content": ${content} } ] }`;
      const answer = await fetch(`${native.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: body.replace('"demo"', '"talk"'),
      });
      t.equal(answer.status, 200, await answer.text());
      t.equal(String(lastSeen(native).body), body);
    };
    await passes('"throughline.yaml"');
    await passes('"throughline.gemini. is how they begin"');
    const parts = '{ "type": "text", "text": "one" }, '.repeat(40_000);
    await passes(`[ ${parts}{ "type": "text", "text": "throughline.gemini." } ]`);
  },
);
