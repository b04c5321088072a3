// Reading spend rows: the four endpoints with their filters, pages, sums and refusals.
import { createHash } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import { chat, KEY, send, startRig, type Rig, type Row } from '../support/rig.ts';

const KEY_HASH = createHash('sha256').update(KEY).digest('hex');
const SESSION = '0b0e4b7e-6f6c-4b0c-9d6e-2f1a5c3d7e90';
const ALWAYS = 'start_date=2020-01-01&end_date=2100-01-01';

interface Page {
  readonly data: readonly Row[];
  readonly total: number;
  readonly page: number;
  readonly page_size: number;
  readonly total_pages: number;
}

async function get<T>(t: Test, rig: Rig, path: string): Promise<T> {
  const answer = await send(rig.url, 'GET', path);
  t.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
  return JSON.parse(answer.text) as T;
}

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
    const read = async (query: string): Promise<unknown[]> =>
      ids(await get<Row[]>(t, rig, `/spend/logs${query}`));
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
      t.same(
        ids((await read('&min_spend=0.000001')).data),
        ids(rows.filter((row) => Number(row['spend']) > 0)),
      );
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
      const text = (date: Date): string =>
        encodeURIComponent(date.toISOString().slice(0, cut).replace('T', ' '));
      return (await get<Page>(t, rig, `/spend/logs/ui?start_date=${text(from)}&end_date=${text(to)}`)).total;
    };
    const end = new Date(String(rows[0]?.['startTime']));
    const day = 86_400_000;
    t.equal(await count(start, end, 10), 5);
    t.equal(await count(start, end, 19), 5);
    t.equal(await count(new Date(start.getTime() - day), new Date(start.getTime() - day), 10), 0);
    t.equal(await count(new Date(end.getTime() + 1_000), new Date(end.getTime() + day), 19), 0);
    t.equal(
      (await get<Page>(t, rig, '/spend/logs/v2?start_date=2020-01-01T00:00:00Z&end_date=2100-01-01T00:00:00'))
        .total,
      5,
    );
  });

  t.test('one row is read by its id', async (t) => {
    const row = await get<Row>(t, rig, `/spend/logs/ui/${String(rows[1]?.['request_id'])}`);
    t.strictSame(row, rows[1]);
    const none = await send(rig.url, 'GET', '/spend/logs/ui/nobody');
    t.equal(none.status, 400);
    t.match(JSON.parse(none.text), {
      error: { type: 'bad_request', message: 'The query parameter request_id names no row.' },
    });
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
      for (const [user, spend] of Object.entries(users))
        t.equal(spend, sum(mine.filter((row) => row['end_user'] === user)), user);
      for (const [model, spend] of Object.entries(models))
        t.equal(spend, sum(mine.filter((row) => row['model'] === model)), model);
    }
    t.ok(sum(rows) > 0);
    t.same(await get(t, rig, '/spend/logs?start_date=2020-01-01&end_date=2020-01-02'), []);
  });

  t.test('a wrong parameter is 400 and named', async (t) => {
    const cases: readonly (readonly [path: string, param: string, message: string])[] = [
      [
        '/spend/logs/ui',
        'start_date',
        'Start date and end date are required. Send start_date and end_date as YYYY-MM-DD, UTC.',
      ],
      [
        `/spend/logs/v2?${ALWAYS}&key_alias=mine`,
        'key_alias',
        'The query parameter key_alias is no filter here.',
      ],
      [
        '/spend/logs/v2?start_date=2025-01-01',
        'start_date',
        'Start date and end date are required. Send start_date and end_date as YYYY-MM-DD, UTC.',
      ],
      [
        `/spend/logs/ui?${ALWAYS}&page=0`,
        'page',
        'The query parameter page must be a number from 1 to 9007199254740991.',
      ],
      [
        `/spend/logs/ui?${ALWAYS}&page=1.5`,
        'page',
        'The query parameter page must be a number from 1 to 9007199254740991.',
      ],
      [
        `/spend/logs/ui?${ALWAYS}&page_size=1001`,
        'page_size',
        'The query parameter page_size must be a number from 1 to 1000.',
      ],
      [
        `/spend/logs/ui?${ALWAYS}&page_size=x`,
        'page_size',
        'The query parameter page_size must be a number from 1 to 1000.',
      ],
      [
        `/spend/logs/ui?${ALWAYS}&status_filter=ok`,
        'status_filter',
        'The query parameter status_filter must be success or failure.',
      ],
      [
        `/spend/logs/ui?${ALWAYS}&min_spend=-1`,
        'min_spend',
        'The query parameter min_spend must be a number of US dollars, 0 or more.',
      ],
      [
        `/spend/logs/ui?${ALWAYS}&max_spend=None`,
        'max_spend',
        'The query parameter max_spend must be a number of US dollars, 0 or more.',
      ],
      ['/spend/logs/session/ui', 'session_id', 'The query parameter session_id is required.'],
      [
        '/spend/logs?start_date=01.02.2025',
        'start_date',
        'The query parameter start_date must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, UTC.',
      ],
      [
        '/spend/logs?end_date=2025-02-30',
        'end_date',
        'The query parameter end_date must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, UTC.',
      ],
      [
        '/spend/logs?start_date=2025-02-02&end_date=2025-02-01',
        'end_date',
        'The query parameter end_date is before start_date.',
      ],
    ];
    for (const [path, param, message] of cases) {
      const answer = await send(rig.url, 'GET', path);
      t.equal(answer.status, 400, path);
      const error = { message, type: 'bad_request', param, code: 'invalid_parameter' };
      t.strictSame(JSON.parse(answer.text), { error }, path);
    }
    for (const path of [
      '/spend/logs',
      `/spend/logs/ui?${ALWAYS}`,
      '/spend/logs/session/ui?session_id=x',
      '/spend/logs/ui/x',
    ]) {
      t.equal(
        (await send(rig.url, 'GET', path, undefined, { authorization: 'Bearer wrong' })).status,
        401,
        path,
      );
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
