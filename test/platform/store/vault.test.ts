// Secrets of the platform at rest: what is sealed opens at its own place alone; the key and its exchange.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';
import { Secret } from '../../../config/secret.ts';
import { openPlatformFile } from '../../../platform/store/store.ts';
import { Vault, WrongSecretKey } from '../../../platform/store/vault.ts';
import { runCli } from '../../support/cli.ts';
import { defaultConfig, startRig } from '../../support/rig.ts';
import { SECRET_KEY, startPlatform } from '../fixture/rig.ts';

t.test('what is sealed opens at its own place under its own key only', async (t) => {
  const key = () => new Secret(randomBytes(32).toString('base64'));
  const vault = new Vault(key());
  const sealed = vault.seal('sandbox', 'a', { key: 'secret' });
  t.same(vault.open({ kind: 'sandbox', id: 'a', sealed }), { key: 'secret' });
  t.throws(() => vault.open({ kind: 'sandbox', id: 'b', sealed }), /damaged/);
  t.throws(() => new Vault(key()).open({ kind: 'sandbox', id: 'a', sealed }), /damaged/);
  t.equal(vault.seal('sandbox', 'a', {}), null);
  const store = openPlatformFile(join(tempDir(t), 'platform.db'));
  t.teardown(() => store.close());
  await vault.check(store, 0);
  await vault.check(store, 0);
  await t.rejects(new Vault(key()).check(store, 0), WrongSecretKey);
});

t.test(
  'of servers that start for the first time at once and have other keys, one alone starts',
  async (t) => {
    const store = openPlatformFile(join(tempDir(t), 'platform.db'));
    t.teardown(() => store.close());
    const vaults = Array.from({ length: 3 }, () => new Vault(new Secret(randomBytes(32).toString('base64'))));
    const ends = await Promise.allSettled(vaults.map((vault) => vault.check(store, 0)));
    t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
    t.match(
      ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : [])),
      [WrongSecretKey, WrongSecretKey],
    );
  },
);

t.test('the key is exchanged by the command, and only the new one opens the data after it', async (t) => {
  const folder = tempDir(t);
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
