// Calls with an Idempotency-Key: what is paid once, what is given again, and what is said when it cannot be.
import t from 'tap';
import type { Test } from 'tap';
import { openCall } from '../support/call.ts';
import { managed, newKey } from '../support/manage.ts';
import { ManualClock } from '../support/clock.ts';
import {
  chat,
  defaultConfig,
  KEY,
  raw,
  rowOf,
  send,
  startRig,
  type Answer,
  type Rig,
} from '../support/rig.ts';

const start = (t: Test, settings = '{}', more = '', clock = new ManualClock()): Promise<Rig> =>
  startRig(t, { clock, config: (demo) => defaultConfig(demo, `  idempotency: ${settings}\n${more}`) });
const key = (value: string): Record<string, string> => ({ 'idempotency-key': value });
const id = ({ headers }: Answer): string => String(headers['x-litellm-call-id']);
const coded = (t: Test, answer: Answer, status: number, code: string): void =>
  void t.match(
    { ...answer, ...JSON.parse(answer.text) },
    { status, error: { code, type: 'idempotency_error' } },
  );

t.test('without the setting the header has no effect', async (t) => {
  const rig = await startRig(t);
  for (let n = 0; n < 2; n += 1) t.equal((await chat(rig, 'demo', {}, key('k'))).status, 200);
  t.equal(rig.demo.seen.length, 2);
});

t.test('an answer is given again byte for byte, and paid once; its row says so', async (t) => {
  const rig = await start(t);
  const first = await chat(rig, 'demo-cost', {}, key('k'));
  const session = { 'x-litellm-session-id': 'another-session' };
  const again = await chat(rig, 'demo-cost', {}, { ...key('k'), ...session });
  t.equal(rig.demo.seen.length, 1, 'headers do not make it another call');
  t.same(again.body, first.body);
  t.match(again, {
    status: 200,
    headers: {
      'content-type': first.headers['content-type'],
      'idempotent-replayed': 'true',
      'x-litellm-original-call-id': id(first),
      'x-litellm-response-cost': '0',
    },
  });
  t.notOk('idempotent-replayed' in first.headers);
  t.not(id(again), id(first));
  t.match(await rowOf(rig, first), { spend: 0.00125, end_reason: 'complete' });
  t.match(await rowOf(rig, again), {
    spend: 0,
    status: 'success',
    end_reason: 'replayed',
    session_id: 'another-session',
    http_status: 200,
    attempts: 0,
    total_tokens: 0,
    metadata: { warnings: [`the answer of call ${id(first)} was given again`] },
  });
  const other = await chat(rig, 'demo-cost', {}, key('other'));
  t.notOk('idempotent-replayed' in other.headers);
  t.equal(rig.demo.seen.length, 2);
});

t.test(
  'a retry with another value of the same virtual key gets the answer, and so does the old value in its grace time',
  async (t) => {
    const rig = await start(t);
    const before = await newKey(rig, {});
    const as = (value: string): Record<string, string> => ({ ...key('k'), authorization: `Bearer ${value}` });
    const first = await chat(rig, 'demo', {}, as(before));
    const renewed = await managed(rig, 'POST /key/regenerate', { key: before, grace_period: '1h' });
    for (const value of [before, String(renewed['key'])])
      t.match(await chat(rig, 'demo', {}, as(value)), {
        status: 200,
        headers: { 'idempotent-replayed': 'true', 'x-litellm-original-call-id': id(first) },
      });
    const other = await chat(rig, 'demo', {}, as(await newKey(rig, {})));
    t.notOk('idempotent-replayed' in other.headers, 'another key');
    t.equal(rig.demo.seen.length, 2);
  },
);

t.test('the same key with another body, path or query is refused', async (t) => {
  const rig = await start(t);
  const first = await chat(rig, 'demo', {}, key('k'));
  const another = await chat(rig, 'demo', { temperature: 1 }, key('k'));
  coded(t, another, 422, 'idempotency_mismatch');
  t.match(another.text, id(first));
  t.match(await rowOf(rig, another), { end_reason: 'refused', spend: 0 });
  const body = { model: 'demo', messages: [{ role: 'user', content: 'one two three' }] };
  coded(t, await send(rig.url, 'POST', '/chat/completions', body, key('k')), 422, 'idempotency_mismatch');
  coded(
    t,
    await send(rig.url, 'POST', '/v1/chat/completions?a=1', body, key('k')),
    422,
    'idempotency_mismatch',
  );
  t.equal(rig.demo.seen.length, 1);
});

t.test('a call that runs is joined, however often', async (t) => {
  const rig = await start(t);
  const calls = Array.from({ length: 5 }, () => chat(rig, 'demo-hold', {}, key('k')));
  await rig.demo.waitFor(1);
  const leaves = openCall(
    rig.url,
    '/v1/chat/completions',
    { model: 'demo-hold', messages: [{ role: 'user', content: 'one two three' }] },
    key('k'),
  );
  await send(rig.url, 'GET', '/health/liveness');
  leaves.leave();
  await rig.logged((line) => line['end'] === 'client_gone');
  rig.demo.release();
  const answers = await Promise.all(calls);
  t.equal(rig.demo.seen.length, 1);
  t.equal(new Set(answers.map(({ text }) => text)).size, 1);
  t.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 4);
});

t.test('a client that gave up and asks again gets the answer that was read on for it', async (t) => {
  const rig = await start(t);
  const body = { model: 'demo-hold', messages: [{ role: 'user', content: 'one two three' }] };
  const first = openCall(rig.url, '/v1/chat/completions', body, key('k'));
  await rig.demo.waitFor(1);
  first.leave();
  const again = send(rig.url, 'POST', '/v1/chat/completions', body, key('k'));
  await send(rig.url, 'GET', '/health/liveness');
  rig.demo.release();
  t.match(await again, { status: 200, headers: { 'idempotent-replayed': 'true' } });
  t.match(JSON.parse((await again).text), { object: 'chat.completion' });
  const rows = await rig.rows();
  t.same(rows.map((row) => row['end_reason']).sort(), ['client_gone', 'replayed']);
  t.equal(rig.demo.seen.length, 1);
});

t.test('what cannot be given again is named instead of paid again', async (t) => {
  const rig = await start(t);
  const running = openCall(
    rig.url,
    '/v1/chat/completions',
    { model: 'demo-hold', messages: [{ role: 'user', content: 'one two three' }], stream: true },
    key('stream'),
  );
  await rig.demo.waitFor(1);
  const during = await chat(rig, 'demo-hold', { stream: true }, key('stream'));
  coded(t, during, 409, 'idempotency_conflict');
  t.match(during.text, /is still running, and it is a stream/);
  t.equal(during.headers['x-should-retry'], 'false', 'SDKs would send a 409 again');
  rig.demo.release();
  await running.received('[DONE]');
  await rig.logged((line) => line['end'] === 'complete');
  const after = await chat(rig, 'demo-hold', { stream: true }, key('stream'));
  coded(t, after, 409, 'idempotency_conflict');
  t.match(after.text, /has ended \(complete, with status 200\)/);
  const callId = String(after.headers['x-litellm-original-call-id']);
  t.match(await rowOf(rig, { headers: { 'x-litellm-call-id': callId } }), {
    end_reason: 'complete',
    stream: true,
  });
  const large = await chat(rig, 'demo-huge', {}, key('large'));
  t.equal(large.status, 200);
  coded(t, await chat(rig, 'demo-huge', {}, key('large')), 409, 'idempotency_conflict');
  t.equal(rig.demo.seen.length, 2);
});

t.test('what failed without a cost is tried again; what may have cost is not', async (t) => {
  const clock = new ManualClock();
  const rig = await start(t, '{}', 'router_settings: { timeout: 0.2 }\n', clock);
  for (let n = 1; n <= 2; n += 1) {
    t.equal((await chat(rig, 'demo-500', {}, key('free'))).status, 500);
    t.equal(rig.demo.seen.length, n);
  }
  const late = await clock.during(chat(rig, 'demo-silent', {}, key('dear')));
  t.match(late, { status: 504 });
  const again = await chat(rig, 'demo-silent', {}, key('dear'));
  t.match(again, { status: 504, text: late.text, headers: { 'idempotent-replayed': 'true' } });
  t.match(again.headers, { 'x-litellm-error-source': 'upstream' });
  t.match(await rowOf(rig, again), { end_reason: 'replayed', status: 'failure', spend: 0 });
  t.equal(rig.demo.seen.length, 3);
});

t.test('the window and the number of calls are bounded; running ones are never forgotten', async (t) => {
  const clock = new ManualClock();
  const rig = await start(t, '{ window_seconds: 60, max_entries: 1 }', '', clock);
  const isReplayed = async (): Promise<boolean> =>
    'idempotent-replayed' in (await chat(rig, 'demo', {}, key('k'))).headers;
  t.notOk(await isReplayed());
  clock.advance(59_999);
  t.ok(await isReplayed());
  clock.advance(2);
  t.notOk(await isReplayed());
  const runs = chat(rig, 'demo-hold', {}, key('runs'));
  await rig.demo.waitFor(3);
  const full = await chat(rig, 'demo', {}, key('new'));
  t.match(full, { status: 503, headers: { 'retry-after': '1' } });
  t.match(full.text, '"code":"overloaded"');
  t.equal((await chat(rig, 'demo')).status, 200, 'without a key nothing is asked');
  rig.demo.release();
  t.equal((await runs).status, 200);
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /^throughline_idempotency_calls 1$/m);
  t.match(text, /^throughline_idempotency_bytes [1-9]\d+$/m);
});

t.test('a key that is no key, or stands twice, is refused', async (t) => {
  const rig = await start(t);
  for (const bad of ['', 'a b', 'x'.repeat(256)]) {
    const answer = await chat(rig, 'demo', {}, key(bad));
    t.match(answer, { status: 400, text: '"param":"idempotency-key"' }, bad.slice(0, 5));
  }
  const body = JSON.stringify({ model: 'demo', messages: [] });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${KEY}\r\n`;
  const twice = `idempotency-key: a\r\nIdempotency-Key: b\r\ncontent-type: application/json\r\n`;
  t.match(
    await raw(rig.port, `${head}${twice}content-length: ${body.length}\r\n\r\n${body}`),
    /^HTTP\/1\.1 400 /,
  );
  t.equal(rig.demo.seen.length, 0);
});
