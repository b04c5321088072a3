// The launcher: one that serves is begun anew, in the same process, with what keeps its memory small.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, ROOT, startCli } from '../support/cli.ts';

const LAUNCHER = [process.execPath, join(ROOT, 'bin', 'throughline.js')] as const;
const skip = process.platform === 'linux' ? false : 'process.execve and glibc';

const of = (pid: number, file: string): string[] => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');

for (const stated of [undefined, '4']) {
  void t.test(`arenas of malloc stated: ${stated ?? 'no'}`, { skip }, async (t) => {
    const env = stated === undefined ? {} : { MALLOC_ARENA_MAX: stated };
    const dir = folder(t);
    const config = join(dir, 'gateway.yaml');
    writeFileSync(config, 'model_list: []\ngeneral_settings: { master_key: sk-launcher-test-0123 }\n');
    const args = ['serve', '--config', config, '--host', '127.0.0.1', '--port', '0', '--data-dir', dir];
    const proxy = startCli(t, args, { command: LAUNCHER, env });
    await proxy.said(/serves 0 models on/);
    const isBegunAnew = stated === undefined;
    t.equal(of(proxy.pid, 'cmdline').includes('--max-semi-space-size=8'), isBegunAnew);
    t.ok(of(proxy.pid, 'environ').includes(`MALLOC_ARENA_MAX=${stated ?? '2'}`));
    t.equal(of(proxy.pid, 'environ').includes('MALLOC_TRIM_THRESHOLD_=131072'), isBegunAnew);
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
