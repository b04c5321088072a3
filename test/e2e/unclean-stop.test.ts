// A stop on a machine whose files fail: the process says so, with its exit code too, and loses no row.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { lockHolder } from '../../proxy/spend/store/lock.ts';
import { folder, serveCli } from '../support/cli.ts';
import { defaultConfig, send } from '../support/rig.ts';

const demo = await startDemoGateway();
t.teardown(() => demo.close());

/** The outbox of alerts is a file that is open until the end; its close fails. */
const FAILING = `
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
const { open } = promises;
promises.open = async (path, ...more) => {
  const file = await open(path, ...more);
  if (!/outbox-\\d+\\.jsonl$/.test(path)) return file;
  const { close } = file;
  file.close = async () => {
    await close();
    throw new Error('EIO: i/o error, close');
  };
  return file;
};
syncBuiltinESMExports();
`;

for (const workers of ['1', '2'])
  t.test(
    `a file that cannot be closed at the end: exit code 1, and the rows are there, with --workers ${workers}`,
    async (t) => {
      const dir = folder(t);
      const [config, dataDir, failing] = [
        join(dir, 'gateway.yaml'),
        join(dir, 'data'),
        join(dir, 'failing.mjs'),
      ];
      writeFileSync(config, defaultConfig(demo));
      writeFileSync(failing, FAILING);
      const env = { NODE_OPTIONS: `--import ${failing}` };
      const proxy = await serveCli(t, config, dataDir, ['--workers', workers], { env });
      const body = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
      t.equal((await send(proxy.url, 'POST', '/v1/chat/completions', body)).status, 200);
      proxy.kill('SIGTERM');
      const { code, out, err } = await proxy.ended;
      t.equal(code, 1);
      t.match(out + err, /"part":"alerts"[^\n]*"msg":"a part of the proxy could not be closed"/);
      t.match(err, /^throughline: stopped, but could not close: alerts - the log says why$/m);
      t.notMatch(err, /\n\s+at /);
      t.equal(lockHolder(dataDir), null);
      const next = await serveCli(t, config, dataDir);
      const rows = JSON.parse((await send(next.url, 'GET', '/spend/logs')).text) as readonly object[];
      t.match(rows, [{ end_reason: 'complete' }]);
      t.equal(rows.length, 1);
    },
  );
