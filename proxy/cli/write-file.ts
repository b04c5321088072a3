// Files that commands write for an operator: whole or not at all, and never over another one unasked.
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Terminal } from './terminal.ts';

const SCHEMA_LINE = /^# yaml-language-server: \$schema=.*\n/;

/**
 * Writes a file that only its owner may read. It has its name only when it is complete and on the disk.
 * @param force whether --force was given; null where the command has no such flag
 * @throws CannotStart when it exists and nothing forces, or when it cannot be written
 */
export function writeNew(file: string, text: string, force: boolean | null, { cwd }: Terminal): void {
  const path = resolve(cwd, file);
  if (force !== true && existsSync(path)) throw exists(file, force);
  const partial = `${path}.${randomUUID().slice(0, 8)}.partial`;
  try {
    const fd = openSync(partial, 'wx', 0o600);
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    // A link fails where a rename would replace what somebody else has written meanwhile.
    if (force === true) renameSync(partial, path);
    else linkSync(partial, path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw exists(file, force);
    throw new CannotStart(`${file} cannot be written (${code ?? message}) - nothing was written`);
  } finally {
    removeFile(partial);
  }
}

/** Removes a file if it is there, and says nothing if it cannot be. */
export function removeFile(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // there is no folder that could hold it
  }
}

const exists = (file: string, force: boolean | null): CannotStart =>
  new CannotStart(
    `${file} exists already - name another file${force === null ? '' : ', or replace it with --force'}`,
  );

/** The text with the line that tells editors its schema, by the path from the file to this package. */
export function schemaComment(path: string, text: string, { home }: Terminal): string {
  const schema = relative(dirname(path), join(home, 'schemas', 'gateway.json'));
  return `# yaml-language-server: $schema=${schema}\n${text.replace(SCHEMA_LINE, '')}`;
}
