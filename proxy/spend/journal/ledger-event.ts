// Events of the ledger for the log: plain values, so that the ledger needs no logger.

/** Something worth a line in the log. Never holds a secret. */
export interface LedgerEvent {
  readonly level: 'info' | 'warn' | 'error';
  /** A stable word for machines, e.g. `journal_unwritable`. */
  readonly name: string;
  readonly message: string;
}
