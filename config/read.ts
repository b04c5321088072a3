// Reads one configuration file as text, up to a size limit. No other file of this folder reads from disk. It does not
// parse.
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { errorCode } from './error-code.ts';

/** A file with 10,000 entries is far smaller. A larger file is a mistake, such as a log file. */
const LIMIT_BYTES = 10 * 1024 * 1024;

const PIECE_BYTES = 256 * 1024;

const SPLIT = 'split it with include';
const CHECK_PATH = 'check the path; it is relative to the folder the command runs in';
const IS_FOLDER = ['is a folder, not a file', 'name the configuration file itself'] as const;
const CANNOT_BE_READ_AGAIN = [
  'is a pipe or a device, which cannot be read a second time',
  'write the configuration to a file; a server that was started with a pipe takes changes at a restart alone',
] as const;

/** The text, or why it could not be read and how to fix that. */
export type ReadText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly fix: string };

/**
 * What tells one content of a file from the next: inode, size and times, of the target of symbolic links. Taken before the file is
 * read, so that what is written meanwhile is noticed.
 */
export function identityOf(file: string): string {
  try {
    const stat = statSync(file, { bigint: true });
    if (!stat.isFile()) return 'no file'; // to read a pipe again, as after each write to it, would wait for ever
    const { dev, ino, size, mtimeNs, ctimeNs } = stat;
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch (error) {
    return errorCode(error) ?? 'unreadable'; // who reads it says what is wrong
  }
}

/** The text of a UTF-8 file, without a byte order mark; of a pipe as well, which is read to its end. */
export function readText(path: string): ReadText {
  let bytes: Buffer;
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return wrong(...IS_FOLDER);
    if (stat.size > LIMIT_BYTES) return tooLargeToSplit(stat.size);
    const read = bytesOf(path, LIMIT_BYTES);
    if (read === null) return wrong(`holds more than ${LIMIT_BYTES} bytes`, SPLIT);
    bytes = read;
  } catch (cause) {
    return unreadable(cause, CHECK_PATH);
  }
  return decoded(bytes);
}

/**
 * The same in a process that serves. A pipe or a device is refused, whatever the path named before: a pipe has been read to its
 * end, and waiting for somebody to write into it would stop every request of the process.
 */
export function readTextAgain(path: string): ReadText {
  try {
    return inRegularFile<ReadText>(path, {
      read: (fd, size) => {
        if (size > LIMIT_BYTES) return tooLargeToSplit(size);
        const bytes = bytesIn(fd, LIMIT_BYTES);
        return bytes === null ? wrong(`holds more than ${LIMIT_BYTES} bytes`, SPLIT) : decoded(bytes);
      },
      refuse: (is) => (is === 'a folder' ? wrong(...IS_FOLDER) : wrong(...CANNOT_BE_READ_AGAIN)),
    });
  } catch (cause) {
    return unreadable(cause, CHECK_PATH);
  }
}

/** The text of a file with a secret or certificates, which a running server reads again and again: no pipe or device. */
export function readWatchedText(path: string, limitBytes: number): ReadText {
  const tooLarge = wrong(
    `is too large: it holds more than ${limitBytes} bytes`,
    'name the file that holds this alone',
  );
  try {
    return inRegularFile<ReadText>(path, {
      read: (fd, size) => {
        const bytes = size > limitBytes ? null : bytesIn(fd, limitBytes);
        return bytes === null ? tooLarge : decoded(bytes);
      },
      refuse: (is) =>
        wrong(
          `is ${is}, not a file`,
          is === 'a folder' ? 'name the file in it' : 'name a file; it is read again and again',
        ),
    });
  } catch (cause) {
    return unreadable(cause, 'check the path');
  }
}

/**
 * The bytes of a certificate or a token that a server reads at each connection; no pipe or device.
 * @throws Error of the system, or one that says what the path names instead
 */
export function watchedBytes(path: string): Buffer {
  return inRegularFile(path, {
    read: (fd) => readFileSync(fd),
    refuse: (is) => {
      throw new Error(`${path} is ${is}, not a file`);
    },
  });
}

type NoFile = 'a folder' | 'a pipe or a device';

/** @throws Error of the system */
function inRegularFile<T>(
  path: string,
  act: { read(fd: number, size: number): T; refuse(is: NoFile): T },
): T {
  // Opening a pipe waits for its writer without O_NONBLOCK; the descriptor is asked, since the path may change its meaning.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(fd);
    if (stat.isFile()) return act.read(fd, stat.size);
    return act.refuse(stat.isDirectory() ? 'a folder' : 'a pipe or a device');
  } finally {
    closeSync(fd);
  }
}

function decoded(bytes: Buffer): ReadText {
  const notText = wrong('is not UTF-8 text', 'save the file as UTF-8');
  const nul = bytes.indexOf(0);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (nul === -1) return { ok: true, text };
    // UTF-16 without its mark is UTF-8 with a NUL beside each letter.
    if (isUtf16(bytes)) return notText;
    const line = bytes.subarray(0, nul).toString('latin1').split('\n').length;
    return wrong(`holds a NUL byte, in line ${line}`, 'remove it: text has none');
  } catch {
    return notText;
  }
}

/** Latin letters have a NUL for one of their two bytes, and the first of them tells. */
const isUtf16 = (bytes: Buffer): boolean => bytes.length > 1 && (bytes[0] === 0) !== (bytes[1] === 0);

/**
 * The bytes of a file; null when there are more than `limit`. Reads a pipe to its end and a device no further than that.
 * @throws Error of the system
 */
export function bytesOf(path: string, limit: number): Buffer | null {
  const fd = openSync(path, 'r');
  try {
    return bytesIn(fd, limit);
  } finally {
    closeSync(fd);
  }
}

function bytesIn(fd: number, limit: number): Buffer | null {
  const pieces: Buffer[] = [];
  let size = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const count = readSync(fd, piece);
    if (count === 0) return Buffer.concat(pieces, size);
    size += count;
    if (size > limit) return null;
    pieces.push(piece.subarray(0, count));
  }
}

function unreadable(cause: unknown, missing: string): ReadText {
  const code = errorCode(cause) ?? String(cause);
  if (code === 'ENOENT' || code === 'ENOTDIR') return wrong('the file does not exist', missing);
  if (code === 'EACCES' || code === 'EPERM')
    return wrong('the file may not be read', 'give the user that runs the proxy the right to read it');
  return wrong(`the file could not be read (${code})`, 'check the path and the disk');
}

function tooLargeToSplit(size: number): ReadText {
  return wrong(`is ${size} bytes large; the limit is ${LIMIT_BYTES}`, SPLIT);
}

function wrong(message: string, fix: string): ReadText {
  return { ok: false, message, fix };
}
