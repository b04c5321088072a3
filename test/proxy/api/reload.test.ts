// What the answer and the audit line say of a reload that had to wait for another change.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadConfig } from '../../../config/load.ts';
import { ConfigReloader } from '../../../proxy/active-config/config-reloader.ts';
import { AdminAttempt } from '../../../proxy/api/audit.ts';
import { reloadConfig } from '../../../proxy/api/reload.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { beforeNextLook } from '../../support/patience.ts';
import { exchangeOf, servicesOf } from '../../support/services.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

t.test('a file that changes while a reload waits is told as it was read', async (t) => {
  const path = join(tempDir(t), 'gateway.yaml');
  const write = (...names: readonly string[]): void => {
    const entries = names.map(
      (name) =>
        `  - model_name: ${name}\n    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:9", api_key: k }\n`,
    );
    writeFileSync(path, `model_list:\n${entries.join('')}`);
  };
  write('first');
  const loaded = loadConfig(path, {});
  if (!loaded.ok) throw new Error('the configuration of the test is refused');
  const lines: string[] = [];
  const { log } = openLog('info', { write: (line) => void lines.push(line) });
  const services = { ...(await servicesOf(t)), log };
  const options = { path, env: {}, services, loaded, runtime: [], isExposed: false, state: null };
  const reloader = new ConfigReloader(options);

  const list = Promise.withResolvers<readonly never[]>();
  const other = reloader.takeStored(() => list.promise);
  write('first', 'second');
  const { x, answer } = await exchangeOf(t, reloader.active, {
    path: '/config/reload',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const reload = reloadConfig(x, reloader, new AdminAttempt(x, 'config_reload', ''));
  for (let n = 0; n < 3; n += 1) await beforeNextLook(); // its body is read by then, mostly
  write('first', 'third', 'fourth');
  list.resolve([]);
  await Promise.all([other, reload]);
  const { result, changes } = JSON.parse((await answer).text) as {
    readonly result: string;
    readonly changes: readonly { readonly change: string; readonly name: string }[];
  };
  t.equal(result, 'applied');
  t.same(
    changes.map(({ change, name }) => `${name} ${change}`),
    ['fourth added', 'third added'],
  );
  const audit = lines.filter((line) => line.includes('admin_change'));
  t.match(audit, [new RegExp(`"changes":2,"version":"${reloader.active.snapshot.version}"`)]);
});
