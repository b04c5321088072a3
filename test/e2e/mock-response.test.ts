// An operator's mock_response: every shape, streamed and not, with a row, and nothing sent to anybody.
import t from 'tap';
import { chat, KEY, rowOf, send, startRig, type Answer } from '../support/rig.ts';

const TEXT = 'Hello, this is  made up.';
const rig = await startRig(t, {
  config: () => `
model_list:
  - model_name: mock
    litellm_params: { model: openai/made-up, mock_response: ${JSON.stringify(TEXT)} }
  - model_name: claude
    litellm_params: { model: anthropic/made-up, mock_response: ${JSON.stringify(TEXT)} }
  - model_name: limited
    litellm_params: { model: openai/made-up, mock_response: litellm.RateLimitError }
  - model_name: alone
    litellm_params: { model: openai/made-up, mock_response: litellm.RateLimitError }
router_settings: { fallbacks: [{ limited: [mock] }] }
general_settings: { master_key: ${KEY} }
`,
});
const messages = [{ role: 'user', content: 'a' }];
const post = (path: string, body: object): Promise<Answer> => send(rig.url, 'POST', `/v1/${path}`, body);
const datas = ({ text }: Answer): Record<string, unknown>[] =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(
    ([, json]) => JSON.parse(String(json)) as Record<string, unknown>,
  );

t.test('one document', async (t) => {
  const answer = await chat(rig, 'mock');
  t.equal(answer.status, 200);
  t.match(JSON.parse(answer.text), {
    model: 'made-up',
    choices: [{ message: { content: TEXT }, finish_reason: 'stop' }],
  });
  t.match(await rowOf(rig, answer), {
    status: 'success',
    prompt_tokens: 10,
    completion_tokens: 20,
    model_group: 'mock',
  });
  t.match(JSON.parse((await post('completions', { model: 'mock', prompt: 'a' })).text), {
    choices: [{ text: TEXT }],
  });
  t.match(JSON.parse((await post('responses', { model: 'mock', input: 'a' })).text), {
    output: [{ content: [{ text: TEXT }] }],
  });
  t.match(JSON.parse((await post('messages', { model: 'claude', max_tokens: 9, messages })).text), {
    content: [{ text: TEXT }],
  });
  t.match(JSON.parse((await post('embeddings', { model: 'mock', input: 'a' })).text), {
    data: [{ index: 0 }],
  });
  t.equal((await post('moderations', { model: 'mock', input: 'a' })).status, 404);
});

t.test('streams, each with its terminal event', async (t) => {
  const streamed = await chat(rig, 'mock', { stream: true, stream_options: { include_usage: true } });
  const chunks = datas(streamed) as { choices: { delta: { content?: string } }[]; usage?: object }[];
  t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), TEXT);
  t.match(chunks.at(-1)?.usage, { total_tokens: 30 });
  t.match(streamed.text, /data: \[DONE\]\n\n$/);
  t.match(await rowOf(rig, streamed), { status: 'success', completion_tokens: 20 });
  const responses = await post('responses', { model: 'mock', input: 'a', stream: true });
  const deltas = datas(responses) as { type: string; delta?: string; sequence_number: number }[];
  t.equal(deltas.map(({ delta }) => delta ?? '').join(''), TEXT);
  t.strictSame(
    deltas.map((one) => one.sequence_number),
    deltas.map((_, n) => n),
  );
  t.equal(deltas.at(-1)?.type, 'response.completed');
  const said = await post('messages', { model: 'claude', max_tokens: 9, messages, stream: true });
  t.equal(
    datas(said)
      .map((one) => (one['delta'] as { text?: string } | undefined)?.text ?? '')
      .join(''),
    TEXT,
  );
  t.match(said.text, /event: message_stop\ndata: /);
  t.match(await rowOf(rig, said), { status: 'success', prompt_tokens: 10, completion_tokens: 20 });
});

t.test('an error that is made up is one: the fallback answers', async (t) => {
  t.match(JSON.parse((await chat(rig, 'limited')).text), { choices: [{ message: { content: TEXT } }] });
  const alone = await chat(rig, 'alone');
  t.equal(alone.status, 429);
  t.match(JSON.parse(alone.text), { error: { code: 'rate_limit_exceeded' } });
});

t.test('clients cannot ask for it', async (t) => {
  const answer = await chat(rig, 'mock', { mock_response: 'mine' });
  t.notMatch(answer.text, /mine/);
});
