// The data directory: private whatever it was before, and refused in a moment where it cannot be one.
import {
  chmodSync,
  mkdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
  chownSync,
  existsSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory, openDirectory } from '../../../../proxy/spend/store/data-directory.ts';
import { folder, runCli, serveCli } from '../../../support/cli.ts';
import { noSmallDisk, smallDisk } from '../../../support/small-disk.ts';
import { startRig } from '../../../support/rig.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const isRoot = process.geteuid?.() === 0;

t.test('a new one, with the folders above it, is private', (t) => {
  const dir = join(folder(t), 'a', 'b');
  t.strictSame(openDirectory(dir), []);
  for (const path of [dir, join(dir, '..')]) t.equal(modeOf(path), '700');
  t.strictSame(openDirectory(dir), [], 'and there is nothing to say about it later');
  t.end();
});

t.test('one that was there is closed to others, with its files, and that is told', (t) => {
  const dir = join(folder(t), 'data');
  const files = [
    'throughline.db',
    'throughline.db-wal',
    'access.db',
    'history.db',
    'brake.db-wal',
    'capsules.db',
    'lock.db',
    'journal/000001.log',
    'journal/w1/id',
    'alerts/outbox-1.jsonl',
    'alerts/told/one',
    'capsules/one.capsule',
  ];
  const folders = ['journal', 'journal/w1', 'alerts', 'alerts/told', 'capsules'].map((name) =>
    join(dir, name),
  );
  const outside = join(folder(t), 'outside');
  writeFileSync(outside, '');
  chmodSync(outside, 0o644);
  for (const path of [...folders, join(dir, 'sandboxes/one')]) mkdirSync(path, { recursive: true });
  for (const file of [...files, 'sandboxes/one/script.sh']) {
    writeFileSync(join(dir, file), '');
    chmodSync(join(dir, file), 0o755);
  }
  for (const path of [dir, ...folders]) chmodSync(path, 0o777);
  symlinkSync(outside, join(dir, 'platform.db'));
  t.match(openDirectory(dir), [
    { level: 'warn', name: 'data_directory_tightened', message: /had mode 0777, and 17 files were open/ },
  ]);
  for (const path of [dir, ...folders]) t.equal(modeOf(path), '700', path);
  for (const file of files) t.equal(modeOf(join(dir, file)), '600', file);
  t.equal(modeOf(join(dir, 'sandboxes/one/script.sh')), '755', 'what a sandbox has is its own');
  t.equal(modeOf(outside), '644', 'a link is not followed');
  t.equal(readlinkSync(join(dir, 'platform.db')), outside);
  chmodSync(join(dir, 'lock.db'), 0o640);
  t.match(openDirectory(dir), [
    { message: /^in the data directory .* 1 file was open to other users; now only/ },
  ]);
  t.end();
});

t.test('a directory with other things in it is not taken from others', (t) => {
  const dir = folder(t);
  writeFileSync(join(dir, 'notes.txt'), '');
  writeFileSync(join(dir, 'throughline.db'), '');
  for (const file of ['notes.txt', 'throughline.db']) chmodSync(join(dir, file), 0o644);
  chmodSync(dir, 0o1777);
  t.throws(() => openDirectory(dir), { message: /^everybody may write to it, and it holds other things/ });
  t.equal(modeOf(dir), '777', 'like /tmp');
  chmodSync(dir, 0o755);
  t.match(openDirectory(dir), [
    {
      level: 'warn',
      name: 'data_directory_shared',
      message: /holds other things too, so its mode 0755 is left/,
    },
    { name: 'data_directory_tightened', message: /1 file was open/ },
  ]);
  t.strictSame(
    ['', 'notes.txt', 'throughline.db'].map((name) => modeOf(join(dir, name))),
    ['755', '644', '600'],
  );
  mkdirSync(join(dir, 'journal'));
  writeFileSync(join(dir, 'lock.db'), '');
  t.match(openDirectory(dir)[0], { name: 'data_directory_tightened' }, 'one that has been used is');
  t.equal(modeOf(dir), '700');
  t.equal(modeOf(join(dir, 'notes.txt')), '644');
  t.end();
});

t.test('what cannot be one is said to be so', (t) => {
  const dir = folder(t);
  writeFileSync(join(dir, 'file'), '');
  symlinkSync(join(dir, 'nowhere'), join(dir, 'dangling'));
  const cases: readonly (readonly [string, RegExp])[] = [
    [join(dir, 'file'), /file is not a directory/],
    [join(dir, 'file', 'below'), /file is not a directory/],
    [join(dir, 'dangling'), /dangling is a symbolic link to nothing/],
    ['/dev/null', /\/dev\/null is not a directory/],
    ['/dev/null/x', /\/dev\/null is not a directory/],
  ];
  for (const [path, why] of cases) t.throws(() => makeDirectory(path), { message: why }, path);
  t.end();
});

t.test(
  'interfaces of the kernel are none',
  { skip: existsSync('/proc/self') ? false : 'needs Linux' },
  (t) => {
    for (const path of ['/proc/x', '/proc/x/y/z', '/proc/self/fd', '/proc/self', '/sys/x', '/sys/kernel'])
      if (existsSync(path.split('/', 2).join('/')))
        t.throws(
          () => makeDirectory(path),
          { message: /is part of (proc|sysfs), which keeps no files/ },
          path,
        );
    t.end();
  },
);

t.test('a read-only disk', { skip: noSmallDisk() }, (t) => {
  const dir = join(folder(t), 'disk');
  const disk = smallDisk(t, dir);
  disk.protect(true);
  t.throws(() => makeDirectory(join(dir, 'data')), { code: 'EROFS' });
  t.end();
});

t.test("another user's", { skip: isRoot ? false : 'needs root' }, (t) => {
  const dir = join(folder(t), 'data');
  mkdirSync(dir);
  chownSync(dir, 12_345, 12_345);
  t.match(openDirectory(dir), [
    { name: 'data_directory_tightened' },
    { level: 'warn', name: 'data_directory_owner', message: /belongs to uid 12345/ },
  ]);
  t.throws(() => openDirectory(dir, 54_321), { message: /belongs to another user \(uid 12345/ });
  chownSync(dir, 0, 12_345);
  chmodSync(dir, 0o2777);
  t.match(openDirectory(dir, 54_321), [
    { level: 'warn', name: 'data_directory_shared', message: /mode 02777/ },
  ]);
  chmodSync(dir, 0o2770);
  t.match(
    openDirectory(dir, 54_321),
    [{ level: 'info', name: 'data_directory_shared' }],
    'as Kubernetes mounts volumes',
  );
  t.end();
});

t.test('the program ends with a sentence, alone and with workers', async (t) => {
  const config = join(folder(t), 'gateway.yaml');
  writeFileSync(
    config,
    'model_list: [{ model_name: a, litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:9" } }]',
  );
  for (const more of [[], ['--workers', '2']]) {
    const args = ['serve', '--config', config, '--port', '0', '--data-dir', '/proc/throughline', ...more];
    const { code, err } = await runCli(t, args);
    t.equal(code, 1);
    t.match(
      err,
      /^throughline: the data directory \/proc\/throughline cannot be used \(\/proc is part of proc.*\) - name another one with --data-dir\n$/m,
    );
    t.notMatch(err, /bug|at .*\.ts/);
  }
  const quick = await runCli(t, ['start', '--port', '0', '--data-dir', '/proc/throughline']);
  t.equal(quick.code, 1);
  t.match(
    quick.err,
    /the data directory \/proc\/throughline cannot be used \(.*\) - name another one with --data-dir\n/,
  );
  const busy = join(folder(t), 'busy');
  mkdirSync(busy);
  writeFileSync(join(busy, 'of-others'), '');
  chmodSync(busy, 0o1777);
  const file = join(folder(t), 'file');
  writeFileSync(file, '');
  for (const [place, why] of [
    [busy, 'everybody may write to it, .*'],
    [file, '.*file is not a directory'],
  ] as const)
    t.match(
      (await runCli(t, ['serve', '--config', config, '--port', '0', '--data-dir', place])).err,
      new RegExp(
        `^throughline: the data directory \\S+ cannot be used \\(${why}\\) - name another one with --data-dir\n$`,
        'm',
      ),
    );
  const dir = join(folder(t), 'open');
  mkdirSync(dir);
  chmodSync(dir, 0o755);
  const served = await serveCli(t, config, dir);
  await served.said(/"event":"data_directory_tightened"/);
  t.equal(modeOf(dir), '700');
});

t.test('all that a running proxy writes is private', async (t) => {
  const rig = await startRig(t);
  await rig.rows();
  const data = join(rig.folder, 'data');
  for (const file of ['lock.db', 'throughline.db', 'journal/id'])
    t.equal(modeOf(join(data, file)), '600', file);
  for (const dir of ['', 'journal']) t.equal(modeOf(join(data, dir)), '700', dir);
});
