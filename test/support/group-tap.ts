// What a process of several files and the runner that reads its TAP agree on.

/** A hang ends after this long; a busy machine alone must never bring it about. */
export const TIMEOUT_S = 600;

/** Title of the subtest between two files. Its comment, but for the first, is a `Used` in JSON, and the process waits for the next file. */
export const BETWEEN = 'between files';

/** CPU in ms. */
export interface Used {
  readonly own: number;
  /** Of processes that have ended. */
  readonly children: number;
}
