// Replacing what rows cost, from outside and also while a proxy writes: rows and their daily sums in one transaction
// per batch. The only writer beside the shipper; it changes costs and nothing else. Must not migrate.
import type { Client } from 'pg';
import { DatabaseSync } from 'node:sqlite';
import type { DatabaseSettings } from '../../../config/snapshot.ts';
import type { SpendRecord } from '../record/record.ts';
import { inTransaction, Link } from './postgres/connection.ts';
import { quoted } from './postgres/migrations.ts';
import { databaseData } from './postgres/settings.ts';
import { PICO_PER_USD, Rollup, SUM_COLUMNS, type DailySum } from './sql/rollup.ts';
import { addToSumSql, recostSql, type SumChange } from './sql/recost-sql.ts';
import { postgresSpelling, SQLITE_SPELLING } from './sql/dialect.ts';
import { StoreUnavailable } from './store.ts';

/** A row as it was read and as it shall be: they differ in their cost alone. */
export interface Recosted {
  readonly before: SpendRecord;
  readonly after: SpendRecord;
}

/** Most rows of one batch: some 100 ms, for which a proxy's shipper waits. */
export const RECOST_ROWS = 500;

export interface CostWriter {
  /**
   * Replaces the costs of at most `RECOST_ROWS` rows. A row that was removed or priced anew since it was read stays as
   * it is.
   * @returns how many rows were changed
   * @throws StoreUnavailable; nothing of the batch was changed then
   */
  write(batch: readonly Recosted[]): Promise<number>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** The store's schema must be the newest: whoever read the rows has seen to that. */
export function openCostWriter(
  place: { readonly file: string } | { readonly database: DatabaseSettings },
): CostWriter {
  return 'file' in place ? new SqliteCosts(place.file) : new PostgresCosts(place.database);
}

const BUSY_WAIT_MS = 10_000;
const STATEMENT_MS = 60_000;

class SqliteCosts implements CostWriter {
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
        `the SQLite file ${this.#file} cannot be changed (${(error as Error).message}) - run as the user of the proxy, and see that the disk has room`,
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
      const { text, values } = recostSql(before, after, SQLITE_SPELLING);
      return Number(db.prepare(text).run(...values).changes) === 1;
    });
    for (const change of changesOf(changed)) {
      const { text, values } = addToSumSql(change, SQLITE_SPELLING);
      db.prepare(text).run(...values);
    }
    db.exec('COMMIT');
    return changed.length;
  }
}

class PostgresCosts implements CostWriter {
  readonly #link: Link<Client>;
  readonly #schema: string;

  constructor(database: DatabaseSettings) {
    this.#schema = quoted(database.schema);
    this.#link = new Link({
      database: databaseData(database),
      timeoutMs: STATEMENT_MS,
      prepare: async (client) => client,
    });
  }

  write(batch: readonly Recosted[]): Promise<number> {
    const spelling = postgresSpelling(this.#schema);
    return this.#link.use((client) =>
      inTransaction(client, async () => {
        const changed: Recosted[] = [];
        for (const one of batch) {
          const { text, values } = recostSql(one.before, one.after, spelling);
          if ((await client.query(text, values)).rowCount === 1) changed.push(one);
        }
        for (const change of changesOf(changed)) {
          const { text, values } = addToSumSql(change, spelling);
          await client.query(text, values);
        }
        return changed.length;
      }),
    );
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}

/** What the sums of these rows change by, in the order in which all writers take sums. */
function changesOf(batch: readonly Recosted[]): SumChange[] {
  const [before, after] = [new Rollup(), new Rollup()];
  for (const one of batch) {
    before.add(one.before);
    after.add(one.after);
  }
  const was = before.rows();
  // Both have the same sums in the same order, because a cost is no facet.
  return after.rows().flatMap((sum, i) => {
    const change = changeOf(was[i] as DailySum, sum);
    return change.unpriced === 0 && change.usd === 0 && change.pico === 0 ? [] : [change];
  });
}

function changeOf(was: DailySum, is: DailySum): SumChange {
  const [axis, day, id] = is as readonly string[];
  const amount = (sum: DailySum, column: (typeof SUM_COLUMNS)[number]): bigint =>
    BigInt(sum[sum.length - SUM_COLUMNS.length + SUM_COLUMNS.indexOf(column)] ?? 0);
  const pico = (sum: DailySum): bigint =>
    amount(sum, 'spend_usd') * BigInt(PICO_PER_USD) + amount(sum, 'spend_pico');
  const apart = pico(is) - pico(was);
  const rest = ((apart % BigInt(PICO_PER_USD)) + BigInt(PICO_PER_USD)) % BigInt(PICO_PER_USD);
  return {
    axis: axis ?? '',
    day: day ?? '',
    id: id ?? '',
    unpriced: Number(amount(is, 'unpriced') - amount(was, 'unpriced')),
    usd: Number((apart - rest) / BigInt(PICO_PER_USD)),
    pico: Number(rest),
  };
}
