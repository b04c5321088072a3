// Tests mirror sources: test/<path>.test.ts tests <path>.ts. A test that names no file stands in a folder for tests of
// the whole (e2e, security, crash, battery, meta) or says here what it tests.
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../..');
const MIRRORED = ['config', 'proxy', 'platform', 'bench'];

/** Tests of a folder's contract or of several of its files together. */
const OF_SEVERAL: readonly string[] = ['config/golden.test.ts', 'platform/replicas.test.ts'];

const testsBelow = (folder: string): string[] => {
  const place = join(ROOT, 'test', folder);
  if (!existsSync(place)) return [];
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`);
};

t.test('each test stands where its source stands', (t) => {
  const tests = MIRRORED.flatMap(testsBelow);
  t.ok(tests.length > 80, 'the folders were really read');
  const strays = tests
    .filter((file) => !existsSync(join(ROOT, file.replace(/\.test\.ts$/, '.ts'))))
    .filter((file) => !OF_SEVERAL.includes(file));
  t.same(strays, []);
  t.same(
    OF_SEVERAL.filter((file) => !tests.includes(file)),
    [],
    'each of them exists',
  );
  t.end();
});
