// Spend rows as they are read: one per request that passed authentication whatever its end, filtered, paged and
// summed, with a cost that says where it comes from.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import type { DemoGateway } from '../../proxy/demo/gateway.ts';
import { openCall } from '../support/call.ts';
import { chat, defaultConfig, KEY, raw, send, startRig, type Answer, type Rig, type Row } from '../support/rig.ts';

const KEY_HASH = createHash('sha256').update(KEY).digest('hex');
const SESSION = '0b0e4b7e-6f6c-4b0c-9d6e-2f1a5c3d7e90';

interface Page {
  readonly data: readonly Row[];
  readonly total: number;
  readonly page: number;
  readonly page_size: number;
  readonly total_pages: number;
}

const idOf = (answer: Answer): string => String(answer.headers['x-litellm-call-id']);

async function get<T>(t: Test, rig: Rig, path: string): Promise<T> {
  const answer = await send(rig.url, 'GET', path);
  t.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
  return JSON.parse(answer.text) as T;
}

const ALWAYS = 'start_date=2020-01-01&end_date=2100-01-01';

t.test('every request that passed authentication leaves one row, whatever its end', async (t) => {
  const rig = await startRig(t, {
    demo: { slowMs: 5_000 },
    config: (demo) => `
model_list:
  - model_name: "demo-*"
    litellm_params: { model: "litellm_proxy/demo-*", api_base: "${demo.url}", api_key: k, timeout: 0.2, stream_timeout: 0.2 }
  - model_name: demo-hold
    litellm_params: { model: "litellm_proxy/demo-hold", api_base: "${demo.url}", api_key: k }
  - model_name: down
    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:1", api_key: k }
  - model_name: star
    litellm_params: { model: "openai/demo/x", api_base: "${demo.url}/compat/v1", api_key: k }
general_settings: { master_key: ${KEY}, max_request_size_mb: 1 }
`,
  });
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    send(rig.url, 'POST', '/v1/chat/completions', body, headers);
  const failure = { status: 'failure', spend: 0, attempts: 0, end_reason: 'refused', error_source: 'client' };
  const cases: readonly (readonly [name: string, answer: Answer, row: object])[] = [
    [
      'success',
      await chat(rig, 'demo-x', { user: 'ann' }),
      { status: 'success', end_reason: 'complete', http_status: 200, attempts: 1, end_user: 'ann', error_source: null },
    ],
    [
      'success, streamed',
      await chat(rig, 'demo-x', { stream: true }),
      { status: 'success', end_reason: 'complete', stream: true, usage_source: 'upstream' },
    ],
    ['unknown model', await chat(rig, 'nobody'), { ...failure, http_status: 404, model_group: 'nobody', model: '' }],
    ['no model', await post({ messages: [] }), { ...failure, http_status: 400 }],
    ['not JSON', await post(Buffer.from('{"model": "demo-x"')), { ...failure, http_status: 400, request_bytes: 18 }],
    [
      'another type',
      await post(Buffer.from('a=b'), { 'content-type': 'application/x-www-form-urlencoded' }),
      { ...failure, http_status: 415 },
    ],
    ['compressed', await post(Buffer.from('x'), { 'content-encoding': 'gzip' }), { ...failure, http_status: 415 }],
    ['too large', await post(Buffer.alloc(1_048_577, 32)), { ...failure, http_status: 413 }],
    ['an upstream named', await post({ model: 'demo-x', api_base: 'http://x' }), { ...failure, http_status: 400 }],
    [
      'refused by the upstream',
      await chat(rig, 'demo-500'),
      { status: 'failure', end_reason: 'upstream_error', http_status: 500, attempts: 1, error_source: 'upstream' },
    ],
    [
      'limited by the upstream',
      await chat(rig, 'demo-429'),
      { status: 'failure', end_reason: 'upstream_error', http_status: 429, error_source: 'upstream' },
    ],
    [
      'not reachable',
      await chat(rig, 'down'),
      { status: 'failure', end_reason: 'upstream_broken', http_status: 503, spend: 0, error_source: 'upstream' },
    ],
    [
      'dropped',
      await chat(rig, 'demo-drop'),
      { end_reason: 'upstream_broken', http_status: 503, spend: null, cost_reason: 'the upstream gave no answer' },
    ],
    [
      'too slow',
      await chat(rig, 'demo-slow'),
      { end_reason: 'timeout', http_status: 504, spend: null, attempts: 1, error_source: 'upstream' },
    ],
    ['cut', await chat(rig, 'demo-cut', { stream: true }), { end_reason: 'truncated', http_status: 200, status: 'failure' }],
    [
      'another endpoint',
      await send(rig.url, 'POST', '/v1/embeddings', { model: 'star', input: 'one two' }),
      { call_type: 'aembedding', status: 'success', model: 'demo/x', custom_llm_provider: 'openai' },
    ],
    [
      'a response that nobody made',
      await send(rig.url, 'GET', '/v1/responses/resp_unknown'),
      { ...failure, call_type: 'aget_responses', http_status: 404 },
    ],
  ];
  const before = rig.demo.seen.length;
  const leaving = openCall(rig.url, '/v1/chat/completions', { model: 'demo-hold', messages: [] });
  await rig.demo.waitFor(before + 1);
  leaving.leave();
  await rig.logged((line) => line['end'] === 'client_gone');

  const none = [
    await chat(rig, 'demo-x', {}, { authorization: 'Bearer sk-wrong' }),
    await chat(rig, 'demo-x', {}, { authorization: '' }),
    await send(rig.url, 'GET', '/v1/models'),
    await send(rig.url, 'GET', '/v1/chat/completions'),
    await send(rig.url, 'POST', '/nowhere', {}),
  ];
  t.same(none.map((answer) => answer.status), [401, 401, 200, 405, 404]);
  const rows = await rig.rows();
  t.equal(rows.length, cases.length + 1);
  for (const [name, answer, want] of cases) {
    const mine = rows.filter((row) => row['request_id'] === idOf(answer));
    t.equal(mine.length, 1, name);
    t.match(mine[0], { ...want, api_key: KEY_HASH, http_status: answer.status }, name);
    t.equal(mine[0]?.['session_id'], answer.headers['x-litellm-session-id'], `${name}: the session it was told`);
  }
  const [gone] = rows.filter((row) => row['end_reason'] === 'client_gone');
  t.match(gone, { model_group: 'demo-hold', http_status: null, error_source: 'client', status: 'failure' });
  t.notMatch(JSON.stringify(rows), /one two three|Hello from/, 'never a prompt, never an answer');
});

t.test('where the cost of a row comes from', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => {
      const entry = (name: string, model: string, more = ''): string => `
  - model_name: ${name}
    litellm_params: { model: "${model}", api_base: "${demo.url}${model.startsWith('openai/') ? '/compat/v1' : ''}", api_key: k${more} }`;
      return `
model_list:${entry('entry', 'litellm_proxy/demo-cost', ', input_cost_per_token: 0.000001, output_cost_per_token: 0.000002')}${entry('header', 'litellm_proxy/demo-cost')}${entry('catalogue', 'openai/openai/gpt-4o')}${entry('unknown', 'litellm_proxy/demo-no-cost')}${entry('none', 'openai/openai/demo-cost-none')}${entry('no-usage', 'litellm_proxy/demo-no-usage-no-cost', ', input_cost_per_token: 0.000001')}${entry('flat', 'litellm_proxy/demo-no-usage-no-cost', ', input_cost_per_request: 0.25')}${entry('free', 'litellm_proxy/demo-no-usage', ', input_cost_per_token: 0, output_cost_per_token: 0')}${entry('star/*', 'openai/*')}
general_settings: { master_key: ${KEY} }
`;
    },
  });
  const rowOf = async (model: string, more: object = {}): Promise<{ row: Row | undefined; answer: Answer }> => {
    const answer = await chat(rig, model, more);
    t.equal(answer.status, 200, `${model}: ${answer.text}`);
    const row = await get<Row>(t, rig, `/spend/logs/ui/${idOf(answer)}`);
    const header = answer.headers['x-litellm-response-cost'];
    if (more !== undefined && !('stream' in more)) {
      t.equal(header, row['spend'] === null ? undefined : String(Number(row['spend'])), 'header and row agree');
    }
    return { row, answer };
  };
  const known = (source: string, spend: number): object => ({ cost_source: source, spend, cost_reason: '' });
  const tokens = (row: Row | undefined): [number, number] => [
    Number(row?.['prompt_tokens']),
    Number(row?.['completion_tokens']),
  ];

  for (const more of [{}, { stream: true }]) {
    const { row: entry } = await rowOf('entry', more);
    const [prompt, completion] = tokens(entry);
    t.ok(prompt > 0 && completion > 0);
    t.match(entry, known('entry', Number((prompt * 1e-6 + completion * 2e-6).toFixed(12))));
    t.match((await rowOf('header', more)).row, known('upstream_header', 0.00125));
    const { row: catalogue } = await rowOf('catalogue', more);
    const [input, output] = tokens(catalogue);
    t.match(catalogue, known('catalogue', Number((input * 2.5e-6 + output * 1e-5).toFixed(12))));
    t.match((await rowOf('unknown', more)).row, {
      spend: null,
      cost_source: 'none',
      cost_reason: 'no price is known for model demo-no-cost',
      usage_source: 'upstream',
      status: 'success',
    });
    t.match((await rowOf('none', more)).row, { spend: null, cost_source: 'none' }, 'the word None is no price');
    t.match((await rowOf('no-usage', more)).row, {
      spend: null,
      cost_reason: 'the upstream sent no usage',
      usage_source: 'none',
    });
    t.match((await rowOf('flat', more)).row, known('entry', 0.25));
    t.match((await rowOf('free', more)).row, known('entry', 0));
  }
  t.match((await rowOf('star/openai/gpt-4o')).row, { cost_source: 'catalogue', model_group: 'star/openai/gpt-4o' });
});

t.test('a row is there when its answer is, and holds what the call said about itself', async (t) => {
  const rig = await startRig(t);
  for (let n = 0; n < 20; n++) {
    const answer = await chat(rig, 'demo', { stream: n % 2 === 0 });
    t.equal((await get<Row[]>(t, rig, `/spend/logs?request_id=${idOf(answer)}`)).length, 1);
  }
  const answer = await chat(
    rig,
    'demo',
    { user: 'ann', metadata: { tags: ['a', 'b'], session_id: 'ignored: the header wins' } },
    {
      'x-litellm-session-id': SESSION,
      'x-litellm-tags': 'b, c',
      'x-litellm-spend-logs-metadata': '{"team":"blue","deep":{"n":1}}',
      'x-litellm-call-id': 'mine-1',
      'user-agent': 'agent/1.0',
    },
  );
  t.match((await rig.rows()).at(-1), {
    request_id: idOf(answer),
    call_type: 'acompletion',
    session_id: SESSION,
    session_source: 'x-litellm-session-id',
    end_user: 'ann',
    user: '',
    request_tags: ['a', 'b', 'c'],
    metadata: { spend_logs_metadata: { team: 'blue', deep: { n: 1 } }, warnings: [], status: 'success' },
    client_call_id: 'mine-1',
    user_agent: 'agent/1.0',
    requester_ip_address: '127.0.0.1',
    messages: {},
    response: {},
    proxy_server_request: {},
    cache_hit: 'False',
    upstream_call_id: /^demo-call-/,
    upstream_id: /^chatcmpl-/,
  });
  const odd = await chat(rig, 'demo', { metadata: 'text' }, { 'x-litellm-spend-logs-metadata': '{broken' });
  t.equal(odd.status, 200, 'doubtful metadata stops no call');
  t.match((await rig.rows()).at(-1), {
    metadata: {
      spend_logs_metadata: null,
      warnings: [/metadata is not an object/, /x-litellm-spend-logs-metadata is not a JSON object/],
    },
  });
});

t.test('reading', async (t) => {
  const rig = await startRig(t);
  const bare = SESSION.replaceAll('-', '');
  for (const [model, session, user, tag] of [
    ['demo', SESSION, 'ann', 'red'],
    ['demo', bare, 'ann', 'blue'],
    ['compat', SESSION.toUpperCase(), 'bob', 'red'],
    ['demo-500', 'other', 'bob', 'red'],
    ['nobody', 'other', 'bob', 'red'],
  ] as const) {
    await chat(rig, model, { user }, { 'x-litellm-session-id': session, 'x-litellm-tags': tag });
  }
  const rows = (await rig.rows()).toReversed();
  const ids = (some: readonly Row[]): unknown[] => some.map((row) => row['request_id']);
  const where = (name: string, value: unknown): unknown[] => ids(rows.filter((row) => row[name] === value));
  const session = ids(rows.slice(2));

  t.test('/spend/logs gives rows, newest first, by any of its filters', async (t) => {
    const read = async (query: string): Promise<unknown[]> => ids(await get<Row[]>(t, rig, `/spend/logs${query}`));
    t.same(await read(''), ids(rows));
    t.same(await read(`?request_id=${String(rows[2]?.['request_id'])}`), ids(rows.slice(2, 3)));
    t.same(await read('?end_user=bob'), where('end_user', 'bob'));
    t.same(await read(`?api_key=${KEY_HASH}`), ids(rows), 'a hash is no key');
    t.same(await read(`?api_key=${'0'.repeat(64)}`), []);
    t.same(await read('?user_id=somebody'), [], 'keys have no users yet');
    t.same(await read('?start_date=2020-01-01&end_date=2020-12-31&summarize=false'), []);
    t.same(await read(`?${ALWAYS}&summarize=false`), ids(rows));
    const plain = await send(rig.url, 'GET', `/spend/logs?api_key=${KEY}`);
    t.match(JSON.parse(plain.text), { error: { code: 'credentials_in_query' } }, 'a key itself is');
  });

  t.test('a session is one, with dashes or without and in any case', async (t) => {
    for (const spelling of [SESSION, bare, SESSION.toUpperCase()]) {
      t.same(ids(await get<Row[]>(t, rig, `/spend/logs?session_id=${spelling}`)), session);
      const page = await get<Page>(t, rig, `/spend/logs/session/ui?session_id=${spelling}`);
      t.same(ids(page.data), session.toReversed(), 'oldest first');
      t.match(page, { total: 3, page: 1, page_size: 50, total_pages: 1 });
    }
    const none = await get<Page>(t, rig, '/spend/logs/session/ui?session_id=nobody');
    t.strictSame(none, { data: [], total: 0, page: 1, page_size: 50, total_pages: 0 });
  });

  t.test('/ui and /v2 give pages, newest first, by any of their filters', async (t) => {
    for (const path of ['/spend/logs/ui', '/spend/logs/v2']) {
      const read = (query: string): Promise<Page> => get<Page>(t, rig, `${path}?${ALWAYS}${query}`);
      t.same(ids((await read('')).data), ids(rows));
      t.same(ids((await read('&status_filter=failure')).data), where('status', 'failure'));
      t.same(ids((await read('&model=compat')).data), where('model_group', 'compat'));
      t.same(ids((await read('&tag=blue&end_user=ann')).data), ids(rows.slice(3, 4)));
      t.same(ids((await read(`&session_id=${bare}`)).data), session);
      t.same(ids((await read('&min_spend=0.000001')).data), ids(rows.filter((row) => Number(row['spend']) > 0)));
      t.same(ids((await read('&max_spend=0')).data), where('spend', 0));
      const pages: unknown[] = [];
      for (const page of [1, 2, 3, 4]) {
        const got = await read(`&page=${page}&page_size=2`);
        t.match(got, { total: 5, page, page_size: 2, total_pages: 3 });
        pages.push(...ids(got.data));
      }
      t.same(pages, ids(rows), 'the pages are the rows');
    }
  });

  t.test('dates are UTC; a plain end day is included whole, an end with a time that second', async (t) => {
    const start = new Date(String(rows.at(-1)?.['startTime']));
    const count = async (from: Date, to: Date, cut: number): Promise<number> => {
      const text = (date: Date): string => encodeURIComponent(date.toISOString().slice(0, cut).replace('T', ' '));
      return (await get<Page>(t, rig, `/spend/logs/ui?start_date=${text(from)}&end_date=${text(to)}`)).total;
    };
    const end = new Date(String(rows[0]?.['startTime']));
    const day = 86_400_000;
    t.equal(await count(start, end, 10), 5);
    t.equal(await count(start, end, 19), 5);
    t.equal(await count(new Date(start.getTime() - day), new Date(start.getTime() - day), 10), 0);
    t.equal(await count(new Date(end.getTime() + 1_000), new Date(end.getTime() + day), 19), 0);
    t.equal((await get<Page>(t, rig, '/spend/logs/v2?start_date=2020-01-01T00:00:00Z&end_date=2100-01-01T00:00:00')).total, 5);
  });

  t.test('one row is read by its id', async (t) => {
    const row = await get<Row>(t, rig, `/spend/logs/ui/${String(rows[1]?.['request_id'])}`);
    t.strictSame(row, rows[1]);
    const none = await send(rig.url, 'GET', '/spend/logs/ui/nobody');
    t.equal(none.status, 400);
    t.match(JSON.parse(none.text), { error: { type: 'bad_request', message: 'The query parameter request_id names no row.' } });
  });

  t.test('with dates there is one sum per day, exact, by model, by end user and by key', async (t) => {
    const days = await get<Row[]>(t, rig, `/spend/logs?${ALWAYS}`);
    const sum = (some: readonly Row[]): number =>
      Number(some.reduce((all, row) => all + Number(row['spend'] ?? 0), 0).toFixed(12));
    const byDay = Map.groupBy(rows, (row) => String(row['startTime']).slice(0, 10));
    t.equal(days.length, byDay.size);
    for (const day of days) {
      const mine = byDay.get(String(day['startTime'])) ?? [];
      t.match(day, { spend: sum(mine), [KEY_HASH]: sum(mine) });
      const users = day['users'] as Readonly<Record<string, number>>;
      const models = day['models'] as Readonly<Record<string, number>>;
      for (const [user, spend] of Object.entries(users)) t.equal(spend, sum(mine.filter((row) => row['end_user'] === user)), user);
      for (const [model, spend] of Object.entries(models)) t.equal(spend, sum(mine.filter((row) => row['model'] === model)), model);
    }
    t.ok(sum(rows) > 0);
    t.same(await get(t, rig, '/spend/logs?start_date=2020-01-01&end_date=2020-01-02'), []);
  });

  t.test('a wrong parameter is 400 and named', async (t) => {
    const cases: readonly (readonly [path: string, param: string, message: string])[] = [
      ['/spend/logs/ui', 'start_date', 'Start date and end date are required.'],
      ['/spend/logs/v2?start_date=2025-01-01', 'start_date', 'Start date and end date are required.'],
      [`/spend/logs/ui?${ALWAYS}&page=0`, 'page', 'The query parameter page must be a number from 1 to 9007199254740991.'],
      [`/spend/logs/ui?${ALWAYS}&page=1.5`, 'page', 'The query parameter page must be a number from 1 to 9007199254740991.'],
      [`/spend/logs/ui?${ALWAYS}&page_size=1001`, 'page_size', 'The query parameter page_size must be a number from 1 to 1000.'],
      [`/spend/logs/ui?${ALWAYS}&page_size=x`, 'page_size', 'The query parameter page_size must be a number from 1 to 1000.'],
      [`/spend/logs/ui?${ALWAYS}&status_filter=ok`, 'status_filter', 'The query parameter status_filter must be success or failure.'],
      [`/spend/logs/ui?${ALWAYS}&min_spend=-1`, 'min_spend', 'The query parameter min_spend must be a number of US dollars, 0 or more.'],
      [`/spend/logs/ui?${ALWAYS}&max_spend=None`, 'max_spend', 'The query parameter max_spend must be a number of US dollars, 0 or more.'],
      ['/spend/logs/session/ui', 'session_id', 'The query parameter session_id is required.'],
      ['/spend/logs?start_date=01.02.2025', 'start_date', 'The query parameter start_date must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, UTC.'],
      ['/spend/logs?end_date=2025-02-30', 'end_date', 'The query parameter end_date must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, UTC.'],
      ['/spend/logs?start_date=2025-02-02&end_date=2025-02-01', 'end_date', 'The query parameter end_date is before start_date.'],
    ];
    for (const [path, param, message] of cases) {
      const answer = await send(rig.url, 'GET', path);
      t.equal(answer.status, 400, path);
      const error = { message, type: 'bad_request', param, code: 'invalid_parameter' };
      t.strictSame(JSON.parse(answer.text), { error }, path);
    }
    for (const path of ['/spend/logs', `/spend/logs/ui?${ALWAYS}`, '/spend/logs/session/ui?session_id=x', '/spend/logs/ui/x']) {
      t.equal((await send(rig.url, 'GET', path, undefined, { authorization: 'Bearer wrong' })).status, 401, path);
      t.equal((await send(rig.url, 'POST', path, {})).status, 405, path);
    }
  });

  t.test('a text of a filter is a value, never a part of a statement', async (t) => {
    for (const text of ["' OR '1'='1", '%', '_', '"; DROP TABLE spend; --', '\\', 'ü', '\0']) {
      const query = encodeURIComponent(text);
      t.same(await get<Row[]>(t, rig, `/spend/logs?end_user=${query}`), []);
      t.equal((await get<Page>(t, rig, `/spend/logs/ui?${ALWAYS}&tag=${query}&model=${query}`)).total, 0);
    }
    t.equal((await rig.rows()).length, 5);
  });
});

/** Lets no file of this process grow beyond `bytes`: to the journal, a full disk. null lifts the limit. */
function limitFiles(bytes: number | null): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes ?? 'unlimited'}:`], { stdio: 'ignore' });
}

function whyNot(): string | false {
  try {
    limitFiles(null);
    return false;
  } catch {
    return 'needs Linux and prlimit';
  }
}

t.test('a journal that cannot be written', { skip: whyNot() }, async (t) => {
  const config = (demo: DemoGateway, policy: string): string =>
    defaultConfig(demo, `  journal: { when_unwritable: ${policy} }\n`);
  const rig = await startRig(t, { config: (demo) => config(demo, 'serve') });
  const ignored = (): void => undefined; // the write itself fails, too; the runner would end the process on the signal
  process.on('SIGXFSZ', ignored);
  t.teardown(() => {
    limitFiles(null);
    process.off('SIGXFSZ', ignored);
  });
  const ready = (): Promise<Answer> => send(rig.url, 'GET', '/health/readiness');
  const atRisk = async (): Promise<number> => {
    const { text } = await send(rig.url, 'GET', '/metrics');
    return Number(/^throughline_spend_rows_at_risk (\d+)$/m.exec(text)?.[1]);
  };
  // The journal must be the largest file, or the limit would hit the database first.
  const padding = { 'x-litellm-spend-logs-metadata': JSON.stringify({ padding: 'x'.repeat(50_000) }) };
  for (let n = 0; n < 20; n++) t.equal((await chat(rig, 'demo', {}, padding)).status, 200);
  limitFiles(statSync(join(rig.folder, 'data/journal/journal-00000001.log')).size);

  const served = [await chat(rig, 'demo'), await chat(rig, 'demo', { stream: true }), await chat(rig, 'nobody')];
  t.same(served.map((answer) => answer.status), [200, 200, 404], 'served: the operator wanted it so');
  t.match(JSON.parse((await ready()).text), { status: 'healthy', journal: { writable: false, rows_at_risk: 3 } });
  t.equal(await atRisk(), 3);
  t.equal((await rig.logged((line) => line['event'] === 'journal_unwritable'))['level'], 50);

  await rig.reconfigure(config(rig.demo, 'block'));
  const seen = rig.demo.seen.length;
  const refused = await chat(rig, 'demo');
  t.match(refused, { status: 503, headers: { 'retry-after': '5', 'x-litellm-error-source': 'proxy' } });
  t.match(JSON.parse(refused.text), { error: { code: 'journal_unwritable', type: 'proxy_error' } });
  t.equal(rig.demo.seen.length, seen, 'nothing went upstream');
  t.match(await ready(), { status: 503, text: /"status":"unhealthy","reason":"the spend journal / });
  t.equal((await send(rig.url, 'GET', '/v1/models')).status, 200, 'lists need no journal');

  limitFiles(null);
  await rig.logged((line) => line['event'] === 'journal_writable');
  t.equal(await atRisk(), 0);
  t.equal((await ready()).status, 200);
  t.equal((await chat(rig, 'demo')).status, 200);
  const rows = await rig.rows();
  t.equal(rows.length, 20 + 3 + 1 + 1, 'not one is missing, the refused one included');
  t.same(
    rows.slice(20).map((row) => [row['request_id'], row['http_status']]).slice(0, 4),
    [...served, refused].map((answer) => [idOf(answer), answer.status]),
  );
});

t.test('rows survive a restart of the proxy', async (t) => {
  const rig = await startRig(t);
  const ids = [idOf(await chat(rig, 'demo')), idOf(await chat(rig, 'demo-500'))];
  await rig.stop();
  const again = await startRig(t, { folder: rig.folder });
  t.same((await again.rows()).map((row) => row['request_id']), ids);
  const refused = await raw(again.port, 'GET /spend/logs HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  t.match(refused, /^HTTP\/1\.1 401 /);
});
