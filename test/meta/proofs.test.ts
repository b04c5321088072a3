// Pages name tests as proofs: `test/file > name`. Each file must be there and hold a test of that name, so that a table
// of proofs cannot outlive what it names. A name may be cut with `...`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PAGES = [
  'SECURITY.md',
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** A test's name as it stands in the source: the first argument of `test(` or `withServer(`, or `name:` of an interop case. */
const NAMED =
  /(?:\.test\(|\bwithServer\(|\bname:)\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`)/g;

/** Apostrophes are typographic in some places and not in others. */
const plain = (name: string): string => name.replaceAll('’', "'").replaceAll(/\\(.)/g, '$1');

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Each name as a pattern: what a template inserts may be anything. */
function namesIn(file: string): RegExp[] {
  return [...read(file).matchAll(NAMED)].map(([, single, double, template]) => {
    if (template === undefined) return new RegExp(`^${escaped(plain(single ?? double ?? ''))}$`);
    const pieces = template.split(/\$\{[^}]*\}/).map((piece) => escaped(plain(piece)));
    return new RegExp(`^${pieces.join('.+')}$`);
  });
}

function isProved(file: string, name: string): boolean {
  const wanted = plain(name);
  const cut = /^(.*?)\s*(?:\.\.\.|…)$/.exec(wanted)?.[1];
  const names = namesIn(file);
  if (cut === undefined) return names.some((one) => one.test(wanted));
  const plainNames = [...read(file).matchAll(NAMED)].map(([, a, b, c]) => plain(a ?? b ?? c ?? ''));
  return plainNames.some((one) => one.startsWith(cut));
}

t.test('every test that a page names is there', async (t) => {
  const references = PAGES.flatMap((page) =>
    [...read(page).matchAll(/`(test\/[^`\s]+)(?: > ([^`\n]+))?`/g)].map(
      ([, file = '', name]) => [page, file, name] as const,
    ),
  );
  const wrong = references
    .filter(
      ([, file, name]) => !existsSync(join(ROOT, file)) || (name !== undefined && !isProved(file, name)),
    )
    .map(([page, file, name = '']) => `${page}: ${file} > ${name}`);
  t.same(wrong, []);
  t.ok(references.filter(([, , name]) => name !== undefined).length > 40, 'references were really found');
});

t.test('tables that name a test by its file alone name one that is there', async (t) => {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });
  const references = PAGES.flatMap((page) =>
    [...read(page).matchAll(/`(?!path >)([a-z][\w-]*) > ([^`\n]+)`/g)].map(
      ([, file = '', name = '']) => [page, file, name] as const,
    ),
  );
  const wrong = references.filter(([, file, name]) => {
    const found = files.filter((path) => path.endsWith(`/${file}.test.ts`)).map((path) => `test/${path}`);
    return !found.some((path) => isProved(path, name) || isProved(path, `${name}...`));
  });
  t.same(wrong, []);
  t.ok(references.length > 20, 'references were really found');
});
