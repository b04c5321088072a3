// Events of a conversation: from its agent server, from what was kept when that is gone, and what may report them.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { startRuntime, type RuntimeRig } from '../fixture/agent-server.ts';
import { at, ended, startPlatform, type Answered } from '../fixture/rig.ts';
import { beforeNextLook } from '../../support/patience.ts';

const KEEP = '\n  events: { keep: true }';
const PROMPT = 'a prompt that nobody else may read';

const dashed = (id: string): string => id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const event = (n: number, kind = 'MessageEvent'): Record<string, unknown> => ({
  id: `event-${n}`,
  kind,
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString().slice(0, -1),
  source: 'user',
  text: PROMPT,
});

const search = (rig: RuntimeRig, query = ''): Promise<Answered> =>
  rig.api('GET', `/api/v1/conversation/${rig.id}/events/search${query}`);
const report = (rig: RuntimeRig, events: unknown, key = rig.sandboxKey, id = rig.id): Promise<Answered> =>
  rig.api('POST', `/api/v1/webhooks/events/${id}`, events, key);
const ids = (page: Answered): unknown => (at(page, 'items') as { id: string }[]).map(({ id }) => id);
const gone = (rig: RuntimeRig): Promise<Answered> => rig.api('DELETE', `/api/v1/sandboxes/${rig.sandboxId}`);

t.test('while the agent server runs, it is asked: filters, order and pages are its own', async (t) => {
  const rig = await startRuntime(t);
  const path = `/api/conversations/${dashed(rig.id)}/events`;
  await rig.tell(`GET ${path}/search`, {
    text: JSON.stringify({ items: [event(1)], next_page_id: 'event-2', extra: 'not passed on' }),
  });
  const answer = await search(
    rig,
    '?kind__eq=MessageEvent&timestamp__gte=2026-01-01T00:00:00Z&timestamp__lt=2027-01-01T00:00:00%2B02:00' +
      '&sort_order=TIMESTAMP_DESC&page_id=event-9&limit=7&other=1',
  );
  t.same(answer.json, { items: [event(1)], next_page_id: 'event-2' });
  const asked = async (): Promise<Record<string, string>> => {
    const { url } = (await rig.seen()).at(-1) ?? { url: '' };
    return Object.fromEntries(new URL(url, 'http://runtime').searchParams);
  };
  t.same(await asked(), {
    kind: 'MessageEvent',
    timestamp__gte: '2026-01-01T00:00:00Z',
    timestamp__lt: '2027-01-01T00:00:00+02:00',
    page_id: 'event-9',
    limit: '7',
    sort_order: 'TIMESTAMP_DESC',
  });
  await search(rig);
  t.same(await asked(), { limit: '100', sort_order: 'TIMESTAMP' });
  for (const query of ['?limit=0', '?limit=101', '?sort_order=UP', '?timestamp__gte=x', '?kind__eq=Nothing'])
    t.equal((await search(rig, query)).status, 422, query);

  await rig.tell(`GET ${path}/count`, { text: '42' });
  t.equal(
    (await rig.api('GET', `/api/v1/conversation/${rig.id}/events/count?kind__eq=ActionEvent`)).json,
    42,
  );
  await rig.tell(`GET ${path}`, { text: JSON.stringify([event(1), null]) });
  t.same((await rig.api('GET', `/api/v1/conversation/${rig.id}/events?id=event-1&id=x`)).json, [
    event(1),
    null,
  ]);
  t.same((await rig.seen()).at(-1)?.body, ['event-1', 'x'], 'the agent server takes them as a body');
  const many = Array.from({ length: 101 }, (_, n) => `id=${n}`).join('&');
  t.equal((await rig.api('GET', `/api/v1/conversation/${rig.id}/events?${many}`)).status, 400);
  await rig.tell(`GET ${path}/search`, { text: '[]' });
  t.equal((await search(rig)).status, 502);
  await rig.tell(`GET ${path}/search`, { text: '{"items":[],"next_page_id":{"a":1}}' });
  t.same((await search(rig)).json, { items: [], next_page_id: null });
  for (const text of ['-1', '1.5', '1e999', '"1"']) {
    await rig.tell(`GET ${path}/count`, { text });
    t.equal((await rig.api('GET', `/api/v1/conversation/${rig.id}/events/count`)).status, 502, text);
  }
  for (const text of ['{}', '"x"', '5']) {
    await rig.tell(`GET ${path}`, { text });
    t.equal((await rig.api('GET', `/api/v1/conversation/${rig.id}/events?id=a`)).status, 502, text);
  }
});

t.test('nothing is kept unless the configuration says so', async (t) => {
  const rig = await startRuntime(t);
  t.same((await report(rig, [event(1)])).json, { success: true }, 'a refusal would be sent again');
  await gone(rig);
  const answer = await search(rig);
  t.equal(answer.status, 410);
  t.notOk(readFileSync(join(rig.folder, 'data', 'platform.db-wal')).includes('event-1'));
});

t.test('what is kept is answered when the sandbox is gone, in the same pages and order', async (t) => {
  const rig = await startRuntime(t, { platform: KEEP });
  const actions = [5, 6, 7].map((n) => event(n, 'ActionEvent'));
  t.equal((await report(rig, [event(1), event(2), event(3)])).status, 200);
  t.equal((await report(rig, [event(3), event(4), ...actions])).status, 200, 'one comes twice');
  t.equal((await search(rig)).status, 200, 'also where the agent server does not know the conversation');
  await gone(rig);
  t.same(at(await search(rig), 'items.0'), event(1));
  t.same(
    ids(await search(rig)),
    [1, 2, 3, 4, 5, 6, 7].map((n) => `event-${n}`),
  );
  t.same(ids(await search(rig, '?sort_order=TIMESTAMP_DESC&limit=2')), ['event-7', 'event-6']);
  const first = await search(rig, '?limit=3');
  t.same([ids(first), at(first, 'next_page_id')], [['event-1', 'event-2', 'event-3'], 'event-4']);
  t.same(ids(await search(rig, '?limit=2&page_id=event-4')), ['event-4', 'event-5']);
  const back = await search(rig, '?limit=2&page_id=event-4&sort_order=TIMESTAMP_DESC');
  t.same([ids(back), at(back, 'next_page_id')], [['event-4', 'event-3'], 'event-2']);
  t.equal(at(await search(rig, '?page_id=event-7'), 'next_page_id'), null);
  t.same(ids(await search(rig, '?kind__eq=ActionEvent&limit=2')), ['event-5', 'event-6']);
  t.same(ids(await search(rig, '?timestamp__gte=2026-01-01T00:00:02Z&timestamp__lt=2026-01-01T00:00:04Z')), [
    'event-2',
    'event-3',
  ]);
  t.same(ids(await search(rig, '?timestamp__gte=2026-01-01T00:00:02Z&page_id=event-6')), [
    'event-6',
    'event-7',
  ]);
  t.equal((await rig.api('GET', `/api/v1/conversation/${rig.id}/events/count`)).json, 7);
  t.equal((await rig.api('GET', `/api/v1/conversation/${rig.id}/events/count?kind__eq=ActionEvent`)).json, 3);
  t.same((await rig.api('GET', `/api/v1/conversation/${rig.id}/events?id=event-2&id=nothing`)).json, [
    event(2),
    null,
  ]);
  const files = readdirSync(join(rig.folder, 'data')).filter((name) => name.startsWith('platform.db'));
  for (const name of files)
    t.notOk(readFileSync(join(rig.folder, 'data', name)).includes(PROMPT), 'sealed at rest');
  t.notMatch(JSON.stringify(rig.log), PROMPT);

  await rig.api('DELETE', `/api/v1/app-conversations/${rig.id}`);
  t.equal((await search(rig)).status, 404);
});

t.test('events of one time keep the order in which they came', async (t) => {
  const rig = await startRuntime(t, { platform: KEEP });
  const same = Array.from({ length: 20 }, (_, n) => ({ ...event(1), id: `${(n * 7) % 20}-same` }));
  await report(rig, same.slice(0, 11));
  await report(rig, same.slice(11));
  await gone(rig);
  t.same(
    ids(await search(rig)),
    same.map(({ id }) => id),
  );
});

t.test('a conversation keeps its newest events within its bounds', async (t) => {
  const rig = await startRuntime(t, {
    platform: '\n  events: { keep: true, max_events_per_conversation: 5, max_mb_per_conversation: 1 }',
  });
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => event(from + n));
  await report(rig, range(0, 4));
  await report(rig, range(4, 8));
  await report(rig, [{ ...event(8), text: 'x'.repeat(1024 * 1024) }]);
  await gone(rig);
  t.same(
    ids(await search(rig)),
    [3, 4, 5, 6, 7].map((n) => `event-${n}`),
    'too large a one is not kept',
  );
});

t.test('bytes count too, and the oldest make way', async (t) => {
  const rig = await startRuntime(t, { platform: '\n  events: { keep: true, max_mb_per_conversation: 1 }' });
  for (const n of [1, 2, 3]) await report(rig, [{ ...event(n), text: 'x'.repeat(500_000) }]);
  await gone(rig);
  t.same(ids(await search(rig)), ['event-2', 'event-3']);
});

t.test('only the sandbox of a conversation reports its events, in a shape that can be kept', async (t) => {
  const rig = await startRuntime(t, { platform: KEEP });
  const other = String(at(await rig.api('POST', '/api/v1/app-conversations', {}), 'app_conversation_id'));
  t.equal(
    (await report(rig, [event(1)], rig.sandboxKey, other)).status,
    403,
    'it belongs to another sandbox',
  );
  t.equal((await report(rig, [event(1)], 'no key')).status, 401);
  t.equal((await report(rig, [event(1)], rig.sandboxKey, randomUUID())).status, 200, 'none of ours: dropped');
  t.equal((await report(rig, [event(1)], rig.sandboxKey, dashed(rig.id))).status, 200);
  for (const body of [{}, 'a', [1], null])
    t.equal((await report(rig, body)).status, 422, JSON.stringify(body));
  const odd = [
    { text: 'no id' },
    { id: 5 },
    { id: '../a' },
    { id: 'a\u0000b' },
    { id: 'fine', kind: 'x/../y', timestamp: 'never' },
    { id: 'future', kind: 'MessageEvent', timestamp: '9999-01-01T00:00:00' },
  ];
  t.equal((await report(rig, odd)).status, 200);
  await report(rig, [{ ...event(2), timestamp: new Date().toISOString() }]);
  await gone(rig);
  t.same(ids(await search(rig)), ['event-1', 'fine', 'future', 'event-2']);
  t.equal((await report(rig, [event(3)])).status, 401, 'its key has ended with it');
});

t.test(
  'of a conversation that is being deleted nothing is kept, whatever is reported meanwhile',
  async (t) => {
    const rig = await startRuntime(t, { platform: KEEP });
    for (let n = 0; n < 10; n += 1) {
      const begun = await rig.api('POST', '/api/v1/app-conversations', { sandbox_id: rig.sandboxId });
      await ended(rig, String(at(begun, 'id')));
      const id = String(at(begun, 'app_conversation_id'));
      let isOver = false;
      const lane = async (first: number): Promise<readonly number[]> => {
        const statuses: number[] = [];
        for (let next = first; !isOver; next += 8)
          statuses.push((await report(rig, [event(next)], rig.sandboxKey, id)).status);
        return statuses;
      };
      const lanes = Array.from({ length: 8 }, (_, first) => lane(first));
      t.equal((await rig.api('DELETE', `/api/v1/app-conversations/${id}`)).status, 200);
      isOver = true;
      const statuses = (await Promise.all(lanes)).flat();
      t.ok(
        statuses.every((status) => status === 200),
        'a refusal would be sent again',
      );
    }
    const db = new DatabaseSync(join(rig.folder, 'data', 'platform.db'));
    t.match(db.prepare("SELECT count(*) AS left FROM items WHERE kind IN ('event', 'event_log')").get(), {
      left: 0,
    });
    db.close();
  },
);

t.test('switched off, what was kept is removed', async (t) => {
  const first = await startRuntime(t, { platform: KEEP });
  await report(first, [event(1)]);
  await gone(first);
  t.equal((await search(first)).status, 200);
  await first.stop();
  const second = await startPlatform(t, { folder: first.folder });
  for (;;) {
    const answer = await second.api('GET', `/api/v1/conversation/${first.id}/events/search`);
    if (answer.status === 410) break;
    await beforeNextLook();
  }
  t.pass('in the background, soon after the start');
});
