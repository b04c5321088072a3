// Virtual keys and the store that holds them: restarts, several servers on one database, and a database that is away, at the
// start and later.
import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { blankKey, blankTeam } from '../../proxy/access/objects/blank.ts';
import type { AccessObjects } from '../../proxy/access/objects/access-objects.ts';
import { postgresItems } from '../../proxy/items/read-postgres.ts';
import { openExtensionTables } from '../../proxy/spend/store/postgres/extension-tables.ts';
import { runWithin } from '../support/cli.ts';
import { ownPostgres, settingsOf } from '../support/postgres.ts';
import { chat, defaultConfig, send, startRig, type Rig } from '../support/rig.ts';

const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const sha = (key: string): string => hash('sha256', key, 'hex');
const accessOf = (rig: Rig): AccessObjects => rig.gateway.reloader.active.services.access;
const statusOf = async (rig: Rig, key: string): Promise<number> =>
  (await send(rig.url, 'GET', '/v1/models', undefined, as(key))).status;

/** Asks until it is so; the test's own time limit ends it. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await wait(20);
}

/** What servers have said of themselves. */
async function serversOn(url: string): Promise<number> {
  const database = settingsOf(url);
  const tables = openExtensionTables(database);
  try {
    let count = 0;
    for await (const page of postgresItems(tables, { schema: database.schema, prefix: 'access' }, [
      'replica',
    ]))
      count += page.length;
    return count;
  } finally {
    await tables.close();
  }
}

async function remove(rig: Rig, key: string): Promise<void> {
  const found = accessOf(rig).directory.key(sha(key));
  if (found === null) throw new Error('there is no such key');
  await accessOf(rig).change([{ remove: { kind: 'key', id: found.id, revision: found.revision } }]);
}

t.test('keys are there after a restart, as they were', async (t) => {
  const first = await startRig(t);
  const key = {
    ...blankKey(sha('sk-kept-key'), '-key', 5),
    alias: 'a, b',
    models: ['demo'],
    teamId: 'acme',
    metadata: { nested: { list: [1, null, 'ü'] } },
    budget: { ...blankKey('', '', 0).budget, maxBudget: 0.1 },
  };
  await accessOf(first).change([{ put: key }, { put: blankTeam('acme', 5) }]);
  const before = accessOf(first).directory.key(key.id);
  await first.stop();
  const second = await startRig(t, { folder: first.folder, config: () => defaultConfig(first.demo) });
  t.same(accessOf(second).directory.key(key.id), before);
  t.same(before, { ...key, revision: 1 });
  t.equal(await statusOf(second, 'sk-kept-key'), 200);
  await t.rejects(accessOf(second).change([{ put: key }]), { name: 'ObjectConflict' });
  await second.stop();
});

t.test('a database that is away at the start: unknown keys are not known yet, the others call', async (t) => {
  await withoutDatabase(t, '');
});

t.test('the same without Valkey', async (t) => {
  await withoutDatabase(t, 'router_settings: { redis_host: 127.0.0.1, redis_port: 1 }\n');
});

async function withoutDatabase(t: Test, more: string): Promise<void> {
  const rig = await startRig(t, {
    env: { CI_KEY: 'sk-ci-key' },
    config: (demo) =>
      defaultConfig(
        demo,
        `  database_url: postgresql://name:word@127.0.0.1:1/access
  inference_keys: [sk-agent]
keys: [{ key_alias: ci, key: os.environ/CI_KEY, rpm_limit: 100, max_parallel_requests: 10 }]
${more}`,
      ),
  });
  for (const answer of [
    await chat(rig, 'demo', {}, as('sk-who-knows')),
    await send(rig.url, 'GET', '/v1/models', undefined, as('sk-who-knows')),
  ]) {
    t.equal(answer.status, 503);
    t.equal(answer.headers['retry-after'], '1');
    t.match(answer.text, /store_unavailable/);
  }
  t.equal(await statusOf(rig, 'no-virtual-key'), 401);
  for (const key of ['sk-test-master-key', 'sk-agent', 'sk-ci-key'])
    t.same([(await chat(rig, 'demo', {}, as(key))).status, await statusOf(rig, key)], [200, 200], key);
  await t.rejects(accessOf(rig).change([{ put: blankKey(sha('sk-new'), '-new', 1) }]), {
    code: 'store_unavailable',
  });
}

t.test('servers on one database hear of each other; without it they go on with what they know', async (t) => {
  const server = await ownPostgres(t);
  if (server === null) {
    t.comment('no PostgreSQL is installed');
    return;
  }
  const env = { DATABASE_URL: server.url() };
  const one = await startRig(t, { env });
  const two = await startRig(t, { env, config: () => defaultConfig(one.demo) });
  await accessOf(one).change([
    { put: blankKey(sha('sk-shared'), 'ared', 1) },
    { put: blankKey(sha('sk-stays'), 'tays', 1) },
  ]);
  const explain = (name: string): Promise<{ readonly out: string }> =>
    runWithin(['explain', '--config', 'gateway.yaml', '--key', name], { cwd: one.folder, env });
  const before = await serversOn(env.DATABASE_URL);
  t.match((await explain(sha('sk-stays'))).out, /^ +key +sk-\.\.\.tays \(sk-\.\.\.tays\) +made by API/m);
  await t.rejects(explain('nobody'), { message: /no key nobody .*database/ });
  t.equal(await serversOn(env.DATABASE_URL), before, 'it looks, and is no server of theirs');
  t.equal(await statusOf(one, 'sk-shared'), 200, 'at once where it was made');
  await until(async () => (await statusOf(two, 'sk-shared')) === 200);
  await remove(one, 'sk-shared');
  t.equal(await statusOf(one, 'sk-shared'), 401);
  await until(async () => (await statusOf(two, 'sk-shared')) === 401);
  const stale = accessOf(two).directory.key(sha('sk-stays'));
  if (stale === null) throw new Error('the key is not there');
  await accessOf(one).change([{ put: { ...stale, blocked: true } }]);
  await t.rejects(accessOf(two).change([{ put: stale }]), { name: 'ObjectConflict' });
  await until(async () => (await statusOf(two, 'sk-stays')) === 401);
  const blocked = accessOf(two).directory.key(sha('sk-stays'));
  await accessOf(two).change([{ put: { ...stale, ...blocked, blocked: false } }]);

  await until(async () => (await statusOf(one, 'sk-stays')) === 200);
  await server.stop();
  for (const rig of [one, two]) {
    t.equal((await chat(rig, 'demo', {}, as('sk-stays'))).status, 200, 'a call needs no database');
    t.equal(await statusOf(rig, 'sk-stays'), 200, 'and neither does the list of models');
    t.equal(await statusOf(rig, 'sk-unknown'), 401, 'and neither does a refusal');
    await t.rejects(accessOf(rig).change([{ put: blankKey(sha('sk-late'), 'late', 1) }]), {
      code: 'store_unavailable',
    });
    t.equal(await statusOf(rig, 'sk-late'), 401, 'what was refused is not there');
  }
  await server.start();
  const again = async (): Promise<boolean> =>
    accessOf(one)
      .change([{ put: blankKey(sha('sk-after'), 'fter', 1) }])
      .then(
        () => true,
        () => accessOf(one).directory.key(sha('sk-after')) !== null,
      );
  await until(again);
  await until(async () => (await statusOf(two, 'sk-after')) === 200);
});

t.test('a database that goes away and comes back is noticed while nobody calls', async (t) => {
  const server = await ownPostgres(t);
  if (server === null) {
    t.comment('no PostgreSQL is installed');
    return;
  }
  const rig = await startRig(t, { env: { DATABASE_URL: server.url() } });
  const shows = async (db: string, figure: number): Promise<boolean> => {
    const readiness = (await send(rig.url, 'GET', '/health/readiness')).text;
    const metrics = (await send(rig.url, 'GET', '/metrics')).text;
    return (
      readiness.includes(`"db":"${db}"`) && metrics.includes(`\nthroughline_store_reachable ${figure}\n`)
    );
  };
  await until(() => shows('connected', 1));
  await server.stop();
  await until(() => shows('Not connected', 0));
  await rig.logged(
    ({ event, msg }) => event === 'store_unreachable' && /see that the server/.test(String(msg)),
  );
  await server.start();
  await until(() => shows('connected', 1));
  await rig.logged(({ event }) => event === 'store_reachable');
});
