// Clients that leave at the end of a stream, as the SDKs do: they close once they have read the terminal event, and the
// upstream ends its response later, or never. They have got everything, and the row says so.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import t, { type Test } from 'tap';
import { openCall, startUpstream, type OpenCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { KEY, rowOfSession, send, startRig, type Rig, type Row } from '../support/rig.ts';

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (name: string, value: object = {}): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...value })}\n\n`;
const delta = (content: string, finish: string | null = null, index = 0): string =>
  data({ id: 'c', model: 'm', choices: [{ index, delta: { content }, finish_reason: finish }] });
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const usage = data({ id: 'c', model: 'm', choices: [], usage: USAGE });
const DONE = 'data: [DONE]\n\n';
const CHAT = { messages: [{ role: 'user', content: 'hi' }] };
const ERROR = data({ error: { message: 'overloaded', type: 'server_error', code: 500 } });

interface Played extends Rig {
  /** The response of the latest call, in the hands of the test. */
  readonly calls: ServerResponse[];
  readonly clock: ManualClock;
}

/** A proxy before an upstream that sends `events` and then waits for the test. */
async function start(t: Test, more = '', encode?: 'gzip' | 'br'): Promise<Played> {
  const calls: ServerResponse[] = [];
  const clock = new ManualClock();
  const url = await startUpstream(t, ({ res, body }) => {
    calls.push(res);
    const { events } = JSON.parse(body.toString()) as { events: string };
    const head = { 'content-type': 'text/event-stream' };
    if (encode === undefined) return void res.writeHead(200, head).write(events);
    res.writeHead(200, { ...head, 'content-encoding': encode });
    // In one piece: a client that leaves after the first bytes must have got all of them.
    const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = constants;
    res.write(
      encode === 'gzip'
        ? gzipSync(events, { finishFlush: Z_SYNC_FLUSH })
        : brotliCompressSync(events, { finishFlush: BROTLI_OPERATION_FLUSH }),
    );
  });
  const config = `
model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}"${more} } }]
general_settings: { master_key: ${KEY} }
`;
  const rig = await startRig(t, { config: () => config, clock });
  return Object.assign(rig, { calls, clock });
}

let sessions = 0;

/** Reads until `last`, closes, and gives the row. */
async function leftAt(rig: Rig, path: string, events: string, last: string, more: object = {}): Promise<Row> {
  const session = `s${(sessions += 1)}`;
  const call = openCall(
    rig.url,
    path,
    { model: 'm', stream: true, ...CHAT, input: 'x', prompt: 'x', events, ...more },
    { 'x-litellm-session-id': session },
  );
  await call.received(last);
  call.leave();
  return await rowOfSession(rig, session);
}

const CHAT_PATH = '/v1/chat/completions';
const COMPLETE = { status: 'success', end_reason: 'complete', error_source: null, http_status: 200 };
const FAILED = {
  status: 'failure',
  end_reason: 'upstream_error',
  error_source: 'upstream',
  http_status: 200,
};
const GONE = { status: 'failure', end_reason: 'client_gone', error_source: 'client' };

const STREAMS: readonly [name: string, path: string, events: string, last: string, expected: object][] = [
  ['chat', CHAT_PATH, delta('a', 'stop') + usage + DONE, '[DONE]', { ...COMPLETE, ...USAGE }],
  ['chat, no [DONE]', CHAT_PATH, delta('a', 'stop') + usage, '"stop"', { ...COMPLETE, ...USAGE }],
  [
    'completions',
    '/v1/completions',
    data({ choices: [{ text: 'a', finish_reason: 'stop' }] }) + DONE,
    '[DONE]',
    COMPLETE,
  ],
  ...['completed', 'incomplete'].map((end): (typeof STREAMS)[number] => [
    `response.${end}`,
    '/v1/responses',
    named('response.output_text.delta', { delta: 'a' }) +
      named(`response.${end}`, { response: { id: 'r', usage: { input_tokens: 3, output_tokens: 2 } } }),
    `"type":"response.${end}"`,
    { ...COMPLETE, total_tokens: 5 },
  ]),
  [
    'response.failed',
    '/v1/responses',
    named('response.failed', { response: { id: 'r' } }),
    'failed"',
    FAILED,
  ],
  [
    'messages',
    '/v1/messages',
    named('message_delta', { delta: {}, usage: { input_tokens: 3, output_tokens: 2 } }) +
      named('message_stop'),
    '"message_stop"',
    { ...COMPLETE, total_tokens: 5 },
  ],
  ['error, first', CHAT_PATH, ERROR, 'overloaded', FAILED],
  ['error, later', CHAT_PATH, delta('a') + ERROR, 'overloaded', FAILED],
  [
    'error of responses',
    '/v1/responses',
    named('error', { code: 'x', message: 'overloaded' }),
    'overloaded',
    FAILED,
  ],
  [
    'error of messages',
    '/v1/messages',
    named('error', { error: { type: 'x', message: 'overloaded' } }),
    'overloaded"',
    FAILED,
  ],
];

t.test('who closes after the terminal event has got everything', async (t) => {
  const rig = await start(t);
  for (const [name, path, events, last, expected] of STREAMS) {
    t.match(await rig.clock.during(leftAt(rig, path, events, `${last}`)), expected, name);
    rig.calls.at(-1)?.end();
  }
});

t.test('who closes before it has not', async (t) => {
  const rig = await start(t);
  const n2 = delta('a', 'stop') + delta('b', null, 1);
  for (const [name, events, last, more] of [
    ['no end', delta('abc'), 'abc', {}],
    ['one choice of two', n2, '"b"', { n: 2 }],
    [
      'without the usage it asked for',
      delta('abc', 'stop'),
      'stop',
      { stream_options: { include_usage: true } },
    ],
    ['text that looks like an end', delta('data: [DONE]'), 'DONE', {}],
  ] as const) {
    t.match(await leftAt(rig, CHAT_PATH, events, last, more), GONE, name);
  }
  const asked = { stream_options: { include_usage: true } };
  const whole = leftAt(rig, CHAT_PATH, delta('a', 'stop') + usage, 'total_tokens', asked);
  t.match(await rig.clock.during(whole), { ...COMPLETE, ...USAGE }, 'with the usage');
});

t.test('a slow client to which the end was not sent yet has not got it', async (t) => {
  const rig = await start(t);
  const events =
    data({ choices: [{ delta: { content: 'x'.repeat(200_000) } }] }).repeat(200) + delta('', 'stop') + DONE;
  const call = openCall(
    rig.url,
    CHAT_PATH,
    { model: 'm', stream: true, ...CHAT, events: delta('a') },
    { 'x-litellm-session-id': 'slow' },
  );
  (await call.head).pause();
  rig.calls[0]?.write(events);
  call.leave();
  t.match(await rowOfSession(rig, 'slow'), GONE);
});

t.test(
  'the usage that comes after the client has left is recorded; where it never comes, the row does not wait',
  async (t) => {
    const rig = await start(t);
    const session = 'later';
    const body = { model: 'm', stream: true, ...CHAT, events: delta('a', 'stop') };
    const call = openCall(rig.url, CHAT_PATH, body, { 'x-litellm-session-id': session });
    await call.received('"stop"');
    call.leave();
    await once(call.req, 'close');
    await send(rig.url, 'GET', '/health/liveness'); // the proxy has seen it by now
    rig.calls[0]?.end(usage + DONE);
    t.match(await rowOfSession(rig, session), { ...COMPLETE, ...USAGE, usage_source: 'upstream' });
    const never = await rig.clock.during(leftAt(rig, CHAT_PATH, delta('a', 'stop'), 'stop'));
    t.match(never, { ...COMPLETE, usage_source: 'estimate' });
  },
);

t.test(
  'the connection to the upstream is used again where the response ends soon, else closed',
  async (t) => {
    const rig = await start(t);
    const port = (): unknown => rig.calls.at(-1)?.req.socket.remotePort;
    await leftAt(rig, CHAT_PATH, delta('a', 'stop') + DONE, '[DONE]');
    const first = port();
    const isOver = once(rig.calls[0] as ServerResponse, 'close');
    rig.calls[0]?.end(': bye\n\n');
    await isOver;
    await leftAt(rig, CHAT_PATH, delta('a', 'stop') + DONE, '[DONE]');
    t.equal(port(), first);
    await rig.clock.during(once(rig.calls[1] as ServerResponse, 'close'));
    t.notOk(rig.calls[1]?.writableFinished, 'it was broken off');
    await leftAt(rig, CHAT_PATH, delta('a', 'stop') + DONE, '[DONE]');
    t.not(port(), first);
  },
);

t.test('a response that the upstream never ends is ended for the client', async (t) => {
  const rig = await start(t);
  for (const events of [delta('a', 'stop') + usage + DONE, delta('a', 'stop'), delta('a') + ERROR]) {
    const body = { model: 'm', stream: true, ...CHAT, events };
    const answer = await rig.clock.during(send(rig.url, 'POST', CHAT_PATH, body));
    t.equal(answer.broken, false);
    t.equal(answer.text, events.replace(usage, ''));
  }
  const rows = await rig.rows();
  t.match(rows, [COMPLETE, COMPLETE, FAILED]);
});

t.test('an end or an error in an event that is too large to be kept is one', async (t) => {
  const rig = await start(t);
  const big = 'x'.repeat(400_000);
  const counts = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
  const parts = [{ inlineData: { mimeType: 'image/png', data: big } }];
  const picture = { candidates: [{ content: { parts }, finishReason: 'STOP' }], usageMetadata: counts };
  for (const [path, events, expected] of [
    ['/v1beta/models/m:streamGenerateContent?alt=sse', data(picture), { ...COMPLETE, ...USAGE }],
    [CHAT_PATH, delta(big, 'stop'), COMPLETE],
    [CHAT_PATH, delta('a') + data({ error: { message: big, code: 500 } }), FAILED],
  ] as const) {
    const session = `s${(sessions += 1)}`;
    const body = { model: 'm', stream: true, ...CHAT, contents: [{ parts: [{ text: 'hi' }] }], events };
    const call = openCall(rig.url, path, body, { 'x-litellm-session-id': session });
    await call.received('xxx"');
    rig.calls.at(-1)?.end();
    await once((await call.head).resume(), 'end');
    t.match(await rowOfSession(rig, session), expected, path);
  }
});

t.test('compressed streams are judged by what was in them', async (t) => {
  for (const encoding of ['gzip', 'br'] as const) {
    const rig = await start(t, '', encoding);
    for (const [events, expected] of [
      [delta('a', 'stop') + DONE, COMPLETE],
      [delta('a') + ERROR, FAILED],
      [delta('a'), GONE],
    ] as const) {
      const session = `${encoding}-${(sessions += 1)}`;
      const body = { model: 'm', stream: true, ...CHAT, events };
      const call: OpenCall = openCall(rig.url, CHAT_PATH, body, { 'x-litellm-session-id': session });
      (await call.head).once('data', () => call.leave());
      t.match(await rowOfSession(rig, session), expected, `${encoding} ${events}`);
    }
  }
});

t.test('events count that are called something else, or coded in what is no coding', async (t) => {
  const heads: readonly Readonly<Record<string, string>>[] = [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json' },
    {},
    { 'content-type': 'text/event-stream', 'content-encoding': 'utf-8' },
    { 'content-type': 'text/event-stream', 'content-encoding': 'none' },
  ];
  const text = delta('a') + delta('b', 'stop') + usage + DONE;
  let calls = 0;
  const url = await startUpstream(t, ({ res }) => {
    res.writeHead(200, heads[calls]).end(text);
    calls += 1;
  });
  const rig = await startRig(t, {
    config: () => `
model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}" } }]
general_settings: { master_key: ${KEY} }
`,
  });
  const body = { model: 'm', stream: true, ...CHAT, stream_options: { include_usage: true } };
  for (const head of heads) {
    const session = `s${(sessions += 1)}`;
    const answer = await send(rig.url, 'POST', CHAT_PATH, body, { 'x-litellm-session-id': session });
    t.match(answer, { status: 200, text, broken: false });
    const row = await rowOfSession(rig, session);
    t.match(row, { ...COMPLETE, ...USAGE, usage_source: 'upstream' }, JSON.stringify(head));
  }
});

t.test('a stream under another name reaches its client event by event, as a stream', async (t) => {
  const calls: ServerResponse[] = [];
  const url = await startUpstream(t, ({ res }) => {
    calls.push(res);
    res.writeHead(200, { 'content-type': 'application/json' }).write(delta('a'));
  });
  const rig = await startRig(t, {
    config: () => `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}" } }
  - { model_name: translated, litellm_params: { model: openai/m, api_base: "${url}/v1", supported_endpoints: [chat] } }
general_settings: { master_key: ${KEY} }
`,
  });
  const finish = (): void => void calls.pop()?.end(delta('b', 'stop') + usage + DONE);

  const plain = openCall(rig.url, CHAT_PATH, { model: 'm', stream: true, ...CHAT });
  t.equal((await plain.head).headers['content-type'], 'text/event-stream');
  await plain.received(delta('a')); // the upstream has not gone on
  finish();
  t.equal(
    await plain.received(DONE),
    delta('a') + delta('b', 'stop') + DONE,
    'no usage: nobody asked for it',
  );

  const broken = openCall(rig.url, CHAT_PATH, { model: 'm', stream: true, ...CHAT });
  await broken.received(delta('a'));
  calls.pop()?.destroy();
  t.match(await broken.received('"error"'), /broke off/);

  const claude = new Anthropic({ baseURL: rig.url, apiKey: KEY, maxRetries: 0 });
  const stream = claude.messages.stream({
    model: 'translated',
    max_tokens: 10,
    messages: [{ role: 'user', content: 'hi' }],
  });
  stream.once('text', finish);
  t.equal(await stream.finalText(), 'ab');
});

t.test('a document that is called a stream is the document', async (t) => {
  const whole = JSON.stringify({
    id: 'c',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ab' }, finish_reason: 'stop' }],
    usage: USAGE,
  });
  const error = JSON.stringify({ error: { message: 'too long', code: 'context_length_exceeded' } });
  const url = await startUpstream(t, ({ res, body }) => {
    const { messages } = JSON.parse(body.toString()) as { messages: { content: string }[] };
    const said = messages[0]?.content === 'fail' ? error : whole;
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(`\n ${said.slice(0, 20)}`);
    res.end(said.slice(20));
  });
  const entry = (name: string, more: string): string =>
    `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/m, api_base: "${url}"${more} } }\n`;
  const rig = await startRig(t, {
    config: () =>
      `model_list:\n${entry('m', '')}${entry('held', ', ttft_timeout: 500')}general_settings: { master_key: ${KEY} }\n`,
  });
  for (const model of ['m', 'held'])
    for (const stream of [false, true])
      for (const [content, text, expected] of [
        ['go', whole, { ...COMPLETE, ...USAGE, usage_source: 'upstream' }],
        ['fail', error, FAILED],
      ] as const) {
        const session = `s${(sessions += 1)}`;
        const body = { model, stream, messages: [{ role: 'user', content }] };
        const answer = await send(rig.url, 'POST', CHAT_PATH, body, { 'x-litellm-session-id': session });
        t.match(answer, {
          text: `\n ${text}`,
          broken: false,
          headers: { 'content-type': 'application/json' },
        });
        t.match(await rowOfSession(rig, session), expected, `${model} ${stream} ${content}`);
      }
});

t.test('the official SDKs leave with everything', async (t) => {
  const text = delta('a', 'stop') + usage + DONE;
  const answered = named('response.completed', {
    response: { id: 'r', output: [], usage: { input_tokens: 3 } },
  });
  const said =
    named('message_start', {
      message: { id: 'm', role: 'assistant', content: [], usage: { input_tokens: 3 } },
    }) +
    named('message_delta', { delta: {}, usage: { output_tokens: 2 } }) +
    named('message_stop');
  const url = await startUpstream(t, ({ req, res }) => {
    const { url: path = '' } = req;
    const isChat = path.includes('chat');
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    if (isChat) res.write(text);
    else res.write(path.includes('responses') ? answered : said); // and never ends
  });
  const rig = await startRig(t, {
    config: () => `
model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}" } }]
general_settings: { master_key: ${KEY} }
`,
  });
  const openai = new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: KEY, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: rig.url, apiKey: KEY, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const drain = async (stream: AsyncIterable<unknown>): Promise<void> => {
    for await (const event of stream) t.ok(event);
  };
  for (let i = 0; i < 5; i += 1) {
    await drain(await openai.chat.completions.create({ model: 'm', messages, stream: true }));
    await drain(await openai.responses.create({ model: 'm', input: 'hi', stream: true }));
    await drain(await anthropic.messages.create({ model: 'm', messages, max_tokens: 9, stream: true }));
  }
  await rig.logged(() => rig.log.filter(({ msg }) => msg === 'request').length === 15);
  const rows = await rig.rows();
  t.same([rows.length, rows.filter((row) => row['end_reason'] !== 'complete')], [15, []]);
});
