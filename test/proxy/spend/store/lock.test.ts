// One writer per data directory, whatever way the writer before it ended.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { DirectoryLocked, lockDirectory } from '../../../../proxy/spend/store/lock.ts';

const LOCK_URL = new URL('../../../../proxy/spend/store/lock.ts', import.meta.url).href;

t.test('a second lock of the same process is refused until the first is released', async (t) => {
  const dir = t.testdir();
  const first = lockDirectory(dir);
  t.throws(() => lockDirectory(dir), DirectoryLocked);
  first.release();
  first.release();
  lockDirectory(dir).release();
});

t.test(
  'a second process is refused with directory, holder and mend; kill -9 releases the lock',
  async (t) => {
    const dir = t.testdir();
    const code = `const { lockDirectory } = await import(${JSON.stringify(LOCK_URL)});
    lockDirectory(${JSON.stringify(dir)}); console.log('held'); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const expected =
      `the data directory ${dir} is in use by another Throughline process (pid ${child.pid} on ${hostname()}) - ` +
      `stop that process, or give this one a directory of its own with --data-dir`;
    t.throws(() => lockDirectory(dir), { name: 'DirectoryLocked', message: expected });
    child.kill('SIGKILL');
    await once(child, 'exit');
    lockDirectory(dir).release();
  },
);

t.test('a lock file that a power failure has spoiled is named, with the mend', async (t) => {
  const dir = t.testdir();
  lockDirectory(dir).release();
  const file = join(dir, 'lock.db');
  writeFileSync(file, Buffer.alloc(8_192));
  t.throws(() => lockDirectory(dir), { message: /^lock\.db is damaged; it holds no data: remove it/ });
  rmSync(file);
  lockDirectory(dir).release();
});
