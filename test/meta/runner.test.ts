// `npm test` itself: a file that cannot be loaded, or cannot tear down, fails by name, and the run goes on and ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import t from 'tap';
import { filesFor } from '../support/files.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const HEAD = `import t from '${import.meta.resolve('tap')}';\n`;

/** In the order in which they are played, in one process. */
const FILES = {
  'fails-to-load': `${HEAD}t.test('comes before the error', (t) => { t.pass(); t.end(); });
    await import('./missing.js');`,
  'fails-to-tear-down': `${HEAD}t.test('is good', (t) => { t.pass(); t.end(); });
    t.teardown(() => { console.error('the other teardown was called'); });
    t.teardown(() => { throw new Error('ENOTEMPTY, say'); });`,
  'throws-while-it-tears-down': `${HEAD}t.test('is good', (t) => { t.pass(); t.end(); });
    t.teardown(async () => {
      setImmediate(() => { throw new Error('out of the blue'); });
      await new Promise((resolve) => setTimeout(resolve, 50));
    });`,
  'throws-afterwards': `${HEAD}t.test('is good', (t) => { t.pass(); t.end(); });
    t.teardown(() => { setImmediate(() => { throw new Error('much later'); }); });`,
  'throws-in-the-middle': `${HEAD}t.test('is cut off', async () => {
      setImmediate(() => { throw new Error('in the middle'); });
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`,
  'leaves-a-server': `import { createServer } from 'node:net';
    ${HEAD}t.test('is good', (t) => { createServer().listen(0, '127.0.0.1'); t.pass(); t.end(); });`,
  'is-good': `${HEAD}t.test('is good', (t) => { t.pass(); t.end(); });`,
} as const;

async function played(
  names: readonly (keyof typeof FILES)[],
): Promise<{ code: number | null; said: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const paths = names.map((name, at) => {
    const path = join(folder, `${at}-${name}.test.mjs`); // played in the order of their names
    writeFileSync(path, FILES[name]);
    return path;
  });
  const run = spawn(process.execPath, ['test/support/run.ts', '--jobs', '1', ...paths], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => run.kill('SIGKILL'));
  const [out, error] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')]);
  return { code: run.exitCode, said: out + error };
}

t.test('whatever a file does, it is named, and the next ones are played', async (t) => {
  const { code, said } = await played([
    'fails-to-load',
    'fails-to-tear-down',
    'throws-while-it-tears-down',
    'throws-afterwards',
    'throws-in-the-middle',
    'is-good',
  ]);
  t.equal(code, 1);
  t.match(said, /FAILED .*0-fails-to-load\.test\.mjs > loading .*missing\.js/);
  t.match(said, /FAILED .*0-fails-to-load\.test\.mjs 1 passed/, 'what it had said before was played');
  t.match(said, /FAILED .*1-fails-to-tear-down\.test\.mjs > .*ENOTEMPTY, say/);
  t.match(said, /the other teardown was called/);
  t.match(said, /FAILED .*2-throws-while-it-tears-down\.test\.mjs 1 passed/);
  t.match(said, /Error: out of the blue/);
  t.match(said, /FAILED .*3-throws-afterwards\.test\.mjs/);
  t.match(said, /Error: much later/);
  t.match(said, /FAILED .*4-throws-in-the-middle\.test\.mjs > is cut off/);
  t.match(said, /Error: in the middle/);
  t.match(said, /ok {5}.*5-is-good\.test\.mjs 1 passed/);
  t.match(said, /6 files in \d+ s/);
});

t.test('a process whose files are over ends, and says what one of them left open', async (t) => {
  const { code, said } = await played(['is-good', 'leaves-a-server', 'is-good']);
  t.match(said, /ok {5}.*2-is-good\.test\.mjs/);
  t.match(said, /TCPServerWrap.*1-leaves-a-server\.test\.mjs/);
  t.equal(code, 0);
});

t.test('good files', async (t) => {
  const { code, said } = await played(['is-good']);
  t.match(said, /1 files in \d+ s\n1 passed, 0 failed\n$/);
  t.equal(code, 0);
});

t.test(
  'each file is played by `npm test` or by the battery, and by both together before a change lands',
  (t) => {
    const [short, long] = [filesFor('short'), filesFor('long')];
    t.same([...short, ...long].toSorted(), globSync('test/**/*.test.ts', { cwd: ROOT }).toSorted());
    t.same(filesFor('all').toSorted(), [...short, ...long].toSorted());
    t.ok(long.length > 5 && short.length > 8 * long.length, `${long.length} are left to the battery`);
    t.match(readFileSync(join(ROOT, 'test/battery/run.ts'), 'utf8'), "'--long'");
    t.match(readFileSync(join(ROOT, '.ci/run'), 'utf8'), '\nnpm test\nnpm run battery -- --quick\n');
    t.end();
  },
);
