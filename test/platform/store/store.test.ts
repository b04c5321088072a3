// The wing's store on a real file: conflicts, all or nothing, filters; the sealing key and its exchange.
import { randomBytes } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { SqlitePlatform } from '../../../platform/store/sqlite-platform.ts';
import type { Item } from '../../../platform/store/store.ts';
import { Vault, WrongSecretKey } from '../../../platform/store/vault.ts';
import { runCli } from '../../support/cli.ts';
import { defaultConfig, startRig } from '../../support/rig.ts';
import { SECRET_KEY, startPlatform } from '../fixture/rig.ts';

const item = (id: string, more: Partial<Item> = {}): Item => ({
  kind: 'conversation',
  id,
  userId: 'u',
  createdMs: 1,
  updatedMs: 1,
  title: null,
  link: null,
  parent: null,
  body: '{}',
  sealed: null,
  revision: 0,
  ...more,
});

t.test('a write on an old revision changes nothing, nor do the writes beside it', async (t) => {
  const file = join(t.testdir(), 'platform.db');
  const store = new SqlitePlatform(file);
  t.teardown(() => store.close());
  t.equal(await store.apply([{ put: item('a') }]), 'applied');
  t.equal(statSync(file).mode & 0o777, 0o600, 'nobody else reads it');
  t.equal(await store.apply([{ put: item('a') }]), 'conflict', 'it is there already');
  t.equal(await store.apply([{ put: item('a', { title: 'x', revision: 1 }) }]), 'applied');
  t.equal(
    await store.apply([{ put: item('b') }, { put: item('a', { title: 'y', revision: 1 }) }]),
    'conflict',
  );
  t.match(await store.get('conversation', ['a', 'b', 'a']), [
    { title: 'x', revision: 2 },
    null,
    { title: 'x' },
  ]);
  await store.apply([{ remove: { kind: 'conversation', id: 'a' } }, { put: item('c') }]);
  t.match(await store.scan('conversation', '', 10), [{ id: 'c' }]);
  t.same(await store.scan('conversation', 'c', 10), []);
});

t.test('filters hold together, orders are whole, deleted lines of users do not mix', async (t) => {
  const store = new SqlitePlatform(join(t.testdir(), 'platform.db'));
  t.teardown(() => store.close());
  const items = Array.from({ length: 30 }, (_, n) =>
    item(String(n).padStart(2, '0'), {
      userId: n % 3 === 0 ? 'other' : 'u',
      createdMs: 100 + (n >> 1),
      updatedMs: 200 - n,
      title: n % 2 === 0 ? `Even ${n}` : null,
      link: n % 5 === 0 ? 'box' : null,
      parent: n > 20 ? '01' : null,
    }),
  );
  await store.apply(items.map((put) => ({ put })));
  const mine = items.filter(({ userId }) => userId === 'u');
  const ids = async (
    more: object,
    order: 'created' | 'created_desc' | 'updated' | 'updated_desc' = 'created',
  ) =>
    (
      await store.search({ kind: 'conversation', userId: 'u', ...more }, { order, offset: 0, limit: 100 })
    ).map(({ id }) => id);
  t.same(
    await ids({}),
    mine.map(({ id }) => id),
  );
  t.same(await ids({}, 'created_desc'), mine.map(({ id }) => id).reverse());
  t.same(
    await ids({}, 'updated_desc'),
    mine.map(({ id }) => id),
  );
  t.same(await ids({ titleContains: 'EVEN 2' }), ['02', '20', '22', '26', '28']);
  t.same(await ids({ link: 'box', topLevel: true }), ['05', '10', '20']);
  t.same(await ids({ parents: ['01', '02'], createdFromMs: 113, createdBeforeMs: 114 }), ['26']);
  t.same(await ids({ updatedFromMs: 195, updatedBeforeMs: 199 }), ['02', '04', '05']);
  t.equal(await store.count({ kind: 'conversation', userId: 'u', titleContains: 'even 2' }), 5);
  t.equal(await store.count({ kind: 'conversation' }), 30);
});

t.test('a database that is none is said so, and mended without a restart', async (t) => {
  const file = join(t.testdir(), 'platform.db');
  writeFileSync(file, 'this is no database, it is a text of some length');
  const store = new SqlitePlatform(file);
  t.teardown(() => store.close());
  await t.rejects(store.count({ kind: 'conversation' }), {
    name: 'PlatformStoreUnavailable',
    message: /not a database/,
  });
  writeFileSync(file, '');
  t.equal(await store.count({ kind: 'conversation' }), 0);
  await store.close();
  await t.rejects(store.count({ kind: 'conversation' }), /closed/);
});

t.test('what is sealed opens at its own place under its own key only', async (t) => {
  const key = () => new Secret(randomBytes(32).toString('base64'));
  const vault = new Vault(key());
  const sealed = vault.seal('sandbox', 'a', { key: 'secret' });
  t.same(vault.open({ kind: 'sandbox', id: 'a', sealed }), { key: 'secret' });
  t.throws(() => vault.open({ kind: 'sandbox', id: 'b', sealed }), /damaged/);
  t.throws(() => new Vault(key()).open({ kind: 'sandbox', id: 'a', sealed }), /damaged/);
  t.equal(vault.seal('sandbox', 'a', {}), null);
  const store = new SqlitePlatform(join(t.testdir(), 'platform.db'));
  t.teardown(() => store.close());
  await vault.check(store, 0);
  await vault.check(store, 0);
  await t.rejects(new Vault(key()).check(store, 0), WrongSecretKey);
});

t.test('the key is exchanged by the command, and only the new one opens the data after it', async (t) => {
  const folder = t.testdir();
  const first = await startPlatform(t, { folder });
  await first.api('POST', '/api/settings', { llm_api_key: 'sk-a' });
  await first.api('POST', '/api/v1/app-conversations', {});
  const next = randomBytes(32).toString('base64');
  const config = ['--config', first.configPath, '--data-dir', join(folder, 'data')];
  const rotate = (more: Record<string, string>) =>
    runCli(t, ['rotate-platform-key', ...config], { env: more });
  t.match(await rotate({ PLATFORM_SECRET_KEY_NEW: next }), {
    code: 1,
    err: /in use by another Throughline process/,
  });
  await first.stop();
  t.match(await rotate({ PLATFORM_SECRET_KEY_NEW: 'short' }), { code: 2, err: /openssl rand -base64 32/ });
  t.match(await rotate({ PLATFORM_SECRET_KEY_NEW: next }), {
    code: 0,
    out: /^4 items are sealed under the new key/,
  });
  t.match(await rotate({ PLATFORM_SECRET_KEY_NEW: next }), {
    code: 1,
    err: /not the key .* nothing was changed/,
  });
  const old = startRig(t, {
    folder,
    config: (demo) => defaultConfig(demo, `platform: { session_api_key: a, secret_key: "${SECRET_KEY}" }`),
  });
  await t.rejects(old, /platform\.secret_key is not the key under which the platform data is sealed/);
  const second = await startPlatform(t, { folder, secretKey: next });
  t.match((await second.api('GET', '/api/settings')).json, { llm_api_key_set: true });
  t.equal((await second.api('GET', '/api/v1/app-conversations/count')).json, 1);
});
