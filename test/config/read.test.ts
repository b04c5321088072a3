// What a path may name: a pipe is read once, at the start; a process that serves never waits for one.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readText, readTextAgain, watchedBytes } from '../../config/read.ts';
import { folder } from '../support/cli.ts';

t.test(
  'what a server reads at each connection is a file; a pipe or a folder is named, and nothing waits',
  (t) => {
    const dir = folder(t);
    const pipe = join(dir, 'pipe');
    t.equal(spawnSync('mkfifo', [pipe]).status, 0);
    writeFileSync(join(dir, 'ca.pem'), 'PEM');
    t.equal(watchedBytes(join(dir, 'ca.pem')).toString(), 'PEM');
    t.throws(() => watchedBytes(pipe), { message: `${pipe} is a pipe or a device, not a file` });
    t.throws(() => watchedBytes('/dev/zero'), /is a pipe or a device, not a file/);
    t.throws(() => watchedBytes(dir), /is a folder, not a file/);
    t.throws(() => watchedBytes(join(dir, 'none')), { code: 'ENOENT' });
    t.end();
  },
);

t.test('a file has the same limit at every reading', (t) => {
  const path = join(folder(t), 'large.yaml');
  writeFileSync(path, '#'.repeat(10 * 1024 * 1024 + 1));
  t.match(readTextAgain(path), { ok: false, message: 'is 10485761 bytes large; the limit is 10485760' });
  t.strictSame(readTextAgain(path), readText(path));
  t.end();
});

t.test('a NUL byte is called one, with its line; text in UTF-16 is called what it is', (t) => {
  const dir = folder(t);
  const path = join(dir, 'text.yaml');
  const says = (content: Buffer): unknown => {
    writeFileSync(path, content);
    const read = readText(path);
    return read.ok ? read.text : read.message;
  };
  t.equal(says(Buffer.from('a: 1\nb: "x\0y"\n')), 'holds a NUL byte, in line 2');
  t.equal(says(Buffer.from('a: 1\n', 'utf16le')), 'is not UTF-8 text');
  t.equal(says(Buffer.from('a: 1\n', 'utf16le').swap16()), 'is not UTF-8 text');
  t.equal(says(Buffer.from([0xff, 0xfe, 0x61, 0])), 'is not UTF-8 text');
  t.end();
});
