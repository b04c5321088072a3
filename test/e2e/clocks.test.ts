// The clocks of an upstream call, each against an upstream that makes it run out, and the client's own.
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { openCall, type OpenCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { startManualUpstream, type PendingCall } from '../support/manual-upstream.ts';
import { chat, KEY, lastSeen, rowOf, send, startRig, type Answer } from '../support/rig.ts';

/** A port whose backlog is full: its owner listens and never accepts, so that no further connection comes to stand. */
async function fullBacklog(): Promise<number> {
  const source = `
    const { workerData, parentPort } = require('node:worker_threads');
    const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      setImmediate(() => Atomics.wait(new Int32Array(workerData), 0, 0)); // accepts nothing from here on
    });`;
  const worker = new Worker(source, { eval: true, workerData: new SharedArrayBuffer(4) });
  t.teardown(() => worker.terminate());
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  // The kernel completes backlog + 1 connections by itself; the third one is left waiting.
  const waiting = [1, 2, 3].map(() => connect(port, '127.0.0.1').on('error', () => undefined));
  t.teardown(() => waiting.forEach((socket) => socket.destroy()));
  await Promise.all(
    waiting.slice(0, 2).map((socket) => new Promise((resolve) => socket.once('connect', resolve))),
  );
  return port;
}

const deaf = await fullBacklog();
const held = await startManualUpstream(t);
const clock = new ManualClock();
const rig = await startRig(t, {
  clock,
  config: (demo) => {
    const entry = (name: string, model: string, clocks: string, base = demo.url): string =>
      `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/${model}, api_base: "${base}", ${clocks} } }\n`;
    return `
model_list:
${entry('deaf', 'demo', 'connect_timeout: 0.2, timeout: 3600', `http://127.0.0.1:${deaf}`)}
${entry('waits', 'demo', 'connect_timeout: 3600, timeout: 3600', `http://127.0.0.1:${deaf}`)}
${entry('first', 'demo-silent', 'timeout: 0.2')}
${entry('first-of-streams', 'demo-silent', 'timeout: 3600, stream_timeout: 0.2')}
${entry('streams-wait', 'demo-hold', 'timeout: 0.2, stream_timeout: 3600')}
${entry('idle', 'demo-stall', 'idle_timeout: 0.2')}
${entry('steady', 'steady', 'timeout: 30, idle_timeout: 40', held.url)}
${entry('total', 'total', 'total_timeout: 60, idle_timeout: 40', held.url)}
${entry('total-first', 'demo-silent', 'total_timeout: 0.2')}
${entry('total-deaf', 'demo', 'total_timeout: 0.2, connect_timeout: 3600', `http://127.0.0.1:${deaf}`)}
${entry('off', 'off', 'timeout: 0, idle_timeout: 0, total_timeout: 0, connect_timeout: 0', held.url)}
${entry('patient', 'demo-silent', 'timeout: 3600')}
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true }
`;
  },
});

async function timedOut(t: Test, answer: Answer, code: string): Promise<void> {
  const isClients = code === 'client_timeout';
  t.equal(answer.status, isClients ? 408 : 504);
  t.equal(answer.headers['x-litellm-error-source'], isClients ? 'client' : 'upstream');
  t.match(JSON.parse(answer.text), {
    error: { code, type: 'timeout_error', message: rig.demo.url.slice(0, 16) },
  });
  t.notMatch(answer.text.replaceAll(/127\.0\.0\.1:\d+/g, ''), /\b429\b|rate.?limit|sk-/i);
  t.match(await rowOf(rig, answer), {
    end_reason: 'timeout',
    status: 'failure',
    http_status: isClients ? 408 : 504,
    error_source: isClients ? 'client' : 'upstream',
    metadata: { error_information: { error_class: code } },
  });
}

/** A stream of which a first word has come. */
async function streaming(model: string): Promise<{ call: OpenCall; upstream: PendingCall }> {
  const call = openCall(rig.url, '/v1/chat/completions', { model, stream: true, messages: [] });
  const upstream = await held.next(model);
  upstream.say({ role: 'assistant', content: 'one' });
  await call.received('one');
  return { call, upstream };
}

/** Every exchange has been looked at since: a call that began later ran out. */
async function watched(): Promise<void> {
  await clock.during(chat(rig, 'first'));
}

t.test('connect: no connection comes to stand', async (t) => {
  for (const stream of [false, true])
    await timedOut(t, await clock.during(chat(rig, 'deaf', { stream })), 'connect_timeout');
});

t.test('a client that leaves before a connection stands is gone at once', async (t) => {
  const call = openCall(
    rig.url,
    '/v1/chat/completions',
    { model: 'waits', messages: [] },
    { 'x-litellm-session-id': 'gone-connecting' },
  );
  const admitted = new Promise((resolve) => call.req.once('finish', resolve));
  await admitted;
  await clock.during(chat(rig, 'first')); // the other call has come as far as it can while this one ran out
  call.leave();
  const line = await rig.logged((one) => one['session'] === 'gone-connecting');
  t.match(line, { end: 'client_gone', status: null, error: 'client_gone' });
});

t.test('first byte: a connection stands and nothing comes; the upstream is aborted', async (t) => {
  await timedOut(t, await clock.during(chat(rig, 'first')), 'first_byte_timeout');
  t.equal(await lastSeen(rig).finished, 'aborted');
});

t.test('first byte of streams: a clock of its own', async (t) => {
  await timedOut(
    t,
    await clock.during(chat(rig, 'first-of-streams', { stream: true })),
    'first_byte_timeout',
  );
  const call = openCall(rig.url, '/v1/chat/completions', {
    model: 'streams-wait',
    messages: [],
    stream: true,
  });
  await timedOut(t, await clock.during(chat(rig, 'streams-wait')), 'first_byte_timeout');
  rig.demo.release(); // the streamed call was there before and has outlived the other one
  t.match(await call.received('[DONE]'), /finish_reason":"stop/);
});

t.test('idle: silence between two chunks', async (t) => {
  const streamed = await clock.during(chat(rig, 'idle', { stream: true }));
  t.ok(streamed.broken);
  t.match(
    streamed.text,
    /data: \{"error":\{"message":"[^"]*200 ms[^"]*","type":"timeout_error","param":null,"code":"idle_timeout"\}\}\n\n$/,
  );
  t.match(await rowOf(rig, streamed), { end_reason: 'timeout', http_status: 200 });
  t.equal(await lastSeen(rig).finished, 'aborted');
  await timedOut(t, await clock.during(chat(rig, 'idle')), 'idle_timeout');
});

t.test('chunks that keep coming are not idle, and the first-byte clock has stopped', async (t) => {
  const { call, upstream } = await streaming('steady');
  for (const word of ['two', 'three', 'four']) {
    clock.advance(30_000);
    upstream.say({ content: word });
    await call.received(word);
  }
  clock.advance(30_000);
  await watched();
  upstream.finish();
  await call.received('[DONE]');
  t.match(await rowOf(rig, await call.head), { end_reason: 'complete' });
});

t.test('a process that stood still reads what came meanwhile before it calls anybody silent', async (t) => {
  const { call, upstream } = await streaming('steady');
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      upstream.say({ content: 'two' });
      clock.advance(60_000);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120); // the next tick is due before any socket is read
      resolve();
    });
  });
  await call.received('two');
  clock.advance(60_000);
  t.match(await call.received('idle_timeout'), /fell silent/, 'silence that follows is one');
  t.match(await rowOf(rig, await call.head), { end_reason: 'timeout' });
});

t.test('total: an answer that keeps coming for too long', async (t) => {
  const { call, upstream } = await streaming('total');
  clock.advance(30_000);
  upstream.say({ content: 'two' });
  await call.received('two');
  clock.advance(30_001);
  t.match(await call.received('total_timeout'), /"code":"total_timeout"\}\}\n\n$/);
  await upstream.closed;
  await t.rejects(call.received('more'), 'the answer is broken');
  t.match(await rowOf(rig, await call.head), { end_reason: 'timeout', http_status: 200 });
  await timedOut(t, await clock.during(chat(rig, 'total-first')), 'total_timeout');
  await timedOut(t, await clock.during(chat(rig, 'total-deaf')), 'total_timeout');
});

t.test('0 switches a clock off', async (t) => {
  const { call, upstream } = await streaming('off');
  clock.advance(30 * 86_400_000);
  await watched();
  upstream.finish();
  await call.received('[DONE]');
  t.match(await rowOf(rig, await call.head), { end_reason: 'complete' });
});

t.test('x-litellm-timeout is the client’s own first-byte clock, in seconds', async (t) => {
  for (const stream of [false, true]) {
    const answer = await clock.during(chat(rig, 'patient', { stream }, { 'x-litellm-timeout': '0.15' }));
    await timedOut(t, answer, 'client_timeout');
    t.match(answer.text, /150 ms, the time that the client gave it/);
  }
  const ofStreams = { 'x-litellm-timeout': '3600', 'x-litellm-stream-timeout': '0.1' };
  t.match((await clock.during(chat(rig, 'patient', { stream: true }, ofStreams))).text, /100 ms, the time/);
  const longer = await clock.during(chat(rig, 'first', {}, { 'x-litellm-timeout': '0.3' }));
  await timedOut(t, longer, 'first_byte_timeout');
  const before = rig.demo.seen.length;
  for (const value of ['soon', '-1', '0', '1e9', ' ']) {
    const answer = await send(
      rig.url,
      'POST',
      '/v1/chat/completions',
      { model: 'patient', messages: [] },
      { 'x-litellm-timeout': value },
    );
    t.equal(answer.status, 400, JSON.stringify(value));
    t.match(JSON.parse(answer.text), { error: { code: 'invalid_header', param: 'x-litellm-timeout' } });
  }
  t.equal(rig.demo.seen.length, before, 'nothing went upstream');
});
