// The interface as a part of the program: its code is loaded only where it is configured, its key must be that of its data.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { folder, ROOT, serveCli } from '../support/cli.ts';
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
