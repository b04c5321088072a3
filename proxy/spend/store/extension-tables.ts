// Tables that another part of the program keeps in the same PostgreSQL database, over one connection for all of them:
// neither shipping nor a report holds up who asks whether a key is still good. Says nothing about what is in them.

/** What a statement is given; a list of texts is one value. */
export type ExtensionValue = string | number | Uint8Array | null | readonly string[];

export interface ExtensionStatement {
  /** With `$1`, `$2`, ... for the values; names of tables with their schema. */
  readonly text: string;
  readonly values: readonly ExtensionValue[];
  /** It names one row by its key, and must change it: else nothing of its transaction is changed. */
  readonly changesOne?: boolean;
}

export type ExtensionRow = Readonly<Record<string, unknown>>;

/** Tables as forward-only steps; a released step is never edited. */
export interface ExtensionSchema {
  /** Holds the number of steps that were taken; below the schema of the configuration. */
  readonly versionTable: string;
  readonly steps: readonly string[];
}

/** Every call may reject with `StoreUnavailable`; the next one connects anew. */
export interface ExtensionTables {
  /** Takes the steps that are missing, one process at a time however many start at once. */
  migrateExtension(schema: ExtensionSchema): Promise<void>;
  /**
   * Runs the statements in one transaction, after all earlier calls.
   * @param isQuick a connection that says nothing for as long as a new one may take is given up; else for a minute
   * @returns the rows of each; null = one of them did not change its one row, so nothing was changed
   */
  transact(
    statements: readonly ExtensionStatement[],
    isQuick?: boolean,
  ): Promise<readonly (readonly ExtensionRow[])[] | null>;
  /**
   * Calls back at each NOTIFY on the channel for as long as the connection lasts, and again after a call has made another
   * one; what was sent between the two is not told. One listener per channel.
   * @param channel a plain name
   * @returns false when none will arrive: a pooler stands before the server, or the server knows no LISTEN
   */
  listen(channel: string, act: () => void): Promise<boolean>;
}
