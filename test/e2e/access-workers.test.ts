// Two workers on one data directory: a key that one of them makes or removes is so in the other.
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, serveCli, workersOf } from '../support/cli.ts';
import { beforeNextLook } from '../support/patience.ts';
import { defaultConfig, send } from '../support/rig.ts';

async function serveTwoWorkers(t: Test, settings = '') {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, defaultConfig(demo, settings));
  return { proxy: await serveCli(t, config, join(dir, 'data'), ['--workers', '2']), dir };
}

t.test('keys are the same in all workers, and a call with them needs none of the others', async (t) => {
  const { proxy } = await serveTwoWorkers(t);
  /** Statuses on eight connections in turn: with two workers, both have been asked. */
  const everywhere = async (key: string): Promise<string> => {
    const statuses = new Set<number>();
    for (let n = 0; n < 8; n += 1)
      statuses.add(
        (await send(proxy.url, 'GET', '/v1/models', undefined, { authorization: `Bearer ${key}` })).status,
      );
    return [...statuses].join();
  };
  const until = async (key: string, status: string): Promise<void> => {
    while ((await everywhere(key)) !== status) await wait(50);
  };
  for (let n = 0; n < 5; n += 1) {
    const fresh = await send(proxy.url, 'POST', '/key/generate', {});
    t.equal(
      await everywhere((JSON.parse(fresh.text) as { key: string }).key),
      '200',
      'a call with a new key reaches no worker that does not know it',
    );
  }
  t.equal(await everywhere('sk-of-nobody-at-all'), '401');
  const made = await send(proxy.url, 'POST', '/key/generate', { key_alias: 'of two workers' });
  t.equal(made.status, 200, made.text);
  const { key } = JSON.parse(made.text) as { key: string };
  for (let n = 0; n < 8; n += 1)
    t.equal(
      (await send(proxy.url, 'GET', `/key/info?key=${key}`)).status,
      200,
      'administration knows it at once',
    );
  await until(key, '200');
  for (const path of ['/key/block', '/key/unblock', '/key/delete']) {
    const body = path === '/key/delete' ? { keys: [key] } : { key };
    t.equal((await send(proxy.url, 'POST', path, body)).status, 200, path);
    await until(key, path === '/key/unblock' ? '200' : '401');
  }
});

t.test(
  'of calls that want the same alias at the same moment one gets it, whichever worker they reach',
  async (t) => {
    const demo = await startDemoGateway();
    t.teardown(() => demo.close());
    const dir = folder(t);
    const config = join(dir, 'gateway.yaml');
    writeFileSync(config, defaultConfig(demo));
    const proxy = await serveCli(t, config, join(dir, 'data'), ['--workers', '2']);
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 6 }, () =>
          send(proxy.url, 'POST', '/key/generate', { key_alias: `alias ${round}` }),
        ),
      );
      t.equal(answers.filter(({ status }) => status === 200).length, 1, `round ${round}`);
      for (const { status, text } of answers)
        if (status !== 200) t.match(text, /Key with alias 'alias \d' already exists/);
      const users = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          send(proxy.url, 'POST', '/user/new', {
            user_id: `user-${round}-${n}`,
            user_email: `u${round}@example.com`,
          }),
        ),
      );
      t.equal(users.filter(({ status }) => status === 200).length, 1, `addresses of round ${round}`);
    }
  },
);

t.test('a worker that replaces another one makes no removed file anew', async (t) => {
  const { proxy, dir } = await serveTwoWorkers(t);
  await proxy.said(/all workers serve/);
  const made = await send(proxy.url, 'POST', '/key/generate', {});
  const { key } = JSON.parse(made.text) as { key: string };
  /** On eight connections in turn: of both workers. */
  const everywhere = async (ask: () => ReturnType<typeof send>): Promise<string> => {
    const statuses = new Set<number>();
    for (let n = 0; n < 8; n += 1) statuses.add((await ask()).status);
    return [...statuses].toSorted().join();
  };
  const call = (): ReturnType<typeof send> =>
    send(proxy.url, 'GET', '/v1/models', undefined, { authorization: `Bearer ${key}` });
  const change = (): ReturnType<typeof send> => send(proxy.url, 'POST', '/key/generate', {});
  t.equal(await everywhere(call), '200');
  const place = join(dir, 'data', 'access.db');
  const parts = ['', '-wal', '-shm'].map((suffix) => place + suffix).filter(existsSync);
  for (const path of parts) renameSync(path, `${path}.away`);
  const [victim = 0] = workersOf(proxy.pid);
  process.kill(victim, 'SIGKILL');
  await proxy.said(/the replaced worker serves/);
  t.equal(await everywhere(call), '200,503', 'the new worker does not know yet, and does not say no');
  t.equal(await everywhere(change), '503');
  t.notOk(existsSync(place));
  const ready = await send(proxy.url, 'GET', '/health/readiness');
  t.match(JSON.parse(ready.text), { keys_loaded: false });
  for (const path of parts) renameSync(`${path}.away`, path);
  while ((await everywhere(call)) !== '200') await beforeNextLook();
  t.equal(await everywhere(change), '200');
});

t.test(
  'a team that metrics name is whole, whichever workers served it, and a deleted one makes room',
  async (t) => {
    const { proxy } = await serveTwoWorkers(t, '  max_metric_label_values: 2\n');
    await proxy.said(/all workers serve/);
    const keys = new Map<string, string>();
    for (const id of ['A', 'B', 'C', 'D']) {
      t.equal((await send(proxy.url, 'POST', '/team/new', { team_id: id })).status, 200);
      const made = await send(proxy.url, 'POST', '/key/generate', { team_id: id });
      keys.set(id, (JSON.parse(made.text) as { key: string }).key);
    }
    const call = async (ids: string): Promise<void> => {
      for (const id of ids) {
        const authorization = `Bearer ${keys.get(id) ?? ''}`;
        const body = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
        const { status } = await send(proxy.url, 'POST', '/v1/chat/completions', body, { authorization });
        t.equal(status, 200);
      }
    };
    const counted = async (): Promise<Record<string, number>> => {
      const { text } = await send(proxy.url, 'GET', '/metrics');
      const lines = text.matchAll(
        /^throughline_team_requests_total\{team="(.*)",status="success"\} (\d+)$/gm,
      );
      return Object.fromEntries([...lines].map(([, id = '', calls]) => [id, Number(calls)]));
    };
    const sumOf = (figures: Record<string, number>): number =>
      Object.values(figures).reduce((sum, calls) => sum + calls, 0);
    // A scrape does not wait for a worker that is slow to answer; it shows what that one said before.
    const countedAll = async (calls: number): Promise<Record<string, number>> => {
      let figures = await counted();
      for (; sumOf(figures) !== calls; figures = await counted()) await beforeNextLook();
      return figures;
    };
    await call('ABCD'.repeat(2) + 'A' + 'ABCD'.repeat(2) + 'A'); // each team reaches both workers
    const first = await countedAll(18);
    const named = Object.keys(first).filter((id) => id !== 'other');
    t.equal(named.length, 2, JSON.stringify(first));
    for (const id of named) t.equal(first[id], id === 'A' ? 6 : 4, `${id} is whole`);
    const [victim = 0] = workersOf(proxy.pid);
    process.kill(victim, 'SIGKILL');
    await proxy.said(/"msg":"the replaced worker serves"/);
    const [gone = '', kept = ''] = named;
    const unnamed = ['A', 'B', 'C', 'D'].filter((id) => !named.includes(id));
    await call([kept, ...unnamed, kept, ...unnamed].join(''));
    const second = await countedAll(18 + 6);
    t.same(
      Object.keys(second).toSorted(),
      [...named, 'other'].toSorted(),
      'a new worker gives no more names',
    );
    t.equal(second[kept], (first[kept] ?? 0) + 2);
    t.equal((await send(proxy.url, 'POST', '/team/delete', { team_ids: [gone] })).status, 200);
    while (gone in (await counted())) await beforeNextLook();
    const next = unnamed[0] ?? '';
    await call(next + next);
    const third = await countedAll((second[kept] ?? 0) + (second['other'] ?? 0) + 2);
    t.same(third, { [kept]: second[kept], [next]: 2, other: second['other'] });
  },
);
