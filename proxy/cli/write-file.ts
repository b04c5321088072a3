// Files that commands write for an operator: whole or not at all, and never over another one unasked.
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { errorCode } from '../../config/error-code.ts';
import { asError } from '../base/as-error.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Terminal } from './terminal.ts';
import { whyNotWritten } from './unreadable.ts';

/** `/dev/stdout`, `/dev/fd/3`: links of the system to what is open already. */
const OPEN_FILE = /^\/(?:dev\/(?:stdout|stderr|fd\/)|proc\/(?:self|\d+)\/fd\/)/;
const SCHEMA_LINE = /^# yaml-language-server: \$schema=.*\n/;

/**
 * Writes a file that only its owner may read. It has its name only when it is complete and on the disk.
 * @param force whether --force was given; null where the command has no such flag
 * @throws CannotStart when it exists and nothing forces, or when it cannot be written
 */
export function writeNew(
  file: string,
  text: string,
  force: boolean | null,
  { cwd }: Pick<Terminal, 'cwd'>,
): void {
  const named = resolve(cwd, file);
  if (force !== true && existsSync(named)) throw exists(file, force);
  if (isNoFile(named)) throw new CannotStart(`${file} is no file - name another one`);
  try {
    // A link fails where a rename would replace what somebody else has written meanwhile.
    if (force === true) writeWhole(named, text);
    else writeAs(named, text, linkSync);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') throw exists(file, force);
    throw new CannotStart(`${file} cannot be written (${whyNotWritten(error)}) - nothing was written`);
  }
}

/** Writes a file anew, whole or not at all. @throws NodeJS.ErrnoException */
export const writeWhole = (file: string, text: string): void => writeAs(behindLinks(file), text, renameSync);

function writeAs(path: string, text: string, name: typeof renameSync | typeof linkSync): void {
  const partial = partialOf(path);
  try {
    writeFileSync(partial, text, { flag: 'wx', mode: 0o600, flush: true });
    name(partial, path);
  } finally {
    removeFile(partial);
  }
}

/** Where a text goes. */
interface Output {
  readonly write: (text: string) => void;
}

/**
 * Runs `task` with standard output or with `file`, which has its name only when it is complete.
 * @throws CannotStart when the file cannot be written
 */
export async function withOutput(
  file: string | undefined,
  terminal: Pick<Terminal, 'cwd' | 'out'>,
  task: (output: Output) => Promise<void>,
): Promise<void> {
  if (file === undefined) return task({ write: terminal.out });
  return withFile(file, terminal, async (path) => {
    const fd = openSync(path, 'a', 0o600); // in append mode what is redirected to a file by the shell stays
    try {
      await task({ write: (text) => writeFileSync(fd, text) });
    } finally {
      closeSync(fd);
    }
  });
}

/**
 * The same for a writer that takes a path. A file is replaced as a whole; a device or a pipe takes what is written as it comes.
 * @throws CannotStart when it cannot be written
 */
export async function withFile(
  file: string,
  { cwd }: Pick<Terminal, 'cwd'>,
  task: (path: string) => Promise<void>,
): Promise<void> {
  const path = resolve(cwd, file);
  try {
    if (isNoFile(path)) await task(path);
    else await replace(behindLinks(path), task);
  } catch (error) {
    if (isOfFile(error)) throw new CannotStart(`${file} cannot be written (${asError(error).message})`);
    throw error;
  }
}

const isOfFile = (error: unknown): boolean =>
  errorCode(error) !== undefined &&
  error instanceof Error &&
  'syscall' in error &&
  ['open', 'write', 'fsync', 'rename'].includes(String(error.syscall));

async function replace(path: string, task: (path: string) => Promise<void>): Promise<void> {
  const partial = partialOf(path);
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    await task(partial);
    const fd = openSync(partial, 'r+');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(partial, path);
  } catch (error) {
    removeFile(partial);
    throw error;
  }
}

/** No other command, and no file of an operator, has this name. */
const partialOf = (path: string): string => `${path}.${randomUUID().slice(0, 8)}.partial`;

/**
 * Whether something is there that a rename would destroy: a device, a pipe, a link that leads to no file yet.
 * What stands for an open file of this process (`/dev/stdout`) is none either, whatever it is.
 */
function isNoFile(path: string): boolean {
  if (OPEN_FILE.test(path)) return true;
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false;
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined || !(found.isFile() || found.isDirectory()); // a rename onto a folder fails by itself
  } catch {
    return false; // no way leads there, which writing will say
  }
}

/** A link stays: the file that it leads to is written. */
const behindLinks = (path: string): string => (existsSync(path) ? realpathSync(path) : path);

/** Removes a file if it is there, and says nothing if it cannot be. */
function removeFile(path: string): void {
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
  const schema = relative(dirname(path), join(home, 'schemas', 'editor.json'));
  return `# yaml-language-server: $schema=${schema}\n${text.replace(SCHEMA_LINE, '')}`;
}
