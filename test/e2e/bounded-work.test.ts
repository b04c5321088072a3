// What one request may cost: bodies that would hold the event loop are refused with the number that they are above, or
// scanned in slices, and then they arrive as they are.
import t, { type Test } from 'tap';
import { chat, defaultConfig, lastSeen, send, startRig, type Answer } from '../support/rig.ts';

const rig = await startRig(t, {
  config: (demo) =>
    defaultConfig(demo).replace(
      'general_settings:',
      `  - { model_name: translated, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", supported_endpoints: [chat] } }
  - { model_name: as-messages, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", supported_endpoints: [messages] } }
general_settings:`,
    ),
});
const MIB = 1_048_576;

const post = (body: string, path = 'chat/completions'): Promise<Answer> =>
  send(rig.url, 'POST', `/v1/${path}`, Buffer.from(body), { 'content-type': 'application/json' });

async function refused(
  t: Test,
  title: string,
  body: string,
  param: string | null,
  path?: string,
): Promise<void> {
  const before = rig.demo.seen.length;
  const answer = await post(body, path);
  t.equal(answer.status, 400, `${title}: ${answer.text.slice(0, 200)}`);
  t.match(JSON.parse(answer.text), { error: { code: 'body_too_complex', param } }, title);
  t.match(answer.text, /\d{3}/, `${title}: the number is said`);
  t.equal(rig.demo.seen.length, before, `${title}: nothing was sent`);
}

const many = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":1`).join(',');

t.test('what would hold the event loop is refused', async (t) => {
  await refused(t, 'a million members', `{"model":"demo",${many(1_000_000)}}`, null);
  await refused(t, 'a million in metadata', `{"model":"demo","metadata":{${many(1_000_000)}}}`, 'metadata');
  await refused(t, 'a million tags', `{"model":"demo","tags":[${'"a",'.repeat(1_000_000)}"a"]}`, 'tags');
  await refused(t, 'a metadata of text', `{"model":"demo","metadata":"${'x'.repeat(MIB)}"}`, 'metadata');
  await refused(t, 'a long user', `{"model":"demo","user":"${'\\n'.repeat(MIB)}"}`, 'user');
  await refused(
    t,
    'many small ones',
    `{"model":"demo","user":"${'x'.repeat(200_000)}","tags":["${'x'.repeat(90_000)}"]}`,
    'tags',
  );
  await refused(
    t,
    'a million to steer with',
    `{"model":"demo","extra_body":{${many(1_000_000)}}}`,
    'extra_body',
  );
  await refused(t, 'a long name', `{"model":"demo","${'n'.repeat(MIB)}":1}`, null);
  await refused(t, 'a long number', `{"model":"demo","a":${'1'.repeat(MIB)}}`, null);
  await refused(
    t,
    'a book to be spoken',
    `{"model":"demo","input":"${'x'.repeat(MIB)}"}`,
    'input',
    'audio/speech',
  );
});

t.test('what is only large is scanned in slices and arrives as it is', async (t) => {
  const bodies: Readonly<Record<string, object>> = {
    numbers: { input: Array.from({ length: MIB / 2 }, (_, i) => i % 10) },
    lists: { x: Array.from({ length: MIB / 2 }, () => []) },
    text: { x: 'é\n"'.repeat(MIB) },
    spread: { extra_body: { x: Array.from({ length: MIB / 2 }, () => 1), y: 'z'.repeat(MIB) } },
    'ten thousand members': Object.fromEntries(Array.from({ length: 9_998 }, (_, i) => [`k${i}`, i])),
  };
  for (const [title, more] of Object.entries(bodies)) {
    const answer = await chat(rig, 'demo', more);
    t.equal(answer.status, 200, `${title}: ${answer.text.slice(0, 200)}`);
    const { model, messages, ...rest } = JSON.parse(lastSeen(rig).body.toString()) as Record<string, unknown>;
    t.same([model, Array.isArray(messages)], ['demo', true]);
    t.equal(JSON.stringify(rest), JSON.stringify(more), title);
  }
});

t.test(
  'a body that stops being JSON late is refused late, and one that nests too deep as well',
  async (t) => {
    const late = await post(`{"model":"demo","x":[${'1,'.repeat(MIB)}oops]}`);
    t.match(JSON.parse(late.text), { error: { code: 'body_not_json', message: /at byte 2097173/ } });
    const deep = await post(`{"model":"demo","x":"${'x'.repeat(MIB)}","y":${'['.repeat(MIB)}`);
    t.match(JSON.parse(deep.text), { error: { code: 'body_too_deep' } });
    const bytes = Buffer.from(`{"model":"demo","x":"${'é'.repeat(MIB)}"}`);
    bytes[bytes.length - 3] = 0xff;
    const broken = await send(rig.url, 'POST', '/v1/chat/completions', bytes, {
      'content-type': 'application/json',
    });
    t.match(JSON.parse(broken.text), { error: { code: 'body_not_utf8' } });
  },
);

t.test(
  'arguments that are objects in the form of their upstream nest as deep as a body, and no deeper',
  async (t) => {
    const asking = (depth: number): Promise<Answer> => {
      const text = `{"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: text };
      const input = [{ role: 'user', content: 'x' }, call];
      return post(JSON.stringify({ model: 'as-messages', input }), 'responses');
    };
    t.equal((await asking(100)).status, 200);
    const deep = await asking(2_000);
    t.equal(deep.status, 400);
    t.match(JSON.parse(deep.text), { error: { code: 'body_too_deep', message: /tool calls as objects/ } });
  },
);

t.test('a call that is translated has fewer values: what is written anew is built as a whole', async (t) => {
  const said = (count: number): readonly object[] =>
    Array.from({ length: count }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: 'x' }));
  const about = (messages: readonly object[], more: object = {}): string =>
    JSON.stringify({ model: 'translated', max_tokens: 5, messages, ...more });
  await refused(t, 'forty thousand messages', about(said(40_001)), null, 'messages');
  const nested: unknown = JSON.parse(
    `[${Array.from({ length: 600 }, () => '['.repeat(200) + ']'.repeat(200)).join(',')}]`,
  );
  const tools = [{ name: 'f', input_schema: { type: 'object', x: nested } }];
  await refused(t, 'a schema', about(said(1), { tools }), null, 'messages');
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: JSON.stringify({ x: nested }) };
  const input = [{ role: 'user', content: 'x' }, call];
  await refused(t, 'arguments', JSON.stringify({ model: 'translated', input }), null, 'responses');
  const contents = said(40_001).map(() => ({ role: 'user', parts: [{ text: 'x' }] }));
  const gemini = await send(rig.url, 'POST', '/v1beta/models/translated:generateContent', { contents });
  t.equal(gemini.status, 400, gemini.text);
  t.match(gemini.text, 'body_too_complex');

  const large = said(5_001).map((one) => ({ ...one, content: [{ type: 'text', text: 'word '.repeat(60) }] }));
  const answer = await post(about(large), 'messages');
  t.equal(answer.status, 200, answer.text.slice(0, 200));
  const { messages } = JSON.parse(lastSeen(rig).body.toString()) as { readonly messages: readonly unknown[] };
  t.equal(messages.length, 5_001, 'a conversation of 1.8 MB goes as before');
  t.equal(
    (await post(JSON.stringify({ model: 'demo', messages: said(40_001) }))).status,
    200,
    'and others as they are',
  );
});
