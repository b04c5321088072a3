// The watcher on real folders: every way in which a configuration file is replaced in practice is noticed.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import type { Test } from 'tap';
import { identityOf } from '../../../config/read.ts';
import { ConfigWatcher } from '../../../proxy/server/config-watcher.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

/** The slow look would make any change seem noticed: here it never comes. */
const NEVER_MS = 2_000_000_000;

/** As they are now. */
const read = (...files: readonly string[]): ReadonlyMap<string, string> =>
  new Map(files.map((file) => [file, identityOf(file)]));

/** A watcher whose calls can be awaited; it does not keep the process alive by itself. */
function watching(
  t: Test,
  files: readonly string[],
): { watcher: ConfigWatcher; calls(): number; next(): Promise<void> } {
  let calls = 0;
  let called: (() => void) | null = null;
  const watcher = new ConfigWatcher(() => {
    calls += 1;
    called?.();
  }, NEVER_MS);
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => {
    clearInterval(alive);
    watcher.close();
  });
  watcher.follow(read(...files));
  return {
    watcher,
    calls: () => calls,
    next: () =>
      new Promise((resolve) => {
        called = () => {
          called = null;
          resolve();
        };
      }),
  };
}

t.test('a pipe that is written to has not changed: to read it again would wait for ever', (t) => {
  const pipe = join(tempDir(t), 'pipe');
  t.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const fd = openSync(pipe, 'r+');
  const before = identityOf(pipe);
  writeSync(fd, 'model_list: []');
  t.equal(identityOf(pipe), before);
  closeSync(fd);
  t.end();
});

t.test(
  'a ConfigMap is swapped three times in a row, each time by its ..data link, and each is noticed',
  async (t) => {
    const mount = tempDir(t);
    const path = join(mount, 'gateway.yaml');
    const swap = (version: string): void => {
      // As the kubelet does it: a folder of its own per version, and the link replaced by a rename.
      mkdirSync(join(mount, `..${version}`));
      writeFileSync(join(mount, `..${version}/gateway.yaml`), version);
      symlinkSync(`..${version}`, join(mount, '..data_tmp'));
      renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
    };
    swap('first');
    symlinkSync('..data/gateway.yaml', path);
    const { next } = watching(t, [path]);
    for (const [version, old] of [
      ['second', 'first'],
      ['third', 'second'],
      ['fourth', 'third'],
    ] as const) {
      const noticed = next();
      swap(version);
      rmSync(join(mount, `..${old}`), { recursive: true });
      await noticed;
      t.equal(readFileSync(path, 'utf8'), version);
    }
  },
);

t.test('a file that is written in place, or renamed over as editors do, is noticed', async (t) => {
  const folder = tempDir(t);
  const path = join(folder, 'gateway.yaml');
  writeFileSync(path, 'a');
  const { next } = watching(t, [path]);
  let noticed = next();
  writeFileSync(path, 'b');
  await noticed;
  noticed = next();
  writeFileSync(join(folder, '.gateway.yaml.swp'), 'c');
  renameSync(join(folder, '.gateway.yaml.swp'), path);
  await noticed;
  t.equal(readFileSync(path, 'utf8'), 'c');
  noticed = next();
  rmSync(path);
  writeFileSync(path, 'd');
  await noticed;
  t.equal(readFileSync(path, 'utf8'), 'd');
});

t.test('what is written while the files are read is noticed', async (t) => {
  const path = join(tempDir(t), 'gateway.yaml');
  writeFileSync(path, 'a');
  const { watcher, next } = watching(t, [path]);
  const asRead = read(path);
  writeFileSync(path, 'b'); // the reader has `a`
  const noticed = next();
  watcher.follow(asRead);
  await noticed;
});

t.test('many writes in a row are one call, and it comes after the last of them', async (t) => {
  const path = join(tempDir(t), 'gateway.yaml');
  writeFileSync(path, '0');
  const { calls, next } = watching(t, [path]);
  const noticed = next();
  for (let n = 1; n <= 50; n++) writeFileSync(path, String(n));
  await noticed;
  t.equal(readFileSync(path, 'utf8'), '50');
  t.equal(calls(), 1);
});

t.test(
  'a file that is written slowly is read once it is whole, or after three seconds as it is',
  async (t) => {
    const folder = tempDir(t);
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, '');
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const { calls } = watching(t, [path]);
    const events = watch(folder); // hears of each write after the watcher
    t.teardown(() => events.close());
    const write = async (): Promise<void> => {
      const heard = once(events, 'change');
      appendFileSync(path, 'a piece');
      await heard;
    };
    for (let n = 0; n < 10; n += 1) {
      await write();
      mock.timers.tick(90);
    }
    t.equal(calls(), 0, 'no pause between two pieces was 100 ms');
    mock.timers.tick(10);
    t.equal(calls(), 1);
    for (let n = 0; n < 33; n += 1) {
      await write();
      mock.timers.tick(90);
    }
    t.equal(calls(), 1, 'written for 2,970 ms');
    await write();
    mock.timers.tick(30);
    t.equal(calls(), 2);
  },
);

t.test('files in several folders are followed, and those that are no longer read are let go', async (t) => {
  const [one, two] = [tempDir(t), tempDir(t)];
  const paths = [join(one, 'gateway.yaml'), join(two, 'models.yaml')] as const;
  for (const path of paths) writeFileSync(path, 'a');
  const narrow = watching(t, paths);
  const wide = watching(t, paths);
  for (const path of paths) {
    const noticed = Promise.all([narrow.next(), wide.next()]);
    writeFileSync(path, 'b');
    await noticed;
  }
  narrow.watcher.follow(read(paths[0]));
  const before = narrow.calls();
  let fence = wide.next();
  writeFileSync(paths[1], 'c');
  await fence;
  fence = wide.next();
  const noticed = narrow.next();
  writeFileSync(paths[0], 'c');
  await Promise.all([fence, noticed]);
  t.equal(narrow.calls(), before + 1, 'the folder that was let go made no call');
  narrow.watcher.close();
  fence = wide.next();
  writeFileSync(paths[0], 'd');
  await fence;
  fence = wide.next();
  writeFileSync(paths[1], 'd');
  await fence;
  t.equal(narrow.calls(), before + 1, 'a closed watcher calls nobody');
  narrow.watcher.follow(new Map([[paths[0], 'as it was']])); // a reload that ends after the close
  fence = wide.next();
  writeFileSync(paths[0], 'e');
  await fence;
  fence = wide.next();
  writeFileSync(paths[1], 'e');
  await fence;
  t.equal(narrow.calls(), before + 1, 'nor one that is to follow files after its close');
});

t.test(
  'a folder that goes is noticed and does no harm; when it is back, following it again works',
  async (t) => {
    const [stays, parent] = [tempDir(t), tempDir(t)];
    const goes = join(parent, 'more');
    mkdirSync(goes);
    const paths = [join(stays, 'gateway.yaml'), join(goes, 'models.yaml')] as const;
    for (const path of paths) writeFileSync(path, 'a');
    const { watcher, next } = watching(t, paths);
    let noticed = next();
    rmSync(goes, { recursive: true });
    await noticed;
    noticed = next();
    writeFileSync(paths[0], 'b');
    await noticed;
    watcher.follow(read(...paths)); // not there: nothing to watch, nothing thrown
    mkdirSync(goes);
    writeFileSync(paths[1], 'b');
    watcher.follow(read(...paths));
    noticed = next();
    writeFileSync(paths[1], 'c');
    await noticed;
    t.equal(readFileSync(paths[1], 'utf8'), 'c');
  },
);

t.test('a folder that is not there is no error', async (t) => {
  const { watcher } = watching(t, ['/no/such/folder/gateway.yaml']);
  t.doesNotThrow(() => watcher.follow(read('/no/such/folder/gateway.yaml', '/neither/this/gateway.yaml')));
  watcher.close();
  t.doesNotThrow(() => watcher.close());
});
