// The launcher: one that serves is begun anew, in the same process, with settings that are read before any code of ours.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SERVING_ENV } from '../../bin/serving.js';
import { folder, ROOT, startCli } from '../support/cli.ts';

const LAUNCHER = [process.execPath, join(ROOT, 'bin', 'throughline.js')] as const;
const skip = process.platform === 'linux' ? false : 'process.execve and glibc';

const of = (pid: number, file: string): string[] => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');

const OWN = { MALLOC_ARENA_MAX: '4', MALLOC_TRIM_THRESHOLD_: '65536', UV_THREADPOOL_SIZE: '7' };
const { MALLOC_ARENA_MAX } = OWN;
for (const env of [{}, { MALLOC_ARENA_MAX }, OWN] as Readonly<Record<string, string>>[]) {
  const stated = Object.keys(env);
  void t.test(`the environment states ${stated.join(', ') || 'none of them'}`, { skip }, async (t) => {
    const dir = folder(t);
    const config = join(dir, 'gateway.yaml');
    writeFileSync(config, 'model_list: []\ngeneral_settings: { master_key: sk-launcher-test-0123 }\n');
    const args = ['serve', '--config', config, '--host', '127.0.0.1', '--port', '0', '--data-dir', dir];
    const proxy = startCli(t, args, { command: LAUNCHER, env });
    await proxy.said(/serves 0 models on/);
    t.equal(of(proxy.pid, 'cmdline').includes('--max-semi-space-size=8'), env !== OWN);
    const environment = of(proxy.pid, 'environ');
    for (const [name, value] of Object.entries({ ...SERVING_ENV, ...env }))
      t.ok(environment.includes(`${name}=${value}`), name);
    proxy.kill('SIGINT');
    t.equal((await proxy.ended).code, 0);
  });
}

void t.test('a launcher that serves in a child outlives signals for logs, as the child does', async (t) => {
  const dir = folder(t);
  const old = join(dir, 'node-22.mjs'); // which needs a flag, so that the launcher starts another process
  const stated = "{ value: { ...process.versions, node: '22.19.0' } }";
  writeFileSync(old, `Object.defineProperty(process, 'versions', ${stated});\n`);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, 'model_list: []\ngeneral_settings: { master_key: sk-launcher-test-0123 }\n');
  const args = ['serve', '--config', config, '--host', '127.0.0.1', '--port', '0', '--data-dir', dir];
  const [node, launcher] = LAUNCHER;
  const proxy = startCli(t, args, { command: [node, '--import', old, launcher] });
  await proxy.said(/serves 0 models on/);
  proxy.kill('SIGUSR1');
  proxy.kill('SIGUSR2');
  proxy.kill('SIGTERM');
  const { code, signal, err } = await proxy.ended;
  t.same({ code, signal }, { code: 0, signal: null });
  t.notMatch(err, /Debugger/);
});
