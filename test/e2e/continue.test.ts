// `assistant_prefill`: a stream that broke off goes on at another upstream. What the client reads is one stream; what is
// sent upstream, recorded and paid for is looked at beside it. Entry `a` is asked first; `b` and `c` go on with texts.
import OpenAI, { APIError } from 'openai';
import t from 'tap';
import type { Test } from 'tap';
import { openCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { startManualUpstream, type PendingCall } from '../support/manual-upstream.ts';
import { KEY, rowOf, send, startRig, type Rig, type Row } from '../support/rig.ts';

const PRICES = 'input_cost_per_token: 1e-6, output_cost_per_token: 1e-6';
const MESSAGES = [{ role: 'user' as const, content: 'one two three' }];

interface Setting {
  readonly a?: string;
  readonly b?: string;
  readonly general?: string;
  readonly router?: string;
}

async function start(
  t: Test,
  { a = '', b = ', assistant_prefill: true', general = '', router = '' }: Setting = {},
  clock?: ManualClock,
  countWithinMs?: number,
) {
  const upstream = await startManualUpstream(t);
  const entry = (group: string, model: string, order: number, more: string): string =>
    `  - { model_name: ${group}, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${order}, ${PRICES}${more} }, model_info: { id: id-${model} } }`;
  const rig = await startRig(t, {
    ...(clock === undefined ? {} : { clock }),
    ...(countWithinMs === undefined ? {} : { countWithinMs }),
    config: () => `
model_list:
${entry('m', 'a', 1, a)}
${entry('m', 'b', 2, b)}
${entry('three', 'a3', 1, '')}
${entry('three', 'b3', 2, ', assistant_prefill: true')}
${entry('three', 'c3', 3, ', assistant_prefill: true')}
general_settings: { master_key: ${KEY}${general} }
router_settings: { disable_cooldowns: true, default_litellm_params: { idle_timeout: 600 }${router} }
`,
  });
  const client = new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: KEY, maxRetries: 0 });
  return { rig, upstream, client };
}

/** What the SDK makes of a stream, to its end or to what it raises. */
async function read(client: OpenAI, model: string, more: object = {}) {
  const { data, response } = await client.chat.completions
    .create({ model, messages: MESSAGES, stream: true, ...more })
    .withResponse();
  const seen = { text: '', ids: new Set<string>(), models: new Set<string>(), created: new Set<number>() };
  const [roles, reasons]: [string[], string[]] = [[], []];
  let usage: OpenAI.CompletionUsage | null = null;
  let error: unknown = null;
  try {
    for await (const { id, model: name, created, choices, usage: stated } of data) {
      seen.ids.add(id);
      seen.models.add(name);
      seen.created.add(created);
      usage = stated ?? usage;
      for (const { delta, finish_reason: reason } of choices) {
        seen.text += delta.content ?? '';
        if (delta.role !== undefined) roles.push(delta.role);
        if (reason !== null) reasons.push(reason);
      }
    }
  } catch (thrown) {
    error = thrown;
  }
  const headers = Object.fromEntries(response.headers);
  return { ...seen, roles, reasons, usage, error, headers };
}

/** The row, once it is there: the SDK has read enough at `[DONE]`, before the answer's very end. */
async function settled(rig: Rig, answer: Parameters<typeof rowOf>[1]): Promise<Row> {
  await rig.logged(
    (line) => line['call_id'] === answer.headers['x-litellm-call-id'] && line['msg'] === 'request',
  );
  return rowOf(rig, answer);
}
const logOf = (row: Row): readonly Row[] => row['attempt_log'] as readonly Row[];
const metric = async (rig: Rig, model: string, end: string): Promise<string | undefined> =>
  new RegExp(`^throughline_continued_streams_total\\{model="${model}",end="${end}"\\} (.*)$`, 'm').exec(
    (await send(rig.url, 'GET', '/metrics')).text,
  )?.[1];
const lastMessage = ({ body }: PendingCall): unknown => (body['messages'] as unknown[]).at(-1);
const cut = (call: PendingCall): void => call.cut();

/** The ways in which a stream breaks off after its first token. */
const BREAKS: Readonly<Record<string, readonly [error: string, act: (call: PendingCall) => void]>> = {
  'is cut': ['stream_broken', cut],
  'ends without an end': ['stream_truncated', ({ res }) => void res.end()],
  stalls: ['idle_timeout', () => undefined],
  'holds nonsense': ['stream_broken', ({ res }) => void res.write('data: {"choices":[{"delta"\n\n')],
  'is cut within an event': [
    'stream_broken',
    ({ res }) => res.write('data: {"id":"id-a","choices":[{"ind', () => res.destroy()),
  ],
};

for (const [how, [error, act]] of Object.entries(BREAKS)) {
  t.test('an error event before the first token reaches the client where nobody else is asked', async (t) => {
    const { rig, upstream } = await start(t, { a: ', ttft_timeout: 600', router: ', num_retries: 0' });
    const answer = send(rig.url, 'POST', '/v1/chat/completions', {
      model: 'm',
      stream: true,
      messages: MESSAGES,
    });
    const call = await upstream.next('a');
    call.res.writeHead(200, { 'content-type': 'text/event-stream' });
    call.res.end('data: {"error":{"message":"no","code":"500"}}\n\n');
    t.match(await answer, { status: 200, text: 'data: {"error":{"message":"no","code":"500"}}\n\n' });
  });

  t.test(`a stream that ${how} goes on elsewhere, and the SDK reads one stream`, async (t) => {
    const clock = how === 'stalls' ? new ManualClock() : undefined;
    const { rig, upstream, client } = await start(t, {}, clock);
    const answer = read(client, 'm', { stream_options: { include_usage: true } });
    const a = await upstream.next('a');
    a.say({ role: 'assistant', content: '' }, { content: 'Hello ' });
    a.say({ content: 'wor' });
    act(a);
    const next = upstream.next('b');
    const b = await (clock?.during(next, 60_000) ?? next);
    t.same(b.body['messages'], [...MESSAGES, { role: 'assistant', content: 'Hello wor', prefix: true }]);
    t.equal(b.body['stream'], true);
    b.say({ role: 'assistant', content: '' }, { content: 'ld.' }, { content: ' Bye.' });
    b.finish();
    const got = await answer;
    t.equal(got.error, null);
    t.equal(got.text, 'Hello world. Bye.');
    t.same([got.ids, got.models, got.created], [new Set(['id-a']), new Set(['a']), new Set([1])]);
    t.same([got.roles, got.reasons], [['assistant'], ['stop']]);
    t.match(got.usage, { total_tokens: 12 });
    const row = await settled(rig, got);
    t.match(row, {
      status: 'success',
      end_reason: 'complete',
      attempts: 2,
      model: 'b',
      upstream_id: 'id-b',
      usage_source: 'estimate',
      usage: { total_tokens: 12 },
      metadata: { warnings: [`the stream of id-a broke off (${error}); id-b went on with it`] },
    });
    const [first, last] = logOf(row) as [Row, Row];
    t.match(first, {
      model: 'a',
      status: 200,
      error,
      continued: true,
      upstream_id: 'id-a',
      estimated_by: /./,
    });
    t.match(last, { model: 'b', status: 200, error: null, total_tokens: 12, spend: 12e-6 });
    t.ok(Number(first['total_tokens']) > 4, 'what the first one read and wrote was counted');
    t.equal(row['total_tokens'], Number(first['total_tokens']) + 12);
    t.equal(Math.round(Number(row['spend']) * 1e6), row['total_tokens'], 'and is paid for');
    t.equal(await metric(rig, 'm', 'joined'), '1');
    t.match(await rig.logged((line) => line['msg'] === 'stream continued'), {
      model_id: 'id-a',
      continued_by: 'id-b',
    });
    t.match((await rig.rows()).length, 1);
  });
}

t.test('the seam on the wire: a comment, no second role, no white space told twice, one end', async (t) => {
  const { rig, upstream } = await start(t);
  const answer = send(rig.url, 'POST', '/v1/chat/completions', {
    model: 'm',
    messages: MESSAGES,
    stream: true,
  });
  const a = await upstream.next('a');
  a.say({ role: 'assistant' }, { content: 'one \n' });
  cut(a);
  const b = await upstream.next('b');
  t.match(lastMessage(b), { content: 'one' }, 'some upstreams refuse white space at the end');
  b.say({ role: 'assistant' }, { content: ' ' }, { content: '\ntwo' });
  b.finish();
  const { text, broken } = await answer;
  t.notOk(broken);
  t.match(text, /\n\n: continued by id-b\n\ndata: /);
  t.equal(text.match(/"role"/g)?.length, 1);
  t.equal(text.match(/\[DONE\]/g)?.length, 1);
  t.notMatch(text, /usage/, 'the client did not ask for it');
  t.match(text, /"content":"one \\n"[^]*"content":"two"/);
});

t.test('one that goes on may break off too: the next one goes on', async (t) => {
  const { rig, upstream, client } = await start(t);
  const answer = read(client, 'three');
  const a = await upstream.next('a3');
  a.say({ role: 'assistant' }, { content: 'one ' });
  cut(a);
  const b = await upstream.next('b3');
  b.say({ content: 'two ' });
  cut(b);
  const c = await upstream.next('c3');
  t.match(lastMessage(c), { content: 'one two' });
  c.say({ role: 'assistant' }, { content: ' three' });
  c.finish();
  const got = await answer;
  t.match(got, { text: 'one two  three'.replace('  ', ' '), error: null, reasons: ['stop'] });
  t.same(got.ids, new Set(['id-a3']));
  const row = await settled(rig, got);
  t.match(logOf(row), [{ continued: true }, { continued: true }, { error: null }]);
  const tokens = logOf(row).map((one) => Number(one['total_tokens']));
  t.equal(
    row['total_tokens'],
    tokens.reduce((sum, count) => sum + count, 0),
  );
});

t.test('one that cannot go on is left out; when nobody can, the stream ends with its error', async (t) => {
  const { rig, upstream, client } = await start(t);
  const refuses: readonly ((call: PendingCall) => void)[] = [
    (call) => call.json(400, { error: { message: 'no prefill here' } }),
    (call) => call.json(200, { choices: [] }),
    (call) => call.say({ reasoning_content: 'hm' }),
    (call) => cut(call),
  ];
  for (const refuse of refuses) {
    const answer = read(client, 'three');
    const a = await upstream.next('a3');
    a.say({ role: 'assistant' }, { content: 'one' });
    cut(a);
    refuse(await upstream.next('b3'));
    const c = await upstream.next('c3');
    c.say({ content: ' two' });
    c.finish();
    const got = await answer;
    t.match(got, { text: 'one two', error: null });
    t.match(logOf(await settled(rig, got)), [
      { model: 'a3', continued: true },
      { model: 'b3', error: /./ },
      { model: 'c3' },
    ]);
  }
  const answer = read(client, 'm');
  const a = await upstream.next('a');
  a.say({ role: 'assistant' }, { content: 'one' });
  cut(a);
  (await upstream.next('b')).json(500, { error: { message: 'no' } });
  const got = await answer;
  t.equal(got.text, 'one');
  t.ok(got.error instanceof APIError);
  t.match(got.error, { code: 'stream_broken' });
  const row = await settled(rig, got);
  t.match(row, {
    end_reason: 'truncated',
    status: 'failure',
    attempts: 2,
    model: 'a',
    usage_source: 'estimate',
  });
  t.match(logOf(row), [
    { model: 'b', status: 500 },
    { model: 'a', error: 'stream_broken' },
  ]);
  t.equal(await metric(rig, 'three', 'failed'), '4');
  t.equal(await metric(rig, 'm', 'failed'), '1');
});

t.test('nothing but text goes on, and nothing that has ended', async (t) => {
  const { rig, upstream } = await start(t);
  const call = { index: 0, id: 'x', type: 'function', function: { name: 'f', arguments: '{' } };
  const told: Readonly<Record<string, string>> = {
    'a tool call': JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call] } }] }),
    thoughts: JSON.stringify({ choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] }),
    'log probabilities': JSON.stringify({
      choices: [{ index: 0, delta: { content: 'x' }, logprobs: { content: [1] } }],
    }),
    'a second choice': JSON.stringify({ choices: [{ index: 1, delta: { content: 'x' } }] }),
    sound: JSON.stringify({ choices: [{ index: 0, delta: { audio: { data: 'AA' } } }] }),
    'its end': JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] }),
  };
  for (const [what, event] of Object.entries(told)) {
    const answer = send(rig.url, 'POST', '/v1/chat/completions', {
      model: 'm',
      messages: MESSAGES,
      stream: true,
    });
    const a = await upstream.next('a');
    a.say({ role: 'assistant', content: 'one' });
    a.res.write(`data: ${event}\n\n`);
    cut(a);
    const { text, broken } = await answer;
    t.ok(broken, what);
    t.match(text, /"code":"stream_broken"/);
    t.notMatch(text, /DONE/);
  }
  const body = { model: 'm', messages: MESSAGES, stream: true, n: 2 };
  const answer = send(rig.url, 'POST', '/v1/chat/completions', body);
  const a = await upstream.next('a');
  a.say({ role: 'assistant', content: 'one' });
  cut(a);
  t.match((await answer).text, /"code":"stream_broken"/, 'two choices were asked for');
  t.notOk(upstream.models.includes('b'));
});

t.test('not without a declaration, a budget or a free place', async (t) => {
  const settings: readonly Setting[] = [
    { b: '' },
    { a: ', assistant_prefill: true', b: '' },
    { router: ', retry_budget: 0' },
    { router: ', num_retries: 0' },
  ];
  for (const setting of settings) {
    const { upstream, client } = await start(t, setting);
    const answer = read(client, 'm');
    const a = await upstream.next('a');
    a.say({ role: 'assistant', content: 'one' });
    cut(a);
    t.match(await answer, { text: 'one', error: { code: 'stream_broken' } });
    t.same(upstream.models, ['a']);
  }
  const { upstream, client, rig } = await start(t, {
    b: ', assistant_prefill: true, max_parallel_requests: 1',
  });
  const broken = [read(client, 'm'), read(client, 'm')];
  const [one, two] = [await upstream.next('a'), await upstream.next('a')];
  for (const call of [one, two]) call.say({ role: 'assistant', content: 'one' });
  cut(one);
  const b = await upstream.next('b');
  cut(two);
  await rig.logged((line) => line['error'] === 'stream_broken');
  b.say({ content: ' two' });
  b.finish();
  t.same((await Promise.all(broken)).map(({ text }) => text).toSorted(), ['one', 'one two']);
});

t.test('a client that leaves ends the one that goes on, and both parts are recorded', async (t) => {
  const { rig, upstream } = await start(t);
  const call = openCall(rig.url, '/v1/chat/completions', { model: 'm', messages: MESSAGES, stream: true });
  const a = await upstream.next('a');
  a.say({ role: 'assistant', content: 'one' });
  cut(a);
  const b = await upstream.next('b');
  b.say({ content: ' two' });
  await call.received('two');
  call.leave();
  await b.closed;
  await rig.logged((line) => line['end'] === 'client_gone');
  const [row] = (await rig.rows()) as [Row];
  t.match(row, { end_reason: 'client_gone', attempts: 2, usage_source: 'estimate', model: 'b' });
  t.match(logOf(row), [
    { model: 'a', continued: true },
    { model: 'b', error: 'client_gone' },
  ]);
});

t.test('a stop ends the one that goes on, before its first token and after', async (t) => {
  for (const says of [false, true]) {
    const { rig, upstream } = await start(t, {}, undefined, 100);
    const body = { model: 'm', messages: MESSAGES, stream: true };
    const answer = send(rig.url, 'POST', '/v1/chat/completions', body);
    const a = await upstream.next('a');
    a.say({ role: 'assistant', content: 'one' });
    cut(a);
    const b = await upstream.next('b');
    if (says) {
      b.say({ content: ' two' });
      await rig.logged((line) => line['msg'] === 'stream continued');
    }
    await rig.gateway.stop({ minMs: 0, maxMs: 0 });
    await b.closed;
    const { text, broken } = await answer;
    t.ok(broken);
    t.match(text, says ? /two[^]*"code":"shutting_down"/ : /one[^]*"code":"stream_broken"/);
    t.notMatch(text, /DONE/);
    t.match(
      rig.log.filter((line) => line['msg'] === 'request'),
      [{ end: says ? 'stopped' : 'truncated', attempts: 2 }],
    );
  }
});

t.test('with a hedge before it: the one that was outrun goes on with the stream of the other', async (t) => {
  const { rig, upstream, client } = await start(t, { a: ', hedge_after: 0.05' });
  const answer = read(client, 'm');
  const [a, b] = [await upstream.next('a'), await upstream.next('b')];
  a.say({ role: 'assistant', content: 'one' });
  await b.closed;
  cut(a);
  const again = await upstream.next('b');
  t.match(lastMessage(again), { content: 'one' });
  again.say({ content: ' two' });
  again.finish();
  const got = await answer;
  t.match(got, { text: 'one two', error: null });
  t.match(logOf(await settled(rig, got)), [
    { model: 'a', continued: true },
    { model: 'b', error: 'cancelled' },
    { model: 'b', error: null },
  ]);
});
