// The clocks of an upstream call, each against an upstream that makes it run out, and the client's own.
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { openCall } from '../support/call.ts';
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
const rig = await startRig(t, {
  demo: { eventIntervalMs: 20 },
  config: (demo) => {
    const entry = (name: string, model: string, clocks: string, base = demo.url): string =>
      `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/${model}, api_base: "${base}", ${clocks} } }\n`;
    return `
model_list:
${entry('deaf', 'demo', 'connect_timeout: 0.2, timeout: 30', `http://127.0.0.1:${deaf}`)}
${entry('waits', 'demo', 'connect_timeout: 30, timeout: 30', `http://127.0.0.1:${deaf}`)}
${entry('first', 'demo-silent', 'timeout: 0.2')}
${entry('first-of-streams', 'demo-silent', 'timeout: 30, stream_timeout: 0.2')}
${entry('streams-wait', 'demo-hold', 'timeout: 0.2, stream_timeout: 30')}
${entry('idle', 'demo-stall', 'idle_timeout: 0.2')}
${entry('steady', 'demo-interval', 'timeout: 0.1, idle_timeout: 0.15')}
${entry('total', 'demo-interval', 'total_timeout: 0.1')}
${entry('total-first', 'demo-silent', 'total_timeout: 0.2')}
${entry('total-deaf', 'demo', 'total_timeout: 0.2, connect_timeout: 30', `http://127.0.0.1:${deaf}`)}
${entry('off', 'demo-interval', 'timeout: 0, idle_timeout: 0, total_timeout: 0, connect_timeout: 0')}
${entry('patient', 'demo-silent', 'timeout: 30')}
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true }
`;
  },
});

async function timedOut(t: Test, answer: Answer, code: string): Promise<void> {
  t.equal(answer.status, 504);
  t.equal(answer.headers['x-litellm-error-source'], 'upstream');
  t.match(JSON.parse(answer.text), {
    error: { code, type: 'timeout_error', message: rig.demo.url.slice(0, 16) },
  });
  t.notMatch(answer.text.replaceAll(/127\.0\.0\.1:\d+/g, ''), /429|rate.?limit|sk-/i);
  t.match(await rowOf(rig, answer), {
    end_reason: 'timeout',
    status: 'failure',
    http_status: 504,
    error_source: 'upstream',
  });
}

t.test('connect: no connection comes to stand', async (t) => {
  for (const stream of [false, true])
    await timedOut(t, await chat(rig, 'deaf', { stream }), 'connect_timeout');
});

t.test('a client that leaves before a connection stands is gone at once', async (t) => {
  const call = openCall(
    rig.url,
    '/v1/chat/completions',
    { model: 'waits' },
    { 'x-litellm-session-id': 'gone-connecting' },
  );
  const admitted = new Promise((resolve) => call.req.once('finish', resolve));
  await admitted;
  await chat(rig, 'first'); // the other call has come as far as it can while this one ran out
  call.leave();
  const line = await rig.logged((one) => one['session'] === 'gone-connecting');
  t.match(line, { end: 'client_gone', status: null, error: 'client_gone' });
});

t.test('first byte: a connection stands and nothing comes; the upstream is aborted', async (t) => {
  await timedOut(t, await chat(rig, 'first'), 'first_byte_timeout');
  t.equal(await lastSeen(rig).finished, 'aborted');
});

t.test('first byte of streams: a clock of its own', async (t) => {
  await timedOut(t, await chat(rig, 'first-of-streams', { stream: true }), 'first_byte_timeout');
  const call = openCall(rig.url, '/v1/chat/completions', { model: 'streams-wait', stream: true });
  await timedOut(t, await chat(rig, 'streams-wait'), 'first_byte_timeout');
  rig.demo.release(); // the streamed call was there before and has outlived the other one
  t.match(await call.received('[DONE]'), /finish_reason":"stop/);
});

t.test('idle: silence between two chunks', async (t) => {
  const streamed = await chat(rig, 'idle', { stream: true });
  t.ok(streamed.broken);
  t.match(
    streamed.text,
    /data: \{"error":\{"message":"[^"]*200 ms[^"]*","type":"timeout_error","param":null,"code":"idle_timeout"\}\}\n\n$/,
  );
  t.match(await rowOf(rig, streamed), { end_reason: 'timeout', http_status: 200 });
  t.equal(await lastSeen(rig).finished, 'aborted');
  await timedOut(t, await chat(rig, 'idle'), 'idle_timeout');
});

t.test('chunks that keep coming are not idle, and the first-byte clock has stopped', async (t) => {
  const answer = await chat(rig, 'steady', { stream: true });
  t.notOk(answer.broken);
  t.match(await rowOf(rig, answer), { end_reason: 'complete' });
});

t.test('total: an answer that keeps coming for too long', async (t) => {
  const answer = await chat(rig, 'total', { stream: true });
  t.ok(answer.broken);
  t.match(answer.text, /"code":"total_timeout"\}\}\n\n$/);
  t.match(await rowOf(rig, answer), { end_reason: 'timeout', http_status: 200 });
  t.equal(await lastSeen(rig).finished, 'aborted');
  await timedOut(t, await chat(rig, 'total-first'), 'total_timeout');
  await timedOut(t, await chat(rig, 'total-deaf'), 'total_timeout');
});

t.test('0 switches a clock off', async (t) => {
  t.match(await rowOf(rig, await chat(rig, 'off', { stream: true })), { end_reason: 'complete' });
});

t.test('x-litellm-timeout is the client’s own first-byte clock, in seconds', async (t) => {
  for (const stream of [false, true]) {
    const answer = await chat(rig, 'patient', { stream }, { 'x-litellm-timeout': '0.15' });
    await timedOut(t, answer, 'first_byte_timeout');
    t.match(answer.text, /150 ms/);
  }
  const before = rig.demo.seen.length;
  for (const value of ['soon', '-1', '0', '1e9', ' ']) {
    const answer = await send(
      rig.url,
      'POST',
      '/v1/chat/completions',
      { model: 'patient' },
      { 'x-litellm-timeout': value },
    );
    t.equal(answer.status, 400, JSON.stringify(value));
    t.match(JSON.parse(answer.text), { error: { code: 'invalid_header', param: 'x-litellm-timeout' } });
  }
  t.equal(rig.demo.seen.length, before, 'nothing went upstream');
});
