// Which files of tests share a process: a process of its own costs a file 0.5 to 1.5 s of CPU, for its start and for
// code that runs cold, and that is more than most files take for their tests.
import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** What runs in one process. */
export interface Batch {
  /** For people: a file, or a folder with the names of its files in it. */
  readonly name: string;
  readonly files: readonly string[];
}

/** Folders whose files may share a process, and how many do: long files are spread over the cores. */
const SHARED: readonly (readonly [folder: RegExp, most: number])[] = [
  [/^test\/(?:config|proxy)\b/, 24],
  [/^test\/(?:e2e|security)$/, 5],
  [/^test\/platform(?:$|\/(?!sandboxes|store))/, 5],
];

/** Folders of theirs with a few quick files share a process, too. */
const TOGETHER = ['test/config', 'test/platform', 'test/proxy'];
const LARGE =
  /^test\/proxy\/(?:bodies|cli|demo-gateway|observability|pipeline|relay|server|spend|upstream)\b/;

/** These measure their process or its children, or take long for themselves. */
const ALONE = new Set(
  [
    'e2e/admin-port',
    'e2e/bounded-work',
    'e2e/counts',
    'e2e/last-words',
    'e2e/platform-day',
    'e2e/relay',
    'e2e/spend',
    'e2e/traces',
    'e2e/workers',
    'proxy/cli/sandbox-check',
    'security/isolation',
  ].map((name) => `test/${name}.test.ts`),
);

/** A file that sets something else up than a rig outside its tests, and so waits or tears down. */
const SET_UP = /^(?:(?:const|let) .*= await (?!startRig\()|await|t\.(?:teardown|before|after))\b/m;
const isAlone = (file: string): boolean =>
  ALONE.has(file) || SET_UP.test(readFileSync(join(ROOT, file), 'utf8'));

const mostIn = (folder: string): number => SHARED.find(([pattern]) => pattern.test(folder))?.[1] ?? 1;

/** All files, each in one batch. */
export function batchesOf(files: readonly string[]): Batch[] {
  const folders = Map.groupBy(files, (file) => {
    const folder = dirname(file);
    if (mostIn(folder) === 1 || isAlone(file)) return file;
    return TOGETHER.find((one) => folder.startsWith(`${one}/`) && !LARGE.test(folder)) ?? folder;
  });
  return [...folders].flatMap(([folder, own]) => {
    const sorted = own.toSorted();
    const count = Math.ceil(sorted.length / mostIn(folder));
    // Each takes every n-th, so that neighbours, which are alike, do not all stand in one.
    const parts = Array.from({ length: count }, (_, n) => sorted.filter((_, i) => i % count === n));
    return parts.map((part) => ({ name: nameOf(folder, part, count), files: part }));
  });
}

function nameOf(folder: string, files: readonly string[], count: number): string {
  const [first = folder] = files;
  if (files.length === 1) return first;
  return count === 1 ? folder : `${folder}/{${files.map((file) => basename(file, '.test.ts')).join()}}`;
}
