// What a process of several files and the runner that reads its TAP agree on.

/** A hang ends after this long; a busy machine alone must never bring it about. */
export const TIMEOUT_S = 600;

/** Title of the subtest that tears a file down: its end is the end of the file. Its comment is a `Used` in JSON. */
export const BETWEEN = 'the end of the file';

/** Title of the subtest that waits for the next file. */
export const WAITING = 'waiting';

/** CPU in ms. */
export interface Used {
  readonly own: number;
  /** Of processes that have ended. */
  readonly children: number;
}
