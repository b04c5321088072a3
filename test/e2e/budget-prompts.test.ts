// What a prompt may cost is reserved whole, also where it looks smaller than it is: data that is only text, escaped names,
// an earlier response that the body only names, sound that is billed by the token.
import { randomBytes } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import { managed, newKey } from '../support/manage.ts';
import { chat, KEY, send, startRig, type Answer, type Rig, type RigOptions } from '../support/rig.ts';

/** 1 USD per million tokens of text, 20 of sound. */
const config = (demo: { readonly url: string }): string => `
model_list:
  - model_name: demo
    litellm_params:
      model: openai/acme/demo
      api_base: "${demo.url}/compat/v1"
      api_key: k
      input_cost_per_token: 1e-6
      output_cost_per_token: 1e-6
      input_cost_per_audio_token: 20e-6
general_settings: { master_key: ${KEY} }
`;
const start = (t: Test, options: RigOptions = {}): Promise<Rig> => startRig(t, { config, ...options });
const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const asks = (rig: Rig, key: string, content: unknown): Promise<Answer> =>
  chat(rig, 'demo', { max_tokens: 10, messages: [{ role: 'user', content }] }, as(key));
const refused = (t: Test, answer: Answer, because: string): void => {
  t.equal(answer.status, 422, because);
  t.match(answer.text, 'budget_exceeded', because);
};

t.test('data in a text is text, as data of a picture it is a picture', async (t) => {
  const rig = await start(t);
  const key = await newKey(rig, { max_budget: 0.01 });
  const data = `data:image/png;base64,${randomBytes(30_000).toString('base64')}`; // some 27,000 tokens
  refused(t, await asks(rig, key, data), 'as the content');
  refused(t, await asks(rig, key, `<img src="${data}">`), 'in a page');
  refused(t, await asks(rig, key, [{ type: 'text', text: `"data":"${data}` }]), 'behind a name in a text');
  t.equal(rig.demo.seen.length, 0);
  const picture = await asks(rig, key, [{ type: 'image_url', image_url: { url: data } }]);
  t.equal(picture.status, 200, picture.text);
});

t.test('an escaped name is the name', async (t) => {
  const rig = await start(t);
  const key = await newKey(rig, { max_budget: 0.002 });
  const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const ask = { model: 'demo', max_tokens: 10, messages: [{ role: 'user', content: [picture] }] };
  const escaped = JSON.stringify(ask).replaceAll('image_url":', '\\u0069mage\\u005Furl":');
  t.equal(JSON.stringify(JSON.parse(escaped)), JSON.stringify(ask));
  refused(t, await send(rig.url, 'POST', '/v1/chat/completions', Buffer.from(escaped), as(key)), 'a picture');
});

t.test('a conversation that is compacted has an answer, whose length nothing states', async (t) => {
  const rig = await start(t);
  const key = await newKey(rig, { max_budget: 0.01 }); // 10,000 tokens
  const compact = (): Promise<Answer> =>
    send(rig.url, 'POST', '/v1/responses/compact', { model: 'demo', input: 'go on' }, as(key));
  refused(t, await compact(), 'the model may write more');
  await managed(rig, 'POST /key/update', { key, max_budget: 0.02 });
  t.equal((await compact()).status, 200);
});

t.test('a response that continues another one reads that again', async (t) => {
  let rig = await start(t);
  const { folder } = rig;
  const key = await newKey(rig, { max_budget: 1 });
  const respond = (more: Record<string, unknown>): Promise<Answer> =>
    send(rig.url, 'POST', '/v1/responses', { model: 'demo', max_output_tokens: 10, ...more }, as(key));
  const first = await respond({ input: 'word '.repeat(5_000) });
  const { id, usage } = JSON.parse(first.text) as { id: string; usage: { total_tokens: number } };
  t.ok(usage.total_tokens > 2_000, `${usage.total_tokens}`);
  await managed(rig, 'POST /key/update', { key, spend: 0, max_budget: 0.002 });
  refused(t, await respond({ input: 'go on', previous_response_id: id }), 'of this process');
  t.equal((await respond({ input: 'go on' })).status, 200, 'by itself there is room');
  await managed(rig, 'POST /key/update', { key, max_budget: 1 });
  const later = await respond({ input: 'word '.repeat(5_000), background: true });
  const { id: fetched } = JSON.parse(later.text) as { id: string };
  t.equal((await send(rig.url, 'GET', `/v1/responses/${fetched}`, undefined, as(key))).status, 200);
  await managed(rig, 'POST /key/update', { key, spend: 0, max_budget: 0.002 });
  refused(t, await respond({ input: 'go on', previous_response_id: fetched }), 'made in the background');
  await rig.stop();
  rig = await start(t, { folder });
  refused(t, await respond({ input: 'go on', previous_response_id: id }), 'of an earlier run');
});

t.test('sound that is billed by the token', async (t) => {
  const rig = await start(t);
  await managed(rig, 'POST /team/new', { team_id: 'new', max_budget: 0 });
  const key = await newKey(rig, { team_id: 'new' });
  const field = 'content-disposition: form-data; name=';
  const body = `--b\r\n${field}"model"\r\n\r\ndemo\r\n--b\r\n${field}"file"; filename="a.mp3"\r\n\r\n${'x'.repeat(20_000)}\r\n--b--\r\n`;
  const type = { 'content-type': 'multipart/form-data; boundary=b' };
  const sent = await send(rig.url, 'POST', '/v1/audio/transcriptions', Buffer.from(body), {
    ...type,
    ...as(key),
  });
  refused(t, sent, 'a team with a budget of 0');
});

t.test('to count tokens costs nothing, so a team with a budget of 0 may', async (t) => {
  const rig = await start(t);
  await managed(rig, 'POST /team/new', { team_id: 'new', max_budget: 0 });
  const key = await newKey(rig, { team_id: 'new' });
  const ask = { model: 'demo', messages: [{ role: 'user', content: 'hello' }] };
  const counted = await send(rig.url, 'POST', '/v1/messages/count_tokens', ask, as(key));
  t.equal(counted.status, 200, counted.text);
  t.equal(
    (await send(rig.url, 'POST', '/v1/responses/input_tokens', { model: 'demo', input: 'hello' }, as(key)))
      .status,
    200,
  );
  refused(t, await asks(rig, key, 'hello'), 'a call that costs');
});
