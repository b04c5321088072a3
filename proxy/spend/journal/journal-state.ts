// Whether the journal can be written, with what is known while it cannot. journal.ts moves from one state to the next.
//
//   writable --disk full--> full        the reserve is written: calls under way get their rows, new ones follow the policy
//       |                    |  \
//       | other errors       |   `----- space again -----> writable
//       v                    v
//   unwritable <--reserve used up--     lines wait in memory and are tried again
//
//   each of them -> closed              the proxy stops
import { errorCode } from '../../../config/error-code.ts';

const SPACE_ERRORS: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** The journal cannot be written; the message says why and how to fix it. */
export class JournalUnwritable extends Error {
  override readonly name = 'JournalUnwritable';
}

interface Outage {
  /** `full`: the disk is full, and the reserve is written. */
  readonly is: 'full' | 'unwritable';
  readonly error: Error;
  readonly retry: NodeJS.Timeout;
}

export type JournalState =
  | { readonly is: 'writable' }
  | Outage
  /** `error`: why it could not be written at the end. */
  | { readonly is: 'closed'; readonly error: Error | null };

export const WRITABLE: JournalState = { is: 'writable' };

/** Why it cannot be written; null while it can, and where it could until it was closed. */
export const errorOf = (state: JournalState): Error | null => (state.is === 'writable' ? null : state.error);

/** null: it can be written, or is closed. */
export const outageOf = (state: JournalState): Outage | null =>
  state.is === 'full' || state.is === 'unwritable' ? state : null;

/** Whether a settle entry is written with its turn; else it waits in memory. */
export function takesSettle({ is }: JournalState, isRefused: boolean): boolean {
  // Refused calls come as fast as clients send them: the reserve is for those that were taken.
  return is === 'writable' || (is === 'full' && !isRefused);
}

/** What an outage is after a retry, and why; null: over. @param failure of the retry. @param isOnReserve no other segment has followed it */
export function afterRetry(
  outage: Pick<Outage, 'is' | 'error'>,
  failure: Error | null,
  isOnReserve: boolean,
): Pick<Outage, 'is' | 'error'> | null {
  if (failure === null && !isOnReserve) return null;
  const isFull = isOnReserve && (failure === null || outage.is === 'full');
  return { is: isFull ? 'full' : 'unwritable', error: failure ?? outage.error };
}

/** Space on the disk would mend it. */
export function isSpaceError(error: Error): boolean {
  return SPACE_ERRORS.has(errorCode(error) ?? '');
}

export function outageMessage(dir: string, error: Error): string {
  return (
    `the spend journal in ${dir} cannot be written (${error.message}) - ` +
    `free space on that disk or repair it; writing then resumes by itself`
  );
}

/** Of a call that must not begin. */
export function refusalOf(dir: string, error: Error | null): JournalUnwritable {
  return new JournalUnwritable(
    error === null ? 'the spend journal is closed: the proxy is stopping' : outageMessage(dir, error),
  );
}
