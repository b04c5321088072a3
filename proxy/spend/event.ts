// What journal and store report to the log: plain values, so that neither needs a logger.

/** One line for the log. Never holds a secret. */
export interface SpendEvent {
  readonly level: 'info' | 'warn' | 'error';
  /** A stable word for machines, e.g. `journal_unwritable`. */
  readonly name: string;
  readonly message: string;
}
