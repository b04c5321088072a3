// Reads one configuration file as text, up to a size limit. No other file of this folder reads from disk. It does not
// parse.
import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** A file with 10,000 entries is far smaller. A larger file is a mistake, such as a log file. */
const LIMIT_BYTES = 10 * 1024 * 1024;

const PIECE_BYTES = 256 * 1024;

/** The text, or why it could not be read and how to fix that. */
type ReadText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly fix: string };

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
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { ok: true, text };
  } catch {
    return wrong('is not UTF-8 text', 'save the file as UTF-8');
  }
}

/**
 * The bytes of a file; null when there are more than `limit`. Reads a pipe to its end and a device no further than that.
 * @throws Error of the system
 */
export function bytesOf(path: string, limit: number): Buffer | null {
  const fd = openSync(path, 'r');
  try {
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
  } finally {
    closeSync(fd);
  }
}

function unreadable(cause: unknown): ReadText {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return wrong(
      'the file does not exist',
      'check the path; it is relative to the folder the command runs in',
    );
  if (code === 'EACCES' || code === 'EPERM')
    return wrong('the file may not be read', 'give the user that runs the proxy the right to read it');
  return wrong(`the file could not be read (${code})`, 'check the path and the disk');
}

function wrong(message: string, fix: string): ReadText {
  return { ok: false, message, fix };
}
