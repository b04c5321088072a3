// Where a command finds a capsule: in a file, or at a running proxy by its id. And the private key that opens it.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { KeyObject } from 'node:crypto';
import { bytesOf } from '../../config/read.ts';
import { CAPSULE_ID, MOST_CAPSULE_BYTES, readCapsule, type Capsule } from '../capsule/format.ts';
import { CannotOpen, privateKeyOf } from '../capsule/seal.ts';
import { AdminCalls, type AdminFlags } from './admin-call.ts';
import { UsageError, type Terminal } from './terminal.ts';
import { cannotRead } from './unreadable.ts';

const LONGEST_KEY = 16 * 1024;

/** @throws UsageError, CannotStart, CannotOpen */
export async function capsuleAt(
  name: string,
  flags: AdminFlags,
  terminal: Terminal,
): Promise<{ readonly capsule: Capsule; readonly file: Buffer }> {
  const path = resolve(terminal.cwd, name);
  const isFile = existsSync(path);
  if (!isFile && !CAPSULE_ID.test(name))
    throw new UsageError(
      `${name} is neither a file nor the id of a capsule - \`capsule list\` prints the ids`,
    );
  const file = isFile
    ? fileOf(path, name, MOST_CAPSULE_BYTES, 'the capsule')
    : await new AdminCalls(flags, terminal).bytes(`/capsules/${name}`);
  return { capsule: readCapsule(file), file };
}

/** Of a file alone. @throws UsageError, CannotOpen */
export function capsuleIn(name: string, { cwd }: Terminal): Capsule {
  return readCapsule(fileOf(resolve(cwd, name), name, MOST_CAPSULE_BYTES, 'the capsule'));
}

/** @throws UsageError, CannotOpen */
export function privateKeyIn(name: string, { cwd }: Terminal): KeyObject {
  return privateKeyOf(fileOf(resolve(cwd, name), name, LONGEST_KEY, '--private-key').toString('utf8'));
}

/** The exit code of commands that need the content of a capsule and do not get it. */
const CANNOT_OPEN = 3;

/** Does what needs the content of a capsule. @return the exit code */
export async function orCannotOpen(terminal: Terminal, act: () => Promise<number>): Promise<number> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof CannotOpen)) throw error;
    terminal.err(`throughline: ${error.message}\n`);
    return CANNOT_OPEN;
  }
}

function fileOf(path: string, name: string, most: number, what: string): Buffer {
  let bytes: Buffer | null;
  try {
    bytes = bytesOf(path, most);
  } catch (error) {
    throw cannotRead(`${what} ${name}`, error);
  }
  if (bytes === null) throw new UsageError(`${what} ${name} is larger than ${most} bytes`);
  return bytes;
}
