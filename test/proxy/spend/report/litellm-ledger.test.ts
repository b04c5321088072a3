// A LiteLLM's ledger over HTTP and as CSV. The rows were recorded from LiteLLM 1.106.2 (its own row builder, its own
// table, its own handler); the server around them pages as that handler does, and misbehaves as gateways do.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { Secret } from '../../../../config/secret.ts';
import {
  fetchLiteLlm,
  readLiteLlmCsv,
  type GatewayLedger,
} from '../../../../proxy/spend/report/litellm-ledger.ts';
import { KEEPS_IDLE } from '../../../support/keeps-idle.ts';

const FIXTURES = join(import.meta.dirname, 'fixture');
const CSV = readFileSync(join(FIXTURES, 'litellm-table.csv'), 'utf8');
const ROWS = (
  JSON.parse(readFileSync(join(FIXTURES, 'litellm-page.json'), 'utf8')) as { data: Record<string, unknown>[] }
).data;
const DAY = { startMs: Date.parse('2026-11-21'), endMs: Date.parse('2026-11-22') };

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

/** A gateway with these rows; `odd` may answer in its place. */
async function gateway(
  t: Test,
  rows: readonly Record<string, unknown>[],
  odd: (query: URLSearchParams, req: IncomingMessage) => Answer | null = () => null,
): Promise<GatewayLedger & { readonly asked: URLSearchParams[] }> {
  const asked: URLSearchParams[] = [];
  const server = createServer(KEEPS_IDLE, (req, res) => {
    const query = new URL(req.url ?? '', 'http://x').searchParams;
    asked.push(query);
    const answer = odd(query, req) ?? { body: pageOf(rows, query) };
    res.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
    res.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, key: new Secret('sk-admin'), keyHash: null, asked };
}

function pageOf(rows: readonly Record<string, unknown>[], query: URLSearchParams): object {
  const time = (text: string | null): number => Date.parse(`${(text ?? '').replace(' ', 'T')}Z`);
  const [from, to] = [time(query.get('start_date')), time(query.get('end_date'))];
  const found = rows.filter((row) => {
    const ms = Date.parse(String(row['startTime']));
    return ms >= from && ms <= to;
  });
  const [page, size] = [Number(query.get('page')), Number(query.get('page_size'))];
  return {
    data: found.slice((page - 1) * size, page * size),
    total: found.length,
    page,
    page_size: size,
    total_pages: Math.ceil(found.length / size),
    total_is_capped: false,
  };
}

/** Many rows like the recorded ones, a minute apart from midnight on. */
const many = (count: number): Record<string, unknown>[] =>
  Array.from({ length: count }, (_, n) => ({
    ...ROWS[n % ROWS.length],
    request_id: `row-${n}`,
    litellm_call_id: `call-${n}`,
    startTime: new Date(DAY.startMs + n * 30_000).toISOString(),
  }));

t.test('recorded rows say the same over HTTP and as CSV', async (t) => {
  const door = await gateway(t, ROWS);
  const fetched = await fetchLiteLlm(door, DAY);
  t.equal(fetched.length, ROWS.length);
  t.same(fetched, readLiteLlmCsv(CSV, null));
  t.match(fetched[0], {
    id: 'chatcmpl-e76c5c9e-13',
    callIds: ['66f9d781-de9a-42de-a47b-afcdc1907354'],
    session: '0b0e4b7e6f6c4b0c9d6e2f1a5c3d7e94',
    startMs: Date.parse('2026-11-21T14:02:52.014Z'),
    model: 'demo',
    promptTokens: 67,
    completionTokens: 9,
    spendPico: 336_000_000n, // 0.00033600000000000004 as it stands there
  });
  t.ok(fetched[0]?.tags.includes('support'));
});

t.test('the gateway is asked by days and pages, with its key, for one key of it if wanted', async (t) => {
  const keys: unknown[] = [];
  const door = await gateway(t, many(2_600), (_, req) => {
    keys.push(req.headers.authorization);
    return null;
  });
  const fetched = await fetchLiteLlm({ ...door, keyHash: 'h' }, DAY);
  t.equal(fetched.length, 2_600);
  t.same(
    door.asked.map((query) => query.get('page')),
    ['1', '2', '3'],
  );
  t.ok(keys.every((key) => key === 'Bearer sk-admin'));
  t.equal(door.asked[0]?.get('api_key'), 'h');
  await fetchLiteLlm(door, { startMs: DAY.startMs, endMs: DAY.startMs + 3 * 86_400_000 });
  t.ok(door.asked.some((query) => query.get('start_date') === '2026-11-23 00:00:00'));
});

t.test('an older gateway that takes 100 rows a page gets that', async (t) => {
  const door = await gateway(t, many(250), (query) =>
    Number(query.get('page_size')) > 100 ? { status: 422, body: { detail: 'page_size' } } : null,
  );
  t.equal((await fetchLiteLlm(door, DAY)).length, 250);
});

t.test(
  'pages that shift and totals that are capped are asked for again in halves, until every row is there',
  async (t) => {
    const rows = many(2_600);
    const shifting = await gateway(t, rows, (query) => {
      const page = pageOf(rows, query) as { data: unknown[]; total: number };
      return page.total > 1000 ? { body: { ...page, data: page.data.slice(1) } } : null;
    });
    const ids = (await fetchLiteLlm(shifting, DAY)).map(({ id }) => id);
    t.equal(new Set(ids).size, 2_600);
    t.equal(ids.length, 2_600, 'none twice');
    const capped = await gateway(t, rows, (query) => {
      const page = pageOf(rows, query) as { total: number };
      return page.total > 500
        ? { body: { ...page, total: 500, total_pages: 1, total_is_capped: true } }
        : null;
    });
    t.equal((await fetchLiteLlm(capped, DAY)).length, 2_600);
    const never = await gateway(t, rows, () => ({ body: { data: [], total: 1, total_pages: 1 } }));
    await t.rejects(fetchLiteLlm(never, DAY), {
      name: 'LedgerError',
      message: /more rows at .* than it lists/,
    });
  },
);

t.test('a gateway that refuses, breaks or is none is an error, and its key is in no message', async (t) => {
  const cases: readonly (readonly [answer: Answer, says: RegExp])[] = [
    [
      { status: 401, body: { error: 'no' } },
      /answers 401 to \/spend\/logs\/v2: .* - give the key of an administrator/,
    ],
    [{ status: 500, body: 'x'.repeat(5_000) }, /answers 500/],
    [{ body: '<html>' }, /no page of rows - see --url/],
    [
      { body: { data: [{ request_id: 'x', startTime: 'soon' }], total: 1 } },
      /the row x .* no readable startTime: soon/,
    ],
  ];
  for (const [answer, says] of cases) {
    const door = await gateway(t, [], () => answer);
    const error = await fetchLiteLlm(door, DAY).catch((one: unknown) => one as Error);
    t.match(error, { name: 'LedgerError', message: says });
    t.notMatch(String(error), /sk-admin/);
    t.ok(String(error).length < 500);
  }
  const gone = { url: 'http://127.0.0.1:1', key: new Secret('sk-admin'), keyHash: null };
  await t.rejects(fetchLiteLlm(gone, DAY), { message: /127\.0\.0\.1:1 does not answer \(.+\) - see --url/ });
});

t.test('a CSV of another table is refused; of ours only the wanted key is read', (t) => {
  t.throws(() => readLiteLlmCsv('a,b\n1,2\n', null), {
    message: /no column request_id, startTime, spend - export "LiteLLM_SpendLogs"/,
  });
  t.same(readLiteLlmCsv('request_id,startTime,spend\n', null), []);
  t.equal(readLiteLlmCsv(CSV, 'litellm_proxy_master_key').length, ROWS.length);
  t.same(readLiteLlmCsv(CSV, 'another'), []);
  const [row] = readLiteLlmCsv(
    'request_id,startTime,spend,request_tags\nx,2026-11-21 10:00:00+00,,nonsense\n',
    null,
  );
  t.match(row, {
    startMs: Date.parse('2026-11-21T10:00:00Z'),
    spendPico: null,
    tags: [],
    promptTokens: null,
  });
  t.end();
});
