// Costs replaced in an SQLite file. Blocks its thread, so never within a proxy.
import { DatabaseSync } from 'node:sqlite';
import { asError } from '../../../base/as-error.ts';
import type { CostWriter, Recosted } from '../cost-writer.ts';
import { addToSumSql, recostSql, sumChanges } from '../sql/costs.ts';
import { StoreUnavailable } from '../store.ts';
import { SQLITE_DIALECT } from './dialect.ts';

const BUSY_WAIT_MS = 10_000;

export class SqliteCostWriter implements CostWriter {
  readonly #file: string;
  #db: DatabaseSync | null = null;

  constructor(file: string) {
    this.#file = file;
  }

  async write(batch: readonly Recosted[]): Promise<number> {
    try {
      this.#db ??= this.#open();
      return this.#commit(this.#db, batch);
    } catch (error) {
      if (this.#db?.isTransaction === true) this.#db.exec('ROLLBACK');
      throw new StoreUnavailable(
        'unavailable',
        `the SQLite file ${this.#file} cannot be changed (${asError(error).message}) - run as the user of the proxy, and see that the disk has space`,
      );
    }
  }

  async close(): Promise<void> {
    this.#db?.close();
    this.#db = null;
  }

  #open(): DatabaseSync {
    const db = new DatabaseSync(this.#file, { timeout: BUSY_WAIT_MS });
    db.exec('PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;');
    return db;
  }

  #commit(db: DatabaseSync, batch: readonly Recosted[]): number {
    db.exec('BEGIN IMMEDIATE');
    const changed = batch.filter(({ before, after }) => {
      const { text, values } = recostSql(before, after, SQLITE_DIALECT);
      return Number(db.prepare(text).run(...values).changes) === 1;
    });
    for (const change of sumChanges(changed)) {
      const { text, values } = addToSumSql(change, SQLITE_DIALECT);
      db.prepare(text).run(...values);
    }
    db.exec('COMMIT');
    return changed.length;
  }
}
