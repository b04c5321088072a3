// The writing end in PostgreSQL: takes over the journal over one connection. Rows, their sums and the position are one
// transaction, so shipping again adds nothing, also when the connection broke at the very commit.
import type { Client } from 'pg';
import { asError } from '../../../base/as-error.ts';
import type { SpendRecord } from '../../record/record.ts';
import { readChunk, type Chunk, type JournalPlace, type ShippedChunk } from '../journal-chunk.ts';
import { inTransaction } from './connection.ts';
import { quoted } from './migrations.ts';
import { Partitions } from './partitions.ts';
import { DAILY_COLUMNS, Rollup, type DailySum } from '../sql/rollup.ts';
import type { Position } from '../segments.ts';
import { rowsJson, startMsOf, storable } from '../sql/spend-columns.ts';
import { additions, DAILY_LIST } from '../sql/spend-sql.ts';
import { StoreUnavailable, type Pruned } from '../store.ts';

/** Shipping over one connection, which it must be alone to use for writing. */
export class PostgresShip {
  readonly #client: Client;
  readonly #schema: string;
  readonly #journal: JournalPlace;
  readonly #partitions: Partitions;
  #cursor: Position;

  private constructor(client: Client, schema: string, journal: JournalPlace, cursor: Position) {
    this.#client = client;
    this.#schema = quoted(schema);
    this.#journal = journal;
    this.#partitions = new Partitions(client, schema);
    this.#cursor = cursor;
  }

  /** Reads where the journal stands; the schema must be migrated. */
  static async begin(client: Client, schema: string, journal: JournalPlace): Promise<PostgresShip> {
    const { rows } = await client.query<{ segment: number; byte_offset: number }>(
      `SELECT segment, byte_offset FROM ${quoted(schema)}.journals WHERE journal_id = $1`,
      [journal.id],
    );
    const cursor = { segment: rows[0]?.segment ?? 0, offset: rows[0]?.byte_offset ?? 0 };
    const ship = new PostgresShip(client, schema, journal, cursor);
    await ship.#partitions.ensure([], Date.now());
    return ship;
  }

  /** Takes over one chunk of what lies before `to`. */
  async shipChunk(to: Position): Promise<ShippedChunk> {
    const records: SpendRecord[] = [];
    const { position, damaged, done } = this.#read(to, records);
    const moved = position.segment !== this.#cursor.segment || position.offset !== this.#cursor.offset;
    return { position, damaged, done, rows: moved ? await this.#commit(records, position) : 0 };
  }

  // Not the database's fault, so neither its name nor its connection has a part in it.
  #read(to: Position, into: SpendRecord[]): Chunk {
    const { dir } = this.#journal;
    try {
      return readChunk(dir, this.#cursor, to, (record) => into.push(record));
    } catch (error) {
      const text = `the journal in ${dir} cannot be read (${asError(error).message}) - make it readable`;
      throw new StoreUnavailable('unavailable', text);
    }
  }

  /** Removes a piece of what is too old. */
  prune(beforeMs: number): Promise<Pruned> {
    return this.#partitions.prune(beforeMs);
  }

  async #commit(records: readonly SpendRecord[], position: Position): Promise<number> {
    if (records.length > 0) await this.#partitions.ensure(records.map(startMsOf), Date.now());
    const rows = await inTransaction(this.#client, async () => {
      const fresh = await this.#insert(records);
      await this.#add(fresh);
      await this.#client.query(
        `INSERT INTO ${this.#schema}.journals (journal_id, writer, segment, byte_offset, moved_at)
         VALUES ($1, $2, $3, $4, now()) ON CONFLICT (journal_id) DO UPDATE
         SET writer = excluded.writer, segment = excluded.segment, byte_offset = excluded.byte_offset, moved_at = now()`,
        [this.#journal.id, this.#journal.writer, position.segment, position.offset],
      );
      return fresh.length;
    });
    this.#cursor = position;
    return rows;
  }

  /** @returns the records that were not there before */
  async #insert(records: readonly SpendRecord[]): Promise<readonly SpendRecord[]> {
    if (records.length === 0) return records;
    // One parameter however many rows: 5 us of CPU per row here, against 7-12 for a list of values.
    const { rows } = await this.#client.query<{ request_id: string }>(
      `INSERT INTO ${this.#schema}.spend SELECT * FROM json_populate_recordset(null::${this.#schema}.spend, $1)
       ON CONFLICT DO NOTHING RETURNING request_id`,
      [rowsJson(records)],
    );
    if (rows.length === records.length) return records;
    const fresh = new Set(rows.map((row) => row.request_id));
    return records.filter(({ requestId }) => fresh.delete(requestId)); // a batch may hold a line twice
  }

  async #add(records: readonly SpendRecord[]): Promise<void> {
    if (records.length === 0) return;
    const rollup = new Rollup();
    for (const record of records) rollup.add(record);
    const daily = `${this.#schema}.spend_daily`;
    await this.#client.query(
      `INSERT INTO ${daily} AS d (${DAILY_LIST})
       SELECT ${DAILY_LIST} FROM json_populate_recordset(null::${daily}, $1)
       ON CONFLICT (axis, day, id) DO UPDATE SET ${additions('d')}`,
      [storable(JSON.stringify(rollup.rows().map(membersOf)))],
    );
  }
}

function membersOf(sum: DailySum): Readonly<Record<string, unknown>> {
  return Object.fromEntries(DAILY_COLUMNS.map((column, i) => [column, sum[i]]));
}
