// The store in PostgreSQL over three connections at most: one ships and removes, one answers queries, one serves the
// tables of others. Runs in the worker only.
import type { Client } from 'pg';
import { Secret } from '../../../../config/secret.ts';
import { postEvent } from '../../../base/worker-rpc.ts';
import type { ExtensionSchema, ExtensionStatement, ExtensionTables } from '../extension-tables.ts';
import { shipChunks } from '../journal-chunk.ts';
import { ModelSeal } from '../model-seal.ts';
import { arrivalPlace, cameBehind, placeText, SNAPSHOT_SQL, type ArrivalPlace } from './arrival-place.ts';
import { ExtensionConnection } from './extension-tables.ts';
import { PgConnection } from './connection.ts';
import { migrate, quoted } from './migrations.ts';
import { PostgresShip } from './ship.ts';
import { DatabaseSilence } from './silence.ts';
import type { Position } from '../segments.ts';
import { recordOf } from '../sql/spend-columns.ts';
import { daysOf } from '../sql/day-spend.ts';
import { spentSqls, spentSumsOf } from '../sql/spent-since.ts';
import { totalsOf, totalsSql } from '../sql/session-totals.ts';
import {
  activityOf,
  activitySql,
  arrivedSinceSql,
  countSql,
  madeBy,
  madeBySql,
  pageSql,
  summarySql,
  totalOf,
  type Sql,
} from '../sql/spend-sql.ts';
import type { SqlDialect } from '../sql/dialect.ts';
import { postgresDialect } from './dialect.ts';
import type {
  Activity,
  ActivityFilter,
  Arrived,
  DaySpend,
  Facet,
  MadeBy,
  Pruned,
  SessionTotals,
  Shipped,
  SpendFilter,
  SpendPage,
  SpendPaging,
  SpentQuery,
  SpentSum,
  StoredModel,
} from '../store.ts';
import type { StoreCalls } from '../backend.ts';
import { ThreadHeap } from '../thread-heap.ts';
import type { ExtensionCalls, Notified, PostgresWorkerData } from './backend.ts';

const WRITE_MS = 60_000;
const READ_MS = 30_000;
/** No index knows when rows came, so those of calls that began within an hour before the place are looked through. */
const LONGEST_CALL_MS = 3_600_000;
/** Listeners ask at one moment: with one place for all of them, they ask one question from then on. */
const SAME_PLACE_MS = 500;

type Row = Readonly<Record<string, unknown>>;

/** What the writing connection is used for. */
interface Writing {
  readonly client: Client;
  readonly ship: PostgresShip;
}

/** What all that has come lies before. */
type End = ArrivalPlace & { readonly text: string };

export class PostgresStore implements StoreCalls, ExtensionCalls {
  readonly #schema: string;
  readonly #saltKey: Secret | null;
  readonly #dialect: SqlDialect;
  readonly #writing: PgConnection<Writing>;
  readonly #extensionTables: ExtensionConnection;
  readonly #reading: PgConnection<Client>;
  readonly #heap = new ThreadHeap();
  #seal: ModelSeal | null = null;
  #lastEnd: End | null = null;

  constructor({ database, journal, saltKey }: PostgresWorkerData) {
    const { schema } = database;
    this.#schema = quoted(schema);
    this.#saltKey = saltKey === null ? null : new Secret(saltKey);
    this.#dialect = postgresDialect(this.#schema);
    const silence = DatabaseSilence.of(database);
    this.#writing = new PgConnection({
      database,
      silence,
      timeoutMs: WRITE_MS,
      prepare: async (client) => {
        await migrate(client, schema);
        // Anew: what was known before a break may be wrong.
        return { client, ship: await PostgresShip.begin(client, schema, journal) };
      },
    });
    this.#extensionTables = new ExtensionConnection(database, silence);
    this.#reading = new PgConnection({
      database,
      silence,
      timeoutMs: READ_MS,
      prepare: async (client) => {
        await migrate(client, schema);
        return client;
      },
    });
  }

  ship(to: Position): Promise<Shipped> {
    return shipChunks(() => this.#writing.use(({ ship }) => ship.shipChunk(to)), this.#heap);
  }

  query(filter: SpendFilter, paging: SpendPaging): Promise<SpendPage> {
    return this.#reading.use(async (client) => {
      const rows = await rowsOf(client, pageSql(filter, paging, this.#dialect));
      const total = totalOf(paging, rows.length) ?? (await this.#count(client, filter));
      return { rows: rows.map(recordOf), total };
    });
  }

  async arrived(filter: SpendFilter, place: string | null, most: number): Promise<Arrived> {
    const from = place === null ? null : arrivalPlace(place);
    return this.#reading.use(async (client) => {
      const end = await this.#end(client, from);
      if (place === null) return { rows: [], place: end.text, missed: false };
      const missed = { rows: [], place: end.text, missed: true };
      const isKnown = from !== null && from.next <= end.next && end.atMs - from.atMs <= LONGEST_CALL_MS;
      if (!isKnown) return missed;
      const sql = arrivedSinceSql(
        filter,
        { startMs: from.atMs - LONGEST_CALL_MS, limit: most + 1 },
        (bind) => cameBehind(from, bind),
        this.#dialect,
      );
      const rows = await rowsOf(client, sql);
      return rows.length > most ? missed : { rows: rows.map(recordOf), place: end.text, missed: false };
    });
  }

  // Taken before the rows are read: what comes between is read twice, and nothing is left out. Another server may have given `from`
  // since the last one.
  async #end(client: Client, from: ArrivalPlace | null): Promise<End> {
    const atMs = Date.now();
    const last = this.#lastEnd;
    const age = atMs - (last?.atMs ?? 0);
    const isFresh = age >= 0 && age < SAME_PLACE_MS;
    if (last !== null && from !== null && isFresh && from.next <= last.next) return last;
    const [row] = await rowsOf(client, { text: SNAPSHOT_SQL, values: [] });
    const text = placeText(atMs, String(row?.['snapshot']));
    const place = arrivalPlace(text);
    if (place === null) throw new Error(`the database states a snapshot that cannot be read: ${text}`);
    return (this.#lastEnd = { ...place, text });
  }

  async #count(client: Client, filter: SpendFilter): Promise<number> {
    const [count] = await rowsOf(client, countSql(filter, this.#dialect));
    return Number(count?.['n'] ?? 0);
  }

  summarize(filter: SpendFilter): Promise<readonly DaySpend[]> {
    return this.#reading.use(async (client) =>
      daysOf(await rowsOf(client, summarySql(filter, this.#dialect))),
    );
  }

  async activity(
    filter: ActivityFilter,
    groupBy: readonly (Facet | 'day')[],
    limit: number,
  ): Promise<readonly Activity[]> {
    const sql = activitySql(filter, groupBy, limit, this.#dialect); // what it throws is not the connection's fault
    return this.#reading.use(async (client) => {
      const rows = await rowsOf(client, sql);
      return rows.map((row) => activityOf(row, groupBy));
    });
  }

  totals(sessionIds: readonly string[]): Promise<readonly (SessionTotals | null)[]> {
    return this.#reading.use(async (client) =>
      totalsOf(sessionIds, await rowsOf(client, totalsSql(sessionIds, this.#dialect))),
    );
  }

  findByUpstreamId(upstreamId: string): Promise<MadeBy | null> {
    return this.#reading.use(async (client) => {
      const [row] = await rowsOf(client, madeBySql(upstreamId, this.#dialect));
      return row === undefined ? null : madeBy(row);
    });
  }

  listModels(): Promise<readonly StoredModel[]> {
    return this.#reading.use(async (client) => {
      const text = `SELECT id, sealed FROM ${this.#schema}.models ORDER BY number`;
      const rows = await rowsOf(client, { text, values: [] });
      if (rows.length === 0) return []; // without sealed models no key is needed
      const seal = await this.#proved(client);
      return rows.map((row) => seal.open(String(row['id']), row['sealed'] as Uint8Array));
    });
  }

  putModel(id: string, entry: StoredModel['entry']): Promise<void> {
    return this.#reading.use(async (client) => {
      const sealed = (await this.#proved(client)).seal(id, entry);
      await client.query(
        `INSERT INTO ${this.#schema}.models (id, sealed, created_ms, updated_ms) VALUES ($1, $2, $3, $3)
         ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, updated_ms = excluded.updated_ms`,
        [id, sealed, Date.now()],
      );
    });
  }

  spentSince(queries: readonly SpentQuery[]): Promise<readonly (readonly SpentSum[])[]> {
    return this.#reading.use(async (client) => {
      const all: SpentSum[][] = [];
      for (const query of queries) {
        const results: Row[][] = [];
        for (const sql of spentSqls(query, this.#dialect)) results.push(await rowsOf(client, sql));
        all.push(spentSumsOf(query, results));
      }
      return all;
    });
  }

  deleteModel(id: string): Promise<boolean> {
    return this.#reading.use(async (client) => {
      const { rowCount } = await client.query(`DELETE FROM ${this.#schema}.models WHERE id = $1`, [id]);
      return (rowCount ?? 0) > 0;
    });
  }

  /** PostgreSQL gives each version of a row the number of its transaction, which no clock can turn back. */
  modelsMark(): Promise<string> {
    return this.#reading.use(async (client) => {
      const text = `SELECT count(*) || ' ' || COALESCE(md5(string_agg(id || ':' || xmin::text, ',' ORDER BY id)), '') AS mark FROM ${this.#schema}.models`;
      const [row] = await rowsOf(client, { text, values: [] });
      return String(row?.['mark']);
    });
  }

  prune(beforeMs: number): Promise<Pruned> {
    return this.#writing.use(({ ship }) => ship.prune(beforeMs));
  }

  migrateExtension(schema: ExtensionSchema): Promise<void> {
    return this.#extensionTables.migrateExtension(schema);
  }

  transact(
    statements: readonly ExtensionStatement[],
    isQuick?: boolean,
  ): ReturnType<ExtensionTables['transact']> {
    return this.#extensionTables.transact(statements, isQuick);
  }

  listenTo(channel: string): Promise<boolean> {
    return this.#extensionTables.listen(channel, () => postEvent({ notified: channel } satisfies Notified));
  }

  async close(): Promise<void> {
    await Promise.all([this.#writing.close(), this.#reading.close(), this.#extensionTables.close()]);
  }

  // Salt and sample stand in one row, so that of two replicas that begin at once one proof wins as a whole.
  async #proved(client: Client): Promise<ModelSeal> {
    if (this.#seal !== null) return this.#seal;
    const meta = `${this.#schema}.meta`;
    const read = (): Promise<readonly Row[]> =>
      rowsOf(client, { text: `SELECT salt, sample FROM ${meta}`, values: [] });
    let [row] = await read();
    if (row === undefined) {
      const { salt, sample } = ModelSeal.begin(this.#saltKey);
      await client.query(
        `INSERT INTO ${meta} (one, salt, sample) VALUES (1, $1, $2) ON CONFLICT DO NOTHING`,
        [salt, sample],
      );
      [row] = await read();
    }
    const proof = { salt: row?.['salt'] as Uint8Array, sample: row?.['sample'] as Uint8Array };
    return (this.#seal = ModelSeal.prove(this.#saltKey, proof));
  }
}

async function rowsOf(client: Client, { text, values }: Sql): Promise<Row[]> {
  return (await client.query<Row>(text, values)).rows;
}
