// Spend rows as requests leave them: one per request that passed authentication whatever its end, with a cost that
// says where it comes from, and none lost when the journal cannot be written or the proxy is started again.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import {
  chat,
  defaultConfig,
  KEY,
  raw,
  send,
  startRig,
  type Answer,
  type Rig,
  type Row,
} from '../support/rig.ts';

const KEY_HASH = createHash('sha256').update(KEY).digest('hex');
const SESSION = '0b0e4b7e-6f6c-4b0c-9d6e-2f1a5c3d7e90';

const idOf = (answer: Answer): string => String(answer.headers['x-litellm-call-id']);

async function get<T>(t: Test, rig: Rig, path: string): Promise<T> {
  const answer = await send(rig.url, 'GET', path);
  t.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
  return JSON.parse(answer.text) as T;
}

t.test('every request that passed authentication leaves one row, whatever its end', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, {
    clock,
    demo: { slowMs: 3_600_000 },
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
      {
        status: 'success',
        end_reason: 'complete',
        http_status: 200,
        attempts: 1,
        end_user: 'ann',
        error_source: null,
      },
    ],
    [
      'success, streamed',
      await chat(rig, 'demo-x', { stream: true }),
      { status: 'success', end_reason: 'complete', stream: true, usage_source: 'upstream' },
    ],
    [
      'unknown model',
      await chat(rig, 'nobody'),
      { ...failure, http_status: 404, model_group: 'nobody', model: 'nobody' },
    ],
    ['no model', await post({ messages: [] }), { ...failure, http_status: 400 }],
    [
      'not JSON',
      await post(Buffer.from('{"model": "demo-x"')),
      { ...failure, http_status: 400, request_bytes: 18 },
    ],
    [
      'another type',
      await post(Buffer.from('a=b'), { 'content-type': 'application/x-www-form-urlencoded' }),
      { ...failure, http_status: 415 },
    ],
    [
      'compressed',
      await post(Buffer.from('x'), { 'content-encoding': 'gzip' }),
      { ...failure, http_status: 415 },
    ],
    ['too large', await post(Buffer.alloc(1_048_577, 32)), { ...failure, http_status: 413 }],
    [
      'an upstream named',
      await post({ model: 'demo-x', api_base: 'http://x' }),
      { ...failure, http_status: 400 },
    ],
    [
      'refused by the upstream',
      await chat(rig, 'demo-500'),
      {
        status: 'failure',
        end_reason: 'upstream_error',
        http_status: 500,
        attempts: 1,
        error_source: 'upstream',
      },
    ],
    [
      'limited by the upstream',
      await chat(rig, 'demo-429'),
      { status: 'failure', end_reason: 'upstream_error', http_status: 429, error_source: 'upstream' },
    ],
    [
      'not reachable',
      await chat(rig, 'down'),
      {
        status: 'failure',
        end_reason: 'upstream_broken',
        http_status: 503,
        spend: 0,
        error_source: 'upstream',
      },
    ],
    [
      'dropped',
      await chat(rig, 'demo-drop'),
      {
        end_reason: 'upstream_broken',
        http_status: 503,
        spend: null,
        cost_reason: 'the upstream gave no answer',
      },
    ],
    [
      'too slow',
      await clock.during(chat(rig, 'demo-slow')),
      { end_reason: 'timeout', http_status: 504, spend: null, attempts: 1, error_source: 'upstream' },
    ],
    [
      'cut',
      await chat(rig, 'demo-cut', { stream: true }),
      { end_reason: 'truncated', http_status: 200, status: 'failure' },
    ],
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
  t.same(
    none.map((answer) => answer.status),
    [401, 401, 200, 405, 404],
  );
  const rows = await rig.rows();
  t.equal(rows.length, cases.length + 1);
  for (const [name, answer, want] of cases) {
    const mine = rows.filter((row) => row['request_id'] === idOf(answer));
    t.equal(mine.length, 1, name);
    t.match(mine[0], { ...want, api_key: KEY_HASH, http_status: answer.status }, name);
    t.equal(
      mine[0]?.['session_id'],
      answer.headers['x-litellm-session-id'],
      `${name}: the session it was told`,
    );
  }
  const gone = rows.find((row) => row['end_reason'] === 'client_gone');
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
  const rowOf = async (
    model: string,
    more: object = {},
  ): Promise<{ row: Row | undefined; answer: Answer }> => {
    const answer = await chat(rig, model, more);
    t.equal(answer.status, 200, `${model}: ${answer.text}`);
    const row = await get<Row>(t, rig, `/spend/logs/ui/${idOf(answer)}`);
    const header = answer.headers['x-litellm-response-cost'];
    if (more !== undefined && !('stream' in more)) {
      t.equal(
        header,
        row['spend'] === null ? undefined : String(Number(row['spend'])),
        'header and row agree',
      );
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
    t.match(
      (await rowOf('none', more)).row,
      { spend: null, cost_source: 'none' },
      'the word None is no price',
    );
    t.match((await rowOf('no-usage', more)).row, {
      spend: null,
      cost_reason: 'no output price is known for model demo-no-usage-no-cost',
      usage_source: 'estimate',
    });
    t.match((await rowOf('flat', more)).row, known('entry', 0.25));
    t.match((await rowOf('free', more)).row, known('entry', 0));
  }
  t.match((await rowOf('star/openai/gpt-4o')).row, {
    cost_source: 'catalogue',
    model_group: 'star/openai/gpt-4o',
  });
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

/** Lets no file of this process grow beyond `bytes`: to the journal, a full disk. null lifts the limit. */
function limitFiles(bytes: number | null): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes ?? 'unlimited'}:`], {
    stdio: 'ignore',
  });
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

  const served = [
    await chat(rig, 'demo'),
    await chat(rig, 'demo', { stream: true }),
    await chat(rig, 'nobody'),
  ];
  t.same(
    served.map((answer) => answer.status),
    [200, 200, 404],
    'served: the operator wanted it so',
  );
  t.match(JSON.parse((await ready()).text), {
    status: 'healthy',
    journal: { writable: false, rows_at_risk: 1 },
  });
  t.equal(
    await atRisk(),
    1,
    'calls that went upstream have the reserve; the refused one’s row waits in memory',
  );
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
    rows
      .slice(20)
      .map((row) => [row['request_id'], row['http_status']])
      .slice(0, 4),
    [...served, refused].map((answer) => [idOf(answer), answer.status]),
  );
});

t.test('rows survive a restart of the proxy', async (t) => {
  const rig = await startRig(t);
  const ids = [idOf(await chat(rig, 'demo')), idOf(await chat(rig, 'demo-500'))];
  await rig.stop();
  const again = await startRig(t, { folder: rig.folder });
  t.same(
    (await again.rows()).map((row) => row['request_id']),
    ids,
  );
  const refused = await raw(
    again.port,
    'GET /spend/logs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
  );
  t.match(refused, /^HTTP\/1\.1 401 /);
});
