// The interface as a part of the program: its code is loaded only where it is configured, its key must be that of its data.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import type { PlatformSettings } from '../../config/snapshot.ts';
import { Platform } from '../../platform/platform.ts';
import { openPlatformFile, platformFile } from '../../platform/store/store.ts';
import { systemClock } from '../../proxy/base/clock.ts';
import { servedModels } from '../../proxy/pipeline/served-models.ts';
import { folder, ROOT, serveCli } from '../support/cli.ts';
import { servicesOf, snapshotOf } from '../support/services.ts';
import { send } from '../support/rig.ts';
import { SECRET_KEY, SESSION_KEY, startPlatform } from './fixture/rig.ts';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';

/** Files of `platform/` that a server has loaded by its end, as V8 tells. */
async function loadedBy(t: Test, section: string): Promise<readonly string[]> {
  const dir = folder(t);
  const coverage = join(dir, 'coverage');
  mkdirSync(coverage);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, `model_list: []\ngeneral_settings: { master_key: sk-a }\n${section}`);
  const proxy = await serveCli(t, config, join(dir, 'data'), [], { env: { NODE_V8_COVERAGE: coverage } });
  const asked = await send(proxy.url, 'GET', '/api/v1/settings', undefined, { authorization: '' });
  t.equal(asked.status, section === '' ? 404 : 401);
  proxy.kill('SIGTERM');
  await proxy.ended;
  const below = pathToFileURL(join(ROOT, 'platform/')).href;
  return readdirSync(coverage).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as {
      readonly result: readonly { readonly url: string }[];
    };
    return result.map(({ url }) => url).filter((url) => url.startsWith(below));
  });
}

t.test('where it is off, none of its code is loaded', async (t) => {
  t.same(await loadedBy(t, ''), []);
  const section = `platform: { session_api_key: ${SESSION_KEY}, secret_key: "${SECRET_KEY}" }\n`;
  t.ok((await loadedBy(t, section)).length > 10, 'where it is on, its files are seen');
});

t.test(
  'a reload while the interface opens counts: who was taken out of the users does not come in',
  async (t) => {
    const sections = (user: string) => `model_list: []
platform: { session_api_key: ${user}, secret_key: "${SECRET_KEY}" }
`;
    const settings = (user: string) => snapshotOf(t, sections(user)).platform as PlatformSettings;
    const { ledger, log } = await servicesOf(t);
    const dataDir = tempDir(t);
    const platform = new Platform(
      {
        settings: settings('key-of-before'),
        dataDir,
        configPath: join(dataDir, 'gateway.yaml'),
        path: '',
        cluster: { host: undefined, port: undefined },
        spend: ledger.reader,
        models: servedModels(() => null),
        shared: null,
        clock: systemClock,
        log,
      },
      openPlatformFile(platformFile(dataDir)),
    );
    t.teardown(() => platform.close());
    const opening = platform.open();
    platform.reconfigure(settings('key-of-now'));
    await opening;
    const status = async (key: string): Promise<number> => {
      const headers = ['x-session-api-key', key];
      const readBody = () => Promise.resolve(Buffer.alloc(0));
      const path = '/api/v1/settings/profiles';
      return (await platform.handle({ method: 'GET', path, query: '', headers, readBody })).status;
    };
    t.same([await status('key-of-before'), await status('key-of-now')], [401, 200]);
  },
);

t.test('with another secret_key the server does not start, and says what to do', async (t) => {
  const data = tempDir(t);
  const first = await startPlatform(t, { folder: data });
  await first.api('POST', '/api/settings', { llm_api_key: 'sk-a' });
  await first.stop();
  const other = randomBytes(32).toString('base64');
  await t.rejects(
    startPlatform(t, { folder: data, secretKey: other }),
    /platform\.secret_key is not the key .* set the old key again/,
  );
  const again = await startPlatform(t, { folder: data });
  t.equal((await again.api('GET', '/api/settings')).status, 200, 'nothing was changed');
});
