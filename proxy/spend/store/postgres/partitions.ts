// Months of the spend table in PostgreSQL: made before their first row, dropped when they are too old, both under the
// lock of the migrations. Dropping gives the disk back at once; deleting rows would not.
import type { Client } from 'pg';
import { inTransaction } from './connection.ts';
import { FIRST_MONTH, LAST_MONTH, quoted, takeLock } from './migrations.ts';
import { monthAfter, monthOf, startOfMonth } from '../utc-dates.ts';
import type { Pruned } from '../store.ts';

const MONTHS_AHEAD = 2;
const PRUNED_SUMS = 5_000;

/** Partitions of one schema, as far as one connection knows them. */
export class Partitions {
  readonly #client: Client;
  readonly #schema: string;
  readonly #known = new Set<string>();

  constructor(client: Client, schema: string) {
    this.#client = client;
    this.#schema = quoted(schema);
  }

  /** Makes what rows of these times and of the next two months need. */
  async ensure(startsMs: readonly number[], nowMs: number): Promise<void> {
    const months = new Set(startsMs.map(monthOf));
    for (let month = monthOf(nowMs), i = 0; i <= MONTHS_AHEAD; month = monthAfter(month), i += 1) {
      months.add(month);
    }
    const missing = [...months].filter(
      (month) => !this.#known.has(month) && month >= FIRST_MONTH && month <= LAST_MONTH,
    );
    if (missing.length === 0) return;
    await inTransaction(this.#client, async () => {
      await takeLock(this.#client);
      for (const month of missing) await this.#make(month);
    });
    for (const month of missing) this.#known.add(month);
  }

  // Made alone and then attached: that blocks no reader or writer, while `PARTITION OF` blocks all of them.
  async #make(month: string): Promise<void> {
    const table = this.#tableOf(month);
    const { rows } = await this.#client.query<{ there: boolean }>(
      'SELECT to_regclass($1) IS NOT NULL AS there',
      [table],
    );
    if (rows[0]?.there === true) return;
    const [from, to] = [startOfMonth(month), startOfMonth(monthAfter(month))];
    await this.#client.query(
      `CREATE TABLE ${table} (LIKE ${this.#schema}.spend INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
       ALTER TABLE ${this.#schema}.spend ATTACH PARTITION ${table} FOR VALUES FROM (${from}) TO (${to});`,
    );
  }

  /** Drops the oldest month that ended before `beforeMs`, or a piece of the sums by session. */
  async prune(beforeMs: number): Promise<Pruned> {
    const end = monthOf(beforeMs);
    const [oldest, ...more] = (await this.#months()).filter((month) => month < end);
    if (oldest !== undefined) {
      const rows = await this.#drop(oldest);
      return { rows, done: more.length === 0 && (await this.#pruneSums(end)) };
    }
    return { rows: 0, done: await this.#pruneSums(end) };
  }

  async #drop(month: string): Promise<number> {
    const table = this.#tableOf(month);
    this.#known.delete(month);
    return inTransaction(this.#client, async () => {
      await takeLock(this.#client);
      await this.#client.query(`SET LOCAL lock_timeout = '5s'`); // a long report goes first; we come again
      const { rows } = await this.#client.query<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`);
      await this.#client.query(`DROP TABLE ${table}`);
      return rows[0]?.n ?? 0;
    });
  }

  async #pruneSums(end: string): Promise<boolean> {
    const daily = `${this.#schema}.spend_daily`;
    const { rowCount } = await this.#client.query(
      `DELETE FROM ${daily} WHERE axis = 'session' AND (day, id) IN
       (SELECT day, id FROM ${daily} WHERE axis = 'session' AND day < $1 LIMIT $2)`,
      [`${end}-01`, PRUNED_SUMS],
    );
    return (rowCount ?? 0) < PRUNED_SUMS;
  }

  async #months(): Promise<string[]> {
    const { rows } = await this.#client.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = to_regclass($1) AND c.relname ~ '^spend_[0-9]{4}_[0-9]{2}$' ORDER BY 1`,
      [`${this.#schema}.spend`],
    );
    return rows.map(({ name }) => name.slice('spend_'.length).replace('_', '-'));
  }

  #tableOf(month: string): string {
    return `${this.#schema}.spend_${month.replace('-', '_')}`;
  }
}
