// One upstream fails in every way there is, another one works: what the client gets, what is recorded, and what is
// never replaced. The entries have ranks, so it is known who is asked first.
import t from 'tap';
import { openCall, startUpstream } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { chat, KEY, lastSeen, rowOf, send, startRig, type Row } from '../support/rig.ts';

const FIRST_EVENT_FAILS = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
/** Streams that say what was asked for by their model's name, in bytes that the demo gateway does not send. */
const odd = await startUpstream(t, ({ res, body }) => {
  const { model } = JSON.parse(body.toString()) as { model: string };
  if (model === 'paid-500') {
    res.writeHead(500, { 'content-type': 'application/json', 'x-litellm-response-cost': '0.25' });
    res.end('{"error":{"message":"no","code":"500"}}');
    return;
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const opening = {
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { role: 'assistant' } }],
  };
  if (model === 'opens-then-fails')
    res.write(`: ping\n\ndata: ${JSON.stringify(opening)}\n\ndata: ${JSON.stringify(FIRST_EVENT_FAILS)}\n\n`);
  else if (model === 'opens-then-ends') res.end(`data: ${JSON.stringify(opening)}\n\n`);
  else if (model === 'only-done') res.end('data: [DONE]\n\n');
  else if (model === 'opens-then-done') res.end(`data: ${JSON.stringify(opening)}\n\ndata: [DONE]\n\n`);
  else if (model === 'opens-then-hangs') res.write(`: ping\n\ndata: ${JSON.stringify(opening)}\n\n`);
  else if (model === 'only-ends')
    res.end(
      `data: ${JSON.stringify({ ...opening, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
    );
  else res.flushHeaders();
});

const clock = new ManualClock();
const rig = await startRig(t, {
  clock,
  demo: { slowMs: 3_600_000, stallMs: 3_600_000, eventIntervalMs: 5 },
  config: (demo) => {
    const entry = (name: string, model: string, more = '', base = demo.url): string =>
      `  - { model_name: "${name}", litellm_params: { model: "litellm_proxy/${model}", api_base: "${base}", api_key: sk-up, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6${more} } }\n`;
    const pair = (name: string, model: string, more = '', base = demo.url): string =>
      entry(name, model, `, order: 1${more}`, base) + entry(name, `demo-second`, ', order: 2');
    const groups = [
      '500',
      '503',
      '502-html',
      '429',
      'drop',
      'header-then-close',
      'cut',
      'cut-clean',
      'refuse-400',
      'refuse-401',
      '404',
      'context',
      'interval-error-event',
    ];
    return `
model_list:
${groups.map((name) => pair(name, `demo-${name}`)).join('')}
${pair('unreachable', 'demo', '', `http://127.0.0.1:1`)}
${pair('silent', 'demo-silent', ', timeout: 0.15')}
${pair('late', 'demo-slow-stream', ', ttft_timeout: 0.15')}
${[
  'opens-then-fails',
  'opens-then-ends',
  'opens-then-done',
  'opens-then-hangs',
  'only-head',
  'only-ends',
  'only-done',
  'paid-500',
]
  .map((name) => pair(name, name, /hangs|head/.test(name) ? ', ttft_timeout: 0.3' : '', odd))
  .join('')}
${entry('alone', 'demo-500')}
${entry('alone-late', 'only-head', ', ttft_timeout: 0.15', odd)}
${entry('stubborn', 'demo-503', ', num_retries: 1')}
${entry('patient', 'demo-429', ', num_retries: 2, total_timeout: 2')}${entry('waits', 'demo-429', ', num_retries: 2')}
${entry('first', 'demo-500')}${entry('second', 'demo-503')}${entry('third', 'demo')}
${entry('small', 'demo-context')}${entry('large', 'demo')}
  - { model_name: mixed, litellm_params: { model: litellm_proxy/demo-500, api_base: "${demo.url}", order: 1 } }
  - { model_name: mixed, litellm_params: { model: openai/acme/demo-second, api_base: "${demo.url}/compat/v1", order: 2 } }
${entry('uncounted', 'demo-no-usage-no-cost')}
  - model_name: moved
    litellm_params: { model: litellm_proxy/paid-500, api_base: "${odd}", order: 1 }
    model_info: { team_id: red, tags: [first] }
  - model_name: moved
    litellm_params: { model: litellm_proxy/demo-no-usage-no-cost, api_base: "${demo.url}", input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, order: 2 }
    model_info: { team_id: blue, tags: [second] }
general_settings: { master_key: ${KEY} }
router_settings:
  disable_cooldowns: true
  retry_budget: 10
  retry_after: 0
  fallbacks: [{ first: [second] }, { second: [third] }]
  context_window_fallbacks: [{ small: [large] }]
`;
  },
});

const models = (): string[] =>
  rig.demo.seen.map(({ body }) => String((JSON.parse(body.toString()) as { model?: string }).model));
const attemptsOf = (row: Row): unknown[] =>
  (row['attempt_log'] as Row[]).map(({ model, status, error }) => [model, status, error]);

/** Why the first attempt of each group came to nothing, not streamed and streamed; null: it was not replaced. */
const FAILURES: Readonly<
  Record<
    string,
    { readonly json?: string | null; readonly stream?: string | null; readonly status?: number | null }
  >
> = {
  500: { json: 'server', stream: 'server', status: 500 },
  503: { json: 'server', stream: 'server', status: 503 },
  '502-html': { json: 'server', stream: 'server', status: 502 },
  429: { json: 'rate_limit', stream: 'rate_limit', status: 429 },
  unreachable: { json: 'upstream_unreachable', stream: 'upstream_unreachable' },
  drop: { json: 'upstream_broken', stream: 'upstream_broken' },
  'header-then-close': { json: 'upstream_broken', stream: 'upstream_broken' },
  silent: { json: 'first_byte_timeout', stream: 'first_byte_timeout' },
  late: { stream: 'first_token_timeout' },
  'opens-then-fails': { stream: 'server', status: 200 },
  'opens-then-ends': { stream: 'stream_truncated' },
  'only-done': { stream: 'stream_truncated' },
  'opens-then-done': { stream: 'stream_truncated' },
  'opens-then-hangs': { stream: 'first_token_timeout' },
  'only-head': { stream: 'first_token_timeout' },
  'paid-500': { json: 'server', stream: 'server', status: 500 },
  cut: { json: 'upstream_broken' },
  'cut-clean': { json: 'server', status: 200 },
};

/** Groups whose first attempt is ended by a deadline. */
const SILENT = new Set(['silent', 'late', 'opens-then-hangs', 'only-head']);

for (const [group, { json, stream, status = null }] of Object.entries(FAILURES)) {
  for (const [how, error] of [
    ['not streamed', json],
    ['streamed', stream],
  ] as const) {
    if (error === undefined) continue;
    t.test(
      `${group}, ${how}: another upstream answers, and the client sees nothing of the first`,
      async (t) => {
        const before = rig.demo.seen.length;
        const called = chat(rig, group, how === 'streamed' ? { stream: true } : {});
        if (group === 'silent') await rig.demo.waitFor(before + 1);
        const answer = await (SILENT.has(group) ? clock.during(called) : called);
        t.equal(answer.status, 200);
        t.notOk(answer.broken);
        t.match(answer.text, how === 'streamed' ? /data: \[DONE\]/ : /"finish_reason":\s*"stop"/);
        t.notMatch(answer.text, /error/);
        t.match(answer.headers, { 'x-litellm-attempted-retries': '1', 'x-litellm-attempted-fallbacks': '0' });
        const row = await rowOf(rig, answer);
        t.match(row, {
          status: 'success',
          end_reason: 'complete',
          attempts: 2,
          model: 'demo-second',
          http_status: 200,
        });
        t.equal(answer.headers['x-litellm-model-id'], row['model_id']);
        const [first, second] = row['attempt_log'] as readonly [Row, Row];
        t.match(first, { status, error });
        if (group === 'silent') {
          t.ok(Number(first['duration_ms']) >= 150);
          t.equal(
            answer.headers['x-litellm-overhead-duration-ms'],
            '0.000',
            'the wait for it is no overhead',
          );
        }
        t.match(second, { model: 'demo-second', status: 200, error: null, usage: row['usage'] });
        t.not(first['model_id'], second['model_id']);
      },
    );
  }
}

t.test('what is about the request, or has begun to reach the client, is not replaced', async (t) => {
  const cases: readonly (readonly [group: string, stream: boolean, status: number])[] = [
    ['refuse-400', false, 400],
    ['refuse-400', true, 400],
    ['refuse-401', false, 401],
    ['404', false, 404],
    ['context', true, 400],
    ['cut', true, 200],
    ['cut-clean', true, 200],
    ['interval-error-event', true, 200],
    ['only-ends', true, 200],
  ];
  for (const [group, stream, status] of cases) {
    const before = rig.demo.seen.length;
    const answer = await chat(rig, group, stream ? { stream } : {});
    t.equal(answer.status, status, group);
    t.equal(answer.headers['x-litellm-attempted-retries'], '0');
    t.match(await rowOf(rig, answer), { attempts: 1, attempt_log: [] });
    t.notOk(models().slice(before).includes('demo-second'), `${group}: nobody else was asked`);
  }
  const ended = await chat(rig, 'only-ends', { stream: true });
  t.match(ended.text, /finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/, 'an empty answer is an answer');
});

t.test('a name with one entry is asked once, unless the operator says otherwise', async (t) => {
  const before = rig.demo.seen.length;
  const alone = await chat(rig, 'alone');
  t.equal(alone.status, 500);
  t.equal(rig.demo.seen.length, before + 1);
  const stubborn = await chat(rig, 'stubborn');
  t.equal(stubborn.status, 503, 'the upstream’s last answer, as it came');
  t.equal(rig.demo.seen.length, before + 3);
  const row = await rowOf(rig, stubborn);
  t.match(row, { status: 'failure', attempts: 2, http_status: 503, end_reason: 'upstream_error', spend: 0 });
  t.same(attemptsOf(row), [
    ['demo-503', 503, 'server'],
    ['demo-503', 503, 'upstream_error'],
  ]);
});

t.test('a stream without a token within ttft_timeout is refused with a status of its own', async (t) => {
  const answer = await clock.during(chat(rig, 'alone-late', { stream: true }));
  t.equal(answer.status, 504);
  t.match(JSON.parse(answer.text), { error: { code: 'first_token_timeout', type: 'timeout_error' } });
  t.match(await rowOf(rig, answer), { end_reason: 'timeout', error_code: undefined, spend: null });
});

t.test('fallbacks are followed in a chain; a long prompt finds the name made for it', async (t) => {
  const answer = await chat(rig, 'first');
  t.equal(answer.status, 200);
  t.match(answer.headers, { 'x-litellm-attempted-retries': '0', 'x-litellm-attempted-fallbacks': '2' });
  const row = await rowOf(rig, answer);
  t.match(row, { attempts: 3, model: 'demo', model_group: 'first' });
  t.same(attemptsOf(row), [
    ['demo-500', 500, 'server'],
    ['demo-503', 503, 'server'],
    ['demo', 200, null],
  ]);
  const long = await chat(rig, 'small', { stream: true });
  t.equal(long.status, 200);
  t.equal(long.headers['x-litellm-attempted-fallbacks'], '1');
  t.match((await rowOf(rig, long))['attempt_log'], [
    { status: 400, error: 'context_window' },
    { status: 200 },
  ]);
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /throughline_fallbacks_total\{model="first",to="second"\} 1/);
  t.match(text, /throughline_retries_total\{model="drop",failure="server"\} 2/);
});

t.test('what a replaced attempt cost is part of what the request cost', async (t) => {
  const answer = await chat(rig, 'paid-500');
  const row = await rowOf(rig, answer);
  const [first, second] = row['attempt_log'] as readonly [Row, Row];
  t.equal(first['spend'], 0.25);
  t.ok(Number(second['spend']) > 0);
  t.equal(row['spend'], 0.25 + Number(second['spend']));
  t.equal(Number(answer.headers['x-litellm-response-cost']), row['spend'], 'and the header says the same');
  const unknown = await rowOf(rig, await chat(rig, 'drop'));
  t.ok(Number(unknown['spend']) > 0);
  t.equal(unknown['cost_reason'], 'of 1 replaced attempt the cost is not known');
  const refused = await rowOf(rig, await chat(rig, 'unreachable'));
  t.match(refused, { cost_reason: '', attempt_log: [{ spend: 0 }, {}] }, 'nothing was asked of it');
});

t.test('the attempt that served is counted, priced and attributed by its own entry', async (t) => {
  // Large enough that the memory of the first body is used again for the next one.
  const messages = [{ role: 'user', content: 'The quick brown fox jumps over the lazy dog. '.repeat(4_000) }];
  const rows: Row[] = [];
  for (const model of ['uncounted', 'moved', 'uncounted', 'moved']) {
    const answer = await send(rig.url, 'POST', '/v1/chat/completions', { model, messages });
    t.equal(answer.status, 200, answer.text);
    rows.push(await rowOf(rig, answer));
  }
  const [one, moved, ...others] = rows as [Row, Row, ...Row[]];
  t.match(one, { usage_source: 'estimate', estimated_by: 'o200k_base', attempts: 1 });
  t.ok(Number(one['prompt_tokens']) > 36_000, String(one['prompt_tokens']));
  for (const row of [moved, ...others]) t.equal(row['prompt_tokens'], one['prompt_tokens']);
  t.match(moved, { usage_source: 'estimate', attempts: 2, team_id: 'blue', request_tags: ['second'] });
  const spends = (moved['attempt_log'] as Row[]).map(({ spend }) => spend);
  t.same(spends, [0.25, one['spend']]);
  t.equal(moved['spend'], Number((0.25 + Number(one['spend'])).toFixed(12)));
  t.equal((moved['cost_by_source'] as Row)['entry'], one['spend'], 'the sources speak of the answer alone');
});

t.test('a large body reaches the second upstream as the client sent it, shaped for that one', async (t) => {
  const long = 'lorem ipsum ä '.repeat(40_000);
  const body = {
    user: 'someone',
    model: 'mixed',
    metadata: { session_id: 's-1', note: 'x'.repeat(300) },
    messages: [{ role: 'user', content: long }],
    stream: true,
    seed: 1,
  };
  const answer = await send(rig.url, 'POST', '/v1/chat/completions', body);
  t.equal(answer.status, 200);
  t.equal(answer.headers['x-litellm-attempted-retries'], '1');
  const [first, second] = rig.demo.seen.slice(-2).map((seen) => seen.body.toString());
  const { user: _, metadata: __, ...kept } = body;
  const usage = { stream_options: { include_usage: true } };
  const { user: ___, ...toProxy } = body;
  t.equal(first, JSON.stringify({ ...toProxy, model: 'demo-500', ...usage }));
  t.equal(second, JSON.stringify({ ...kept, model: 'acme/demo-second', ...usage }));
  t.match(lastSeen(rig).path, '/compat/v1/chat/completions');
});

t.test('a client that leaves while the proxy waits to try again stops it', async (t) => {
  const before = rig.demo.seen.length;
  const messages = [{ role: 'user', content: 'x' }];
  const call = openCall(rig.url, '/v1/chat/completions', { model: 'waits', messages });
  await rig.demo.waitFor(before + 1);
  await rig.demo.seen.at(-1)?.finished;
  call.leave();
  t.match(await rig.logged((line) => line['model'] === 'waits'), { end: 'client_gone' });
  t.equal(rig.demo.seen.length, before + 1);
  const waits = await chat(rig, 'patient');
  t.equal(waits.status, 429, 'a wish that total_timeout leaves no time for is the client’s to keep');
  t.equal(waits.headers['retry-after'], '7');
});
