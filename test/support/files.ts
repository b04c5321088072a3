// Which files of tests share a process: the start of one costs 0.25 s, more than most files of pure functions take.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** A file that sets something up outside its tests, and so waits or tears down, keeps a process to itself. */
const SET_UP = /^(?:(?:const|let) .*= await|await|t\.(?:teardown|before|after))\b/m;
const isAlone = (file: string): boolean => SET_UP.test(readFileSync(join(ROOT, file), 'utf8'));

/** The files of a folder that may share a process. */
export function sharers(folder: string): string[] {
  return globSync(`${folder}/*.test.ts`, { cwd: ROOT })
    .filter((file) => !isAlone(file))
    .toSorted();
}

/** What runs in a process of its own: files, and folders for their `sharers`. */
export function processesFor(files: readonly string[], isShared: (file: string) => boolean): string[] {
  return [...new Set(files.map((file) => (isShared(file) && !isAlone(file) ? dirname(file) : file)))];
}
