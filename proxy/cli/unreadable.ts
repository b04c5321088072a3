// Why a file that a command line names cannot be read or written, in words and with what to do.
import { errorCode } from '../../config/error-code.ts';
import { asError } from '../base/as-error.ts';
import { UsageError } from './terminal.ts';

const NOT_THERE = 'does not exist - check the path; a relative one begins at the folder the command runs in';
const FORBIDDEN = 'may not be read by this user - change its rights, or run the command as its owner';
const READING: Readonly<Record<string, string>> = {
  ENOENT: NOT_THERE,
  ENOTDIR: NOT_THERE,
  EISDIR: 'is a folder - name a file in it',
  EACCES: FORBIDDEN,
  EPERM: FORBIDDEN,
};

const WRITING: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist, or takes no files',
  ENOTDIR: 'its folder is a file',
  EACCES: 'this user may not write to its folder',
  EPERM: 'this user may not write to its folder',
  EROFS: 'its disk is read-only',
  ENOSPC: 'its disk is full',
};

const codeOr = (error: unknown): string => errorCode(error) ?? asError(error).message;

/** @param what names the file as the command line does: `--key-file FILE` */
export function cannotRead(what: string, error: unknown): UsageError {
  return new UsageError(`${what} ${READING[codeOr(error)] ?? `cannot be read (${codeOr(error)})`}`);
}

/** Of an error that a file could not be written for. */
export const whyNotWritten = (error: unknown): string => WRITING[codeOr(error)] ?? codeOr(error);
