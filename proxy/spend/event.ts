// What journal and store have to say to the log: plain values, so that neither needs a logger.

/** Something worth a line in the log. Never holds a secret. */
export interface SpendEvent {
  readonly level: 'info' | 'warn' | 'error';
  /** A stable word for machines, e.g. `journal_unwritable`. */
  readonly name: string;
  readonly message: string;
}
