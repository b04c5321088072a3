// A gateway that repeats the key it was called with: no caller gets to see it, whatever status, coding and protocol say.
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { startUpstream } from '../support/call.ts';
import { KEY, rowOf, send, startRig } from '../support/rig.ts';

const SECRET = 'sk-upstream-secret';
const SAID = `Incorrect API key provided: Bearer ${SECRET}`;
const ERROR = JSON.stringify({
  error: { message: SAID, type: 'invalid_request_error', code: 'invalid_api_key' },
});
const DELTA = JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] });
const EVENTS = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };

const ANSWERS: Readonly<Record<string, readonly [status: number, headers: object, body: string | Buffer]>> = {
  plain: [401, JSON_TYPE, ERROR],
  zipped: [401, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(ERROR)],
  large: [401, JSON_TYPE, ERROR.replace('Incorrect', 'x'.repeat(300_000))],
  ok: [200, JSON_TYPE, ERROR],
  first: [200, EVENTS, `data: ${ERROR}\n\n`],
  later: [200, EVENTS, `data: ${DELTA}\n\ndata: ${ERROR}\n\n`],
  document: [200, EVENTS, ERROR],
};

/** An answer whose texts are the key. */
const answered = (more: object): string =>
  JSON.stringify({
    id: SECRET,
    model: SECRET,
    service_tier: SECRET,
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    ...more,
  });
const RECORDED: typeof ANSWERS = {
  whole: [
    200,
    { ...JSON_TYPE, 'x-request-id': SECRET },
    answered({
      choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
    }),
  ],
  events: [
    200,
    { ...EVENTS, 'x-request-id': SECRET },
    `data: ${answered({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
  ],
};

const url = await startUpstream(t, ({ res, body }) => {
  const { model } = JSON.parse(body.toString()) as { model: string };
  const [status, headers, said] = ANSWERS[model] ?? RECORDED[model] ?? [500, {}, ''];
  res.writeHead(status, { 'x-echo': `Bearer ${SECRET}`, ...headers }).end(said);
});
const rig = await startRig(t, {
  config: () => `
model_list:
  - { model_name: "said-*", litellm_params: { model: "openai/*", api_base: "${url}/v1", api_key: ${SECRET} } }
  - { model_name: "chat-*", litellm_params: { model: "openai/*", api_base: "${url}/v1", api_key: ${SECRET}, supported_endpoints: [chat] } }
general_settings: { master_key: ${KEY} }
router_settings: { num_retries: 0, disable_cooldowns: true }
`,
});

const ASKED = { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], input: 'hi' };

for (const name of Object.keys(ANSWERS))
  t.test(`an error that is ${name}`, async (t) => {
    const calls: readonly (readonly [path: string, model: string])[] = [
      ['/v1/chat/completions', `said-${name}`],
      ['/v1/messages', `chat-${name}`],
      ['/v1/responses', `chat-${name}`],
    ];
    for (const [path, model] of calls)
      for (const stream of [false, true]) {
        const answer = await send(rig.url, 'POST', path, { model, stream, ...ASKED });
        const about = `${path} ${stream}: ${answer.status} ${answer.text.slice(0, 300)}`;
        t.notMatch(`${JSON.stringify(answer.headers)} ${answer.text}`, SECRET, about);
        t.match(answer.text, /Bearer \*{18}/, about);
      }
  });

t.test('what is recorded of an answer does not hold it: id, model, service tier, call id', async (t) => {
  for (const name of Object.keys(RECORDED))
    for (const model of [`said-${name}`, `chat-${name}`]) {
      const path = model.startsWith('said') ? '/v1/chat/completions' : '/v1/messages';
      const answer = await send(rig.url, 'POST', path, { model, stream: name === 'events', ...ASKED });
      t.equal(answer.status, 200, answer.text);
      const row = await rowOf(rig, answer);
      t.equal(row['status'], 'success', JSON.stringify(row));
      t.equal(row['upstream_id'], '*'.repeat(SECRET.length), model);
      t.notMatch(JSON.stringify(row), SECRET, model);
      t.notMatch((await send(rig.url, 'GET', '/spend/logs')).text, SECRET, model);
    }
  t.notMatch(JSON.stringify(rig.log), SECRET);
});
