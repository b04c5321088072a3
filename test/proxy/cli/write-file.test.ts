// Where commands write: a file as a whole, a link through, and nothing is replaced that is no file.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CannotStart } from '../../../proxy/errors/cannot-start.ts';
import { withFile, withOutput, writeNew, writeWhole } from '../../../proxy/cli/write-file.ts';
import { folder } from '../../support/cli.ts';

/** Whatever is written to the terminal fails the test. */
const terminalIn = (cwd: string) => ({ cwd, out: (text: string) => t.fail(text) });

const TEXT = 'what was asked for\n';

t.test('a file is replaced as a whole, and one of a like name stays', async (t) => {
  const dir = folder(t);
  writeFileSync(join(dir, 'out'), 'before');
  writeFileSync(join(dir, 'out.partial'), 'of somebody else');
  const terminal = terminalIn(dir);
  await withOutput('out', terminal, async ({ write }) => {
    write(TEXT);
    t.equal(readFileSync(join(dir, 'out'), 'utf8'), 'before');
  });
  t.equal(readFileSync(join(dir, 'out'), 'utf8'), TEXT);
  t.equal(lstatSync(join(dir, 'out')).mode & 0o777, 0o600);
  const broken = withFile('out', terminal, () => Promise.reject(new Error('it broke')));
  await t.rejects(broken, { message: 'it broke' });
  t.equal(readFileSync(join(dir, 'out'), 'utf8'), TEXT);
  t.same(readdirSync(dir).toSorted(), ['out', 'out.partial']);
  t.equal(readFileSync(join(dir, 'out.partial'), 'utf8'), 'of somebody else');
});

t.test('a link stays a link: what it leads to is written', async (t) => {
  const dir = folder(t);
  const terminal = terminalIn(dir);
  writeFileSync(join(dir, 'target'), 'before');
  symlinkSync('target', join(dir, 'link'));
  symlinkSync('later', join(dir, 'early'));
  const isStill = (link: string, target: string, holds: string): void => {
    t.equal(readlinkSync(join(dir, link)), target);
    t.equal(readFileSync(join(dir, target), 'utf8'), holds);
  };
  await withOutput('link', terminal, async ({ write }) => write(TEXT));
  isStill('link', 'target', TEXT);
  await withOutput('early', terminal, async ({ write }) => write(TEXT));
  isStill('early', 'later', TEXT);
  writeNew('link', 'anew\n', true, terminal);
  isStill('link', 'target', 'anew\n');
  writeWhole(join(dir, 'link'), 'again\n');
  isStill('link', 'target', 'again\n');
});

t.test('a pipe is written to, and stays a pipe', async (t) => {
  const dir = folder(t);
  const terminal = terminalIn(dir);
  execFileSync('mkfifo', [join(dir, 'pipe')]);
  for (const write of [
    () => withOutput('pipe', terminal, async ({ write }) => write(TEXT)),
    () => withFile('pipe', terminal, async (path) => writeFileSync(path, TEXT)),
  ]) {
    const reader = spawn('cat', [join(dir, 'pipe')], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(reader, 'close');
    const read = text(reader.stdout);
    await write();
    t.equal(await read, TEXT);
    await ended;
  }
  t.throws(
    () => writeNew('pipe', TEXT, true, terminal),
    new CannotStart('pipe is no file - name another one'),
  );
  t.ok(lstatSync(join(dir, 'pipe')).isFIFO());
  t.same(readdirSync(dir), ['pipe']);
});

t.test('what stands for an open file is written to', async (t) => {
  const dir = folder(t);
  const program = join(dir, 'program.ts');
  const source = new URL('../../../proxy/cli/write-file.ts', import.meta.url);
  writeFileSync(
    program,
    `import { withOutput } from ${JSON.stringify(source.href)};
await withOutput('/dev/stdout', { cwd: '/' }, async ({ write }) => write(${JSON.stringify(TEXT)}));`,
  );
  const piped = execFileSync('sh', ['-c', '"$0" "$1" | cat', process.execPath, program], {
    encoding: 'utf8',
  });
  t.equal(piped, TEXT);
  const redirected = `"$0" "$1" > out && "$0" "$1" >> out`;
  execFileSync('sh', ['-c', redirected, process.execPath, program], { cwd: dir });
  t.equal(readFileSync(join(dir, 'out'), 'utf8'), TEXT + TEXT);
});
