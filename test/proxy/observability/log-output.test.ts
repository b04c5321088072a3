// The log's output on real files, pipes and full disks: it never blocks, never throws, keeps a bounded amount, and says
// what was dropped once there is room.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { LogOutput } from '../../../proxy/observability/log-output.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';
import { noSmallDisk, smallDisk } from '../../support/small-disk.ts';

const LINE = `${'x'.repeat(999)}\n`;
/** Lines of a thousand bytes that fit into memory: 4 MiB of them. */
const KEPT = 4194;

const noticeOf = (dropped: number): string => `dropped ${dropped}\n`;

function fileOutput(t: Test, path: string, isShared = false): LogOutput {
  const fd = openSync(path, 'a');
  t.teardown(() => closeSync(fd));
  return new LogOutput({
    fd,
    gatherBytes: 16_000,
    writeBytes: 16_384,
    isPipe: false,
    isShared,
    notice: noticeOf,
  });
}

/** Flushes until all is in the file: on a busy machine one flush may end before the write. */
async function settled(output: LogOutput, path: string, isDone: (text: string) => boolean): Promise<string> {
  for (;;) {
    await output.flush();
    const text = readFileSync(path, 'utf8');
    if (isDone(text)) return text;
  }
}

t.test('lines arrive whole and in order, also longer ones than a write', async (t) => {
  const path = join(tempDir(t), 'log');
  const output = fileOutput(t, path);
  const lines = Array.from({ length: 500 }, (_, n) => `${n} ${'ü'.repeat(n === 250 ? 40_000 : n)}\n`);
  for (const line of lines) output.write(line);
  t.equal(await settled(output, path, (text) => text.length >= lines.join('').length), lines.join(''));
  t.equal(output.dropped, 0);
});

t.test('little is written at the flush, and a flush of nothing ends at once', async (t) => {
  const path = join(tempDir(t), 'log');
  const output = fileOutput(t, path);
  await output.flush();
  output.write('one\n');
  t.equal(readFileSync(path, 'utf8'), '', 'one line alone waits for others');
  await output.flush();
  t.equal(readFileSync(path, 'utf8'), 'one\n');
});

for (const isShared of [false, true]) {
  t.test(
    `a full disk, ${isShared ? 'shared with other processes' : 'for itself'}: nothing throws, and all goes on with room`,
    { skip: noSmallDisk() },
    async (t) => {
      const dir = join(tempDir(t), 'disk');
      const disk = smallDisk(t, dir);
      const path = join(dir, 'log');
      const output = fileOutput(t, path, isShared);
      output.write('first\n');
      await output.flush();
      disk.fill();
      for (let n = 0; n < 10; n += 1) output.write(`${n}`.padEnd(999, 'x') + '\n');
      await output.flush(); // gives up
      const torn = readFileSync(path, 'utf8');
      t.not(torn.at(-1), '\n', 'half a line was written to the last free page');
      disk.free();
      const text = await settled(output, path, (all) => all.includes(`\n${'9'.padEnd(999, 'x')}\n`));
      const lines = text.split('\n').filter((line) => line !== '');
      const isWhole = (line: string): boolean => line.length === 999 || line === 'first';
      t.equal(lines.filter(isWhole).length, 11);
      t.equal(lines.length, isShared ? 12 : 11, 'where others may write between, the torn line comes again');
      t.equal(output.dropped, 0);
    },
  );
}

t.test(
  'what is too much on a full disk is dropped and counted, and told in one line',
  { skip: noSmallDisk() },
  async (t) => {
    const dir = join(tempDir(t), 'disk');
    const disk = smallDisk(t, dir, '16m');
    const path = join(dir, 'log');
    const output = fileOutput(t, path);
    disk.fill();
    for (let n = 0; n < KEPT + 100; n += 1) output.write(LINE);
    t.equal(output.dropped, 100);
    await output.flush();
    output.write(LINE);
    t.equal(output.dropped, 101, 'no line jumps the queue');
    disk.free();
    await settled(output, path, (text) => text.includes('dropped'));
    output.write('after\n');
    const text = await settled(output, path, (all) => all.endsWith('after\n'));
    t.equal(text, `${LINE.repeat(KEPT)}dropped 101\nafter\n`);
    t.equal(output.dropped, 101);
  },
);

t.test('a write that takes as long as it takes, as on a slow disk, holds nothing up', async (t) => {
  const path = join(tempDir(t), 'fifo');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, 'r+'); // blocking: a write waits in the system until somebody reads
  const output = new LogOutput({
    fd,
    gatherBytes: 0,
    writeBytes: 262_144,
    isPipe: false,
    isShared: false,
    notice: noticeOf,
  });
  const lines = Array.from({ length: 1_000 }, (_, n) => `${n}`.padEnd(999, 'x') + '\n');
  for (const line of lines) output.write(line);
  await output.flush(); // gives up
  const all = lines.join('').length;
  let text = '';
  for await (const chunk of createReadStream(path, 'utf8')) {
    text += chunk as string;
    if (text.length === all) break;
  }
  t.equal(text, lines.join(''));
  closeSync(fd);
});

const SCRIPT = `
  const { openLog } = await import(${JSON.stringify(join(import.meta.dirname, '../../../proxy/observability/logger.ts'))});
  const { log, flush } = openLog('info');
  const pad = 'x'.repeat(900);
  const many = (count) => { for (let n = 0; n < count; n += 1) log.info({ n, pad }, 'many'); };
  const told = (what) => process.stderr.write(what + '\\n');
`;

/** A program with this log on a pipe, and what it says on its other stream. */
function program(t: Test, script: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT + script], { stdio: 'pipe' });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

t.test(
  'a pipe that nobody reads holds nothing up; with a reader all is there, and what was dropped is told',
  async (t) => {
    const child = program(t, `many(10_000); told('alive ' + log.droppedLines()); process.stdin.resume();`);
    const [said] = (await once(child.stderr.setEncoding('utf8'), 'data')) as [string];
    const dropped = Number(/^alive (\d+)\n/.exec(said)?.[1]);
    t.ok(dropped > 4_000 && dropped < 8_000, `${dropped} of 10,000 dropped`);
    let out = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      out += chunk as string;
      if (out.includes('were dropped') && out.endsWith('\n')) break;
    }
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const numbers = lines.filter(({ msg }) => msg === 'many').map(({ n }) => n);
    t.same(
      numbers,
      Array.from({ length: 10_000 - dropped }, (_, n) => n),
    );
    t.match(lines.at(-1), { level: 40, lines: dropped, msg: /^log lines were dropped/ });
  },
);

t.test('a closed pipe ends nothing, and the program ends as it wants to', async (t) => {
  const child = program(
    t,
    `process.stdin.once('data', async () => {
       many(10_000);
       await flush();
       told('alive');
       process.exit(7);
     });
     told('ready');`,
  );
  child.stderr.setEncoding('utf8');
  await once(child.stderr, 'data');
  child.stdout.destroy();
  await once(child.stdout, 'close');
  child.stdin.write('go\n');
  const [code] = (await once(child, 'exit')) as [number];
  t.equal(code, 7);
});

t.test('an uncaught error: what was logged before it is written', async (t) => {
  const out = execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `${SCRIPT} many(3); process.on('uncaughtException', () => process.exit(0)); setImmediate(() => { throw new Error('bug'); });`,
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  t.equal(out.trim().split('\n').length, 3);
});

t.test('nobody reads the pipe: the end of the process is not held up', async (t) => {
  const child = program(t, `many(10_000); await flush(); process.exit(0);`);
  const [code] = (await once(child, 'exit')) as [number];
  t.equal(code, 0);
});
