// Reads one configuration file as text, up to a size limit. No other file of this folder reads from disk. It does not
// parse.
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';

/** A file with 10,000 entries is far smaller. A larger file is a mistake, such as a log file. */
const LIMIT_BYTES = 10 * 1024 * 1024;

const PIECE_BYTES = 256 * 1024;

/** The text, or why it could not be read and how to fix that. */
type ReadText =
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
    return (error as NodeJS.ErrnoException).code ?? 'unreadable'; // who reads it says what is wrong
  }
}

/** The text of a UTF-8 file, without a byte order mark. */
export function readText(path: string): ReadText {
  let bytes: Buffer;
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return wrong('is a folder, not a file', 'name the configuration file itself');
    if (stat.size > LIMIT_BYTES)
      return wrong(`is ${stat.size} bytes large; the limit is ${LIMIT_BYTES}`, 'split it with include');
    const read = bytesOf(path, LIMIT_BYTES);
    if (read === null) return wrong(`holds more than ${LIMIT_BYTES} bytes`, 'split it with include');
    bytes = read;
  } catch (cause) {
    return unreadable(cause);
  }
  return decoded(bytes);
}

/**
 * The text of a file with a secret or certificates, which a running server reads again and again. A pipe or a device is refused:
 * reading one would stop every request of the process until somebody writes.
 */
export function readWatchedText(path: string, limitBytes: number): ReadText {
  try {
    // Opening a pipe waits for its writer without O_NONBLOCK; the descriptor is asked, since the path may change its meaning.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(fd);
      if (stat.isDirectory()) return wrong('is a folder, not a file', 'name the file in it');
      if (!stat.isFile())
        return wrong('is a pipe or a device, not a file', 'name a file; it is read again and again');
      const tooLarge = wrong(
        `is too large: it holds more than ${limitBytes} bytes`,
        'name the file that holds this alone',
      );
      if (stat.size > limitBytes) return tooLarge;
      const bytes = bytesIn(fd, limitBytes);
      return bytes === null ? tooLarge : decoded(bytes);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    return unreadable(cause, 'check the path');
  }
}

function decoded(bytes: Buffer): ReadText {
  const notText = wrong('is not UTF-8 text', 'save the file as UTF-8');
  if (bytes.includes(0)) return notText; // UTF-16 without its mark is UTF-8 with a NUL beside each letter
  try {
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return notText;
  }
}

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

function unreadable(
  cause: unknown,
  missing = 'check the path; it is relative to the folder the command runs in',
): ReadText {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  if (code === 'ENOENT' || code === 'ENOTDIR') return wrong('the file does not exist', missing);
  if (code === 'EACCES' || code === 'EPERM')
    return wrong('the file may not be read', 'give the user that runs the proxy the right to read it');
  return wrong(`the file could not be read (${code})`, 'check the path and the disk');
}

function wrong(message: string, fix: string): ReadText {
  return { ok: false, message, fix };
}
