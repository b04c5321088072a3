// `hedge_after`: a second attempt beside a slow one. Who wins, what becomes of the loser, when there is none, and what is
// recorded. Upstreams answer when the test says so; entry `a` is always asked first.
import t from 'tap';
import type { Test } from 'tap';
import { openCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { startManualUpstream, type ManualUpstream } from '../support/manual-upstream.ts';
import { chat, KEY, metric, rowOf, send, startRig, type Rig, type Row } from '../support/rig.ts';

interface Setting {
  /** Seconds. */
  readonly hedge?: number;
  readonly a?: string;
  readonly b?: string;
  readonly general?: string;
  readonly router?: string;
}

const PRICES = 'input_cost_per_token: 1e-6, output_cost_per_token: 1e-6';

async function start(t: Test, { hedge = 0.05, a = '', b = '', general = '', router = '' }: Setting = {}) {
  const upstream = await startManualUpstream(t);
  const clock = new ManualClock();
  const entry = (model: string, order: number, more: string): string =>
    `  - { model_name: m, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${order}, ${PRICES}${more} }, model_info: { id: id-${model} } }`;
  const rig = await startRig(t, {
    clock,
    config: () => `
model_list:
${entry('a', 1, `, hedge_after: ${hedge}${a}`)}
${entry('b', 2, b)}
  - { model_name: later, litellm_params: { model: litellm_proxy/c, api_base: "${upstream.url}", order: 1, num_retries: 2, hedge_after: 0.05 } }
  - { model_name: later, litellm_params: { model: litellm_proxy/d, api_base: "${upstream.url}", order: 2 } }
general_settings: { master_key: ${KEY}${general} }
router_settings: { disable_cooldowns: true${router} }
`,
  });
  return { rig, upstream, clock };
}

const hedges = (rig: Rig, end: string): Promise<string | undefined> =>
  metric(rig, `throughline_hedges_total\\{model="m",end="${end}"\\}`);
const underWay = async (rig: Rig): Promise<unknown[]> => {
  const { text } = await send(rig.url, 'GET', '/health');
  return [...text.matchAll(/"in_flight":(\d+)/g)].slice(0, 2).map(([, count]) => Number(count));
};
/** A call that began later was hedged by now: one that was not will not be. */
async function hedgedLater(rig: Rig, upstream: ManualUpstream): Promise<void> {
  const answer = chat(rig, 'later', { stream: true });
  const d = await upstream.next('d');
  d.say({ content: 'd' });
  d.finish();
  await answer;
}

/** A call that its first entry answers. */
async function answerAll(rig: Rig, upstream: ManualUpstream): Promise<number> {
  const answer = chat(rig, 'm', { stream: true });
  const call = await upstream.next('a');
  call.say({ content: 'a' });
  call.finish();
  return (await answer).status;
}
const both = async ({ next }: ManualUpstream) => [await next('a'), await next('b')] as const;
const logOf = (row: Row): readonly Row[] => row['attempt_log'] as readonly Row[];
const ANSWER = {
  id: 'x',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
};

t.test(
  'the second answers first: its bytes alone reach the client, and the first is cancelled',
  async (t) => {
    const { rig, upstream, clock } = await start(t);
    const answer = chat(rig, 'm', { stream: true });
    const a = await upstream.next('a');
    clock.advance(1_000);
    const b = await upstream.next('b');
    a.say({ role: 'assistant' }); // no token
    b.say({ role: 'assistant' }, { content: 'from b' });
    await a.closed;
    b.finish();
    const { text, headers } = await answer;
    t.match(text, /from b[^]*\[DONE\]\n\n$/);
    t.notMatch(text, /id-a/);
    t.match(headers, { 'x-litellm-model-id': 'id-b', 'x-litellm-attempted-retries': '1' });
    t.equal(headers['x-litellm-overhead-duration-ms'], '0.000', 'the wait for the first is no overhead');
    const row = await rowOf(rig, { headers });
    t.match(row, { status: 'success', attempts: 2, model: 'b', model_id: 'id-b', total_tokens: 12 });
    t.match(logOf(row), [
      { model: 'a', status: 200, error: 'cancelled', usage: null, spend: null },
      { model: 'b', status: 200, error: null, spend: 12e-6 },
    ]);
    t.match(row, { spend: 12e-6, cost_reason: 'of 1 replaced attempt the cost is not known' });
    t.equal(await hedges(rig, 'won'), '1');
    t.same(await underWay(rig), [0, 0]);
    t.equal((await rig.rows()).length, 1, 'one request, one row');
  },
);

t.test('the first answers after all: the second is cancelled, and what it stated is paid for', async (t) => {
  const { rig, upstream } = await start(t);
  const answer = chat(rig, 'm', { stream: true });
  const [a, b] = await both(upstream);
  b.res.writeHead(200, { 'content-type': 'text/event-stream', 'x-litellm-response-cost': '0.25' });
  b.res.flushHeaders();
  a.say({ role: 'assistant' }, { content: 'from a' });
  await b.closed;
  a.finish();
  const { text, headers } = await answer;
  t.match(text, /from a[^]*\[DONE\]\n\n$/);
  t.match(headers, { 'x-litellm-model-id': 'id-a', 'x-litellm-attempted-retries': '1' });
  const row = await rowOf(rig, { headers });
  t.match(row, { attempts: 2, model_id: 'id-a' });
  t.match(logOf(row), [
    { model: 'b', error: 'cancelled' },
    { model: 'a', error: null, spend: 12e-6 },
  ]);
  t.equal(await hedges(rig, 'lost'), '1');
});

t.test('not streamed: the first valid head wins, and its body may take its time', async (t) => {
  const { rig, upstream } = await start(t);
  const answer = chat(rig, 'm');
  const [a, b] = await both(upstream);
  b.res.writeHead(200, { 'content-type': 'application/json' });
  b.res.flushHeaders();
  await a.closed;
  b.res.end(JSON.stringify(ANSWER));
  t.match(await answer, { status: 200, headers: { 'x-litellm-model-id': 'id-b' } });
  const row = await rowOf(rig, await answer);
  t.match(row, { attempts: 2, spend: 12e-6 });
  t.equal(Number((await answer).headers['x-litellm-response-cost']), 12e-6);
});

t.test('one that fails does not win: the other one is waited for', async (t) => {
  const { rig, upstream } = await start(t);
  for (const [early, late] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const answer = chat(rig, 'm', { stream: true });
    const calls = { a: await upstream.next('a'), b: await upstream.next('b') };
    calls[early].json(500, { error: { message: 'no' } });
    await calls[early].closed;
    calls[late].say({ content: `from ${late}` });
    calls[late].finish();
    t.match(await answer, { status: 200, headers: { 'x-litellm-model-id': `id-${late}` } });
    t.match(logOf(await rowOf(rig, await answer)), [
      { model: early, status: 500, error: 'server' },
      { model: late, status: 200, error: null },
    ]);
  }
});

t.test('a begun stream whose first event is an error is not valid', async (t) => {
  const { rig, upstream } = await start(t);
  const answer = chat(rig, 'm', { stream: true });
  const [a, b] = await both(upstream);
  b.res.writeHead(200, { 'content-type': 'text/event-stream' });
  b.res.end('data: {"error":{"message":"no","code":"500"}}\n\n');
  await b.closed;
  a.say({ content: 'from a' });
  a.finish();
  t.match((await answer).text, /from a/);
  t.match(logOf(await rowOf(rig, await answer)), [{ model: 'b', error: 'server' }, { model: 'a' }]);
});

t.test('both fail: the failure is the answer, with both in one row', async (t) => {
  const { rig, upstream } = await start(t);
  const answer = chat(rig, 'm');
  const [a, b] = await both(upstream);
  a.json(500, { error: { message: 'a' } });
  await a.closed;
  b.json(503, { error: { message: 'b' } });
  t.match(await answer, { status: 503, text: /"b"/ });
  const row = await rowOf(rig, await answer);
  t.match(row, { status: 'failure', attempts: 2, http_status: 503, spend: 0 });
  t.match(logOf(row), [
    { model: 'a', status: 500, error: 'server' },
    { model: 'b', status: 503 },
  ]);
  t.equal(await hedges(rig, 'failed'), '1');
  t.equal(upstream.models.length, 2, 'nobody is asked a second time');
});

t.test('a refusal that is about the request is the answer at once', async (t) => {
  const { rig, upstream } = await start(t);
  const answer = chat(rig, 'm');
  const [a, b] = await both(upstream);
  b.json(400, { error: { message: 'not like this', type: 'invalid_request_error' } });
  t.match(await answer, { status: 400, text: /not like this/ });
  await a.closed;
  t.match(logOf(await rowOf(rig, await answer)), [
    { model: 'a', error: 'cancelled' },
    { model: 'b', status: 400 },
  ]);
});

t.test('no hedge without budget, retries or a free place: the first one goes on alone', async (t) => {
  const settings: readonly (readonly [why: string, setting: Setting])[] = [
    ['budget', { router: ', retry_budget: 0' }],
    ['retries', { router: ', num_retries: 0' }],
    ['off', { hedge: 0 }],
  ];
  for (const [why, setting] of settings) {
    const { rig, upstream } = await start(t, setting);
    const answer = chat(rig, 'm', { stream: true });
    const a = await upstream.next('a');
    if (why === 'budget')
      while ((await metric(rig, 'throughline_retries_denied_total\\{model="m"\\}')) !== '1');
    else await hedgedLater(rig, upstream);
    a.say({ content: 'from a' });
    a.finish();
    t.match(await answer, { status: 200, headers: { 'x-litellm-attempted-retries': '0' } });
    t.notOk(upstream.models.includes('b'), why);
    t.match(await rowOf(rig, await answer), { attempts: 1, attempt_log: [] });
  }
});

t.test('a hedge_after beyond what a timer can wait for is no hedge at once', async (t) => {
  const { rig, upstream } = await start(t, { hedge: 3_000_000 });
  const answer = chat(rig, 'm', { stream: true });
  const a = await upstream.next('a');
  await hedgedLater(rig, upstream);
  a.say({ content: 'from a' });
  a.finish();
  t.equal((await answer).status, 200);
  t.notOk(upstream.models.includes('b'));
});

t.test('a hedge takes a place of its entry and of all, if there is one, and gives it back', async (t) => {
  const { rig, upstream } = await start(t, {
    b: ', max_parallel_requests: 1',
    general: ', global_max_parallel_requests: 3',
  });
  const first = chat(rig, 'm', { stream: true });
  const [a, b] = await both(upstream);
  const second = chat(rig, 'm', { stream: true });
  const other = await upstream.next('a');
  b.say({ content: 'b' }); // its place stays taken while it streams
  await a.closed;
  t.same(await underWay(rig), [1, 1]);
  other.say({ content: 'a' });
  other.finish();
  t.match(await second, { status: 200, headers: { 'x-litellm-attempted-retries': '0' } });
  b.finish();
  t.equal((await first).status, 200);
  t.same(upstream.models, ['a', 'b', 'a']);
  t.same(await underWay(rig), [0, 0]);
  const again = await Promise.all([0, 1, 2].map(() => answerAll(rig, upstream)));
  t.same(again, [200, 200, 200], 'no place was lost');
});

t.test('a client that leaves ends both; what is read on is the first alone', async (t) => {
  for (const policy of ['abort', 'drain']) {
    const { rig, upstream } = await start(t, {
      a: `, on_disconnect: ${policy}`,
      b: `, on_disconnect: ${policy}`,
    });
    const call = openCall(rig.url, '/v1/chat/completions', {
      model: 'm',
      stream: true,
      messages: [{ role: 'user', content: 'x' }],
    });
    const [a, b] = await both(upstream);
    call.leave();
    await b.closed;
    if (policy === 'drain') {
      a.say({ content: 'unread' });
      a.finish();
    } else await a.closed;
    await rig.logged((line) => line['end'] === 'client_gone');
    const [row] = (await rig.rows()) as [Row];
    t.match(row, { end_reason: 'client_gone', attempts: 2, model_id: 'id-a' });
    t.match(logOf(row), [
      { model: 'b', error: 'cancelled' },
      { model: 'a', error: 'client_gone' },
    ]);
    t.equal(row['total_tokens'], policy === 'drain' ? 12 : 0);
    t.same(await underWay(rig), [0, 0]);
  }
});

t.test('a stop in the middle ends both, says so, and leaves one row', async (t) => {
  const { rig, upstream } = await start(t);
  const answer = chat(rig, 'm', { stream: true });
  const [a, b] = await both(upstream);
  await rig.gateway.stop({ minMs: 0, maxMs: 0 });
  await Promise.all([a.closed, b.closed]);
  t.match(await answer, { status: 503, text: /shutting_down/ });
  const lines = rig.log.filter((line) => line['msg'] === 'request');
  t.match(lines, [{ end: 'stopped', attempts: 2 }]);
});
