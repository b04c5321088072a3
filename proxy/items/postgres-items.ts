// Items in PostgreSQL, shared by servers: schema and statements, run on the spend store's connections. Every value is a
// bound parameter; no caller's text becomes part of a statement.
import { hash } from 'node:crypto';
import type {
  ExtensionRow,
  ExtensionStatement,
  ExtensionTables,
  ExtensionValue,
} from '../spend/store/extension-tables.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import { COLUMNS, itemOf, ORDERS, SHORT } from './item-row.ts';
import type { Change, Filter, Item, ItemStore, News, Page, Part, Version } from './item-store.ts';

/** Forward-only; each is given the quoted name of the schema and the prefix of the tables. A released step is never edited. */
const STEPS: readonly ((schema: string, prefix: string) => string)[] = [
  (s, p) => `
   -- Counts the changes of all replicas. Whoever changes something holds its row until the end, so numbers are seen in
   -- the order in which they were given: a reader that has seen one has missed none before it.
   CREATE TABLE ${s}.${p}_changes (one int PRIMARY KEY CHECK (one = 1), number bigint NOT NULL);
   INSERT INTO ${s}.${p}_changes VALUES (1, 0);

   -- "C": the same order and the same letters as in the embedded store, whatever the server's locale.
   CREATE TABLE ${s}.${p}_items (
     kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, user_id text COLLATE "C" NOT NULL,
     created_ms bigint NOT NULL, updated_ms bigint NOT NULL, title text COLLATE "C", link text COLLATE "C",
     parent text COLLATE "C", body text NOT NULL, sealed bytea, revision bigint NOT NULL, change bigint NOT NULL,
     PRIMARY KEY (kind, id)
   );
   -- Counting and skipping 100,000 items never touches their bodies. Not with the title: it may be longer than an
   -- index takes.
   CREATE INDEX ${p}_items_created ON ${s}.${p}_items (kind, user_id, created_ms, id)
     INCLUDE (parent, link, updated_ms);
   CREATE INDEX ${p}_items_updated ON ${s}.${p}_items (kind, user_id, updated_ms, id);
   CREATE INDEX ${p}_items_link ON ${s}.${p}_items (kind, link) WHERE link IS NOT NULL;
   CREATE INDEX ${p}_items_parent ON ${s}.${p}_items (kind, parent) WHERE parent IS NOT NULL;
   CREATE INDEX ${p}_items_change ON ${s}.${p}_items (change);

   -- What other replicas must forget.
   CREATE TABLE ${s}.${p}_removed (
     change bigint NOT NULL, kind text NOT NULL, id text NOT NULL, link text, body text NOT NULL,
     removed_at timestamptz NOT NULL DEFAULT now()
   );
   CREATE INDEX ${p}_removed_change ON ${s}.${p}_removed (change);

   -- Parts of titles by trigrams, where the server has the extension and lets us make it; else titles are read through.
   DO $do$
   DECLARE place text;
   BEGIN
     CREATE EXTENSION IF NOT EXISTS pg_trgm;
     SELECT extnamespace::regnamespace INTO place FROM pg_extension WHERE extname = 'pg_trgm';
     EXECUTE format('CREATE INDEX ${p}_items_title ON ${s}.${p}_items USING gin (title %s.gin_trgm_ops)', place);
   EXCEPTION WHEN OTHERS THEN
     RAISE NOTICE 'titles are searched without an index: %', SQLERRM;
   END $do$;`,
];

/** A replica that was without the database for longer may go on knowing items that are no more. */
const KEPT_DAYS = 30;
/** Removals after which what is older is forgotten, as it is at the start: a process may run for years. */
const FORGET_EVERY = 100;

/** At most so many items are told at once, and those that were changed together with the last. */
const NEWS_LIMIT = 500;
/** A page ends early when its bodies are longer. */
const PAGE_BYTES = 8 * 1024 * 1024;

/** Where the tables are, and who must hear of what. */
interface PostgresItemsOptions<K> {
  /** A plain name, as the configuration lets through. */
  readonly schema: string;
  /** `platform`: the tables are `platform_items`, `platform_changes`, ... */
  readonly prefix: string;
  /** Kinds that processes remember, so that each must hear of the others' changes. */
  readonly sharedKinds: readonly K[];
}

/** PostgreSQL behind the `ItemStore` interface. Whoever opened `extensionTables` closes them. */
export class PostgresItems<K extends string> implements ItemStore<K> {
  readonly #extensionTables: ExtensionTables;
  readonly #options: PostgresItemsOptions<K>;
  /** Quoted. */
  readonly #schema: string;
  /** With its schema: `_items`, `_changes`, ... make it a table. */
  readonly #prefix: string;
  /** Of NOTIFY; a name has 63 bytes at most, and the schema may have as many. */
  readonly #channel: string;
  #migrated: Promise<void> | null = null;
  #removals = 0;
  #closed = false;

  constructor(extensionTables: ExtensionTables, options: PostgresItemsOptions<K>) {
    this.#extensionTables = extensionTables;
    this.#options = options;
    this.#schema = `"${options.schema}"`;
    this.#prefix = `${this.#schema}.${options.prefix}`;
    this.#channel = `${options.prefix}_items_${hash('sha256', options.schema).slice(0, 16)}`;
  }

  async get(kind: K, ids: readonly string[]): Promise<readonly (Item<K> | null)[]> {
    if (ids.length === 0) return [];
    const text = `SELECT ${COLUMNS} FROM ${this.#prefix}_items WHERE kind = $1 AND id = ANY ($2)`;
    const found = new Map(
      (await this.#rows(text, [kind, ids])).map(itemOf<K>).map((item) => [item.id, item]),
    );
    return ids.map((id) => found.get(id) ?? null);
  }

  async search(filter: Filter<K>, { order, limit, offset }: Part): Promise<readonly Item<K>[]> {
    const { where, values } = conditions(filter);
    const table = `${this.#prefix}_items`;
    const part = `LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
    const text =
      `SELECT ${COLUMNS} FROM ${table} WHERE kind = $1 AND id = ANY (ARRAY( ` +
      `SELECT id FROM ${table} WHERE ${where} ORDER BY ${ORDERS[order]} ${part})) ORDER BY ${ORDERS[order]}`;
    return (await this.#rows(text, [...values, limit, offset])).map(itemOf<K>);
  }

  async count(filter: Filter<K>): Promise<number> {
    const { where, values } = conditions(filter);
    const text = `SELECT count(*) AS n FROM ${this.#prefix}_items WHERE ${where}`;
    const [row] = await this.#rows(text, values);
    return Number(row?.['n']);
  }

  async scan(kind: K, after: string, limit: number): Promise<readonly Item<K>[]> {
    const text = `SELECT ${COLUMNS} FROM ${this.#nextById} ORDER BY id`;
    return (await this.#rows(text, [kind, after, limit])).map(itemOf<K>);
  }

  async apply(
    changes: readonly Change<K>[],
    unchanged: readonly Version<K>[] = [],
  ): Promise<'applied' | 'conflict'> {
    const result = await this.#apply(changes, unchanged);
    this.#removals += changes.filter((change) => 'remove' in change && this.#isShared(change)).length;
    if (this.#removals >= FORGET_EVERY) void this.#forgetOld().catch(() => undefined); // the next removals try again
    return result;
  }

  async #apply(
    changes: readonly Change<K>[],
    unchanged: readonly Version<K>[],
  ): Promise<'applied' | 'conflict'> {
    const [only] = changes;
    if (changes.length === 1 && only !== undefined && unchanged.length === 0)
      return (await this.#transact([this.#statementOf(only, true)])) === null ? 'conflict' : 'applied';
    const isTold = changes.some((change) => this.#isShared(change));
    const number = { text: this.#nextNumber(isTold), values: [] };
    // Behind the number, which writers wait for each other by: what is there now is there until the end.
    const text = `SELECT 1 FROM ${this.#prefix}_items WHERE kind = $1 AND id = $2 AND revision = $3`;
    const checks = unchanged.map(({ kind, id, revision }) => ({
      text,
      values: [kind, id, revision],
      changesOne: true,
    }));
    const statements = changes.map((change) => this.#statementOf(change, false));
    return (await this.#transact([number, ...checks, ...statements])) === null ? 'conflict' : 'applied';
  }

  async page(kind: K, after: string, limit: number): Promise<Page> {
    const [row] = await this.#rows(
      `SELECT count(*) AS count, coalesce(max(id), '') AS last, '[' || coalesce(string_agg('[' || to_json(id) || ','
         || created_ms || ',' || updated_ms || ',' || revision || ',' || body || ']', ','), '') || ']' AS text
       FROM (SELECT id, created_ms, updated_ms, revision, body,
           sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS bytes_before
         FROM ${this.#nextById}) AS page
       WHERE bytes_before < ${PAGE_BYTES}`,
      [kind, after, limit],
    );
    return { text: String(row?.['text']), count: Number(row?.['count']), last: String(row?.['last']) };
  }

  async news(after: number | null): Promise<News<K>> {
    const p = this.#prefix;
    const rows = await this.#rows(
      `SELECT number, told.* FROM ${p}_changes LEFT JOIN (
         SELECT * FROM (
           SELECT false AS gone, change, ${COLUMNS} FROM ${p}_items WHERE change > $1 AND kind = ANY ($2)
           UNION ALL
           SELECT true, change, kind, id, '', 0, 0, NULL, link, NULL, body, NULL, 0 FROM ${p}_removed AS removed
             WHERE change > $1 AND kind = ANY ($2) AND NOT EXISTS (
               SELECT FROM ${p}_items AS anew WHERE anew.kind = removed.kind AND anew.id = removed.id)
         ) AS all_of_it ORDER BY change FETCH FIRST ${NEWS_LIMIT} ROWS WITH TIES
       ) AS told ON true`,
      [after ?? Number.MAX_SAFE_INTEGER, this.#options.sharedKinds],
      true, // over a connection that is dead, a key that was revoked elsewhere would be taken for a minute
    );
    const told = rows.filter((row) => row['id'] !== null);
    const isPart = told.length >= NEWS_LIMIT;
    return {
      number: isPart ? Math.max(...told.map((row) => Number(row['change']))) : Number(rows[0]?.['number']),
      stored: told.filter((row) => row['gone'] === false).map(itemOf<K>),
      removed: told.filter((row) => row['gone'] === true).map(itemOf<K>),
      isPart,
    };
  }

  async listen(act: () => void): Promise<boolean> {
    await (this.#migrated ??= this.#migrate());
    return this.#extensionTables.listen(this.#channel, act);
  }

  /** The connections are the spend store's. */
  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }

  /**
   * @param alone whether it takes its number itself: one round trip in place of four. The number comes first in any case,
   * so that two writers wait for each other there and nowhere else
   */
  #statementOf(change: Change<K>, alone: boolean): ExtensionStatement {
    const table = `${this.#prefix}_items`;
    const counter = `${this.#prefix}_changes`;
    const next = alone ? `next AS (${this.#nextNumber(this.#isShared(change))})` : '';
    const numbers = alone ? 'next' : counter;
    if ('remove' in change) {
      const { kind, id, revision } = change.remove;
      const exactly = revision === undefined ? '' : ' AND revision = $3';
      const where = `WHERE kind = $1 AND id = $2${exactly}`;
      const values = revision === undefined ? [kind, id] : [kind, id, revision];
      const changesOne = revision !== undefined;
      if (!this.#isShared(change)) return { text: `DELETE FROM ${table} ${where}`, values, changesOne };
      const gone =
        `gone AS (DELETE FROM ${table} USING ${numbers} ${where} ` +
        `RETURNING number, kind, id, link, body)`;
      return {
        text:
          `WITH ${[next, gone].filter(Boolean).join(', ')} ` +
          `INSERT INTO ${this.#prefix}_removed (change, kind, id, link, body) SELECT * FROM gone`,
        values,
        changesOne,
      };
    }
    const { kind, id, userId, createdMs, updatedMs, title, link, parent, body, sealed, revision } =
      change.put;
    const cells = [userId, createdMs, updatedMs, title, link, parent, body, sealed, revision + 1, kind, id];
    const isNew = revision === 0;
    const prefix = alone ? `WITH ${next} ` : '';
    const number = `(SELECT number FROM ${numbers})`;
    const text = isNew
      ? `${prefix}INSERT INTO ${table} (user_id, created_ms, updated_ms, title, link, parent, body, sealed, revision, ` +
        `kind, id, change) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${number}) ON CONFLICT DO NOTHING`
      : `${prefix}UPDATE ${table} SET user_id = $1, created_ms = $2, updated_ms = $3, title = $4, link = $5, ` +
        `parent = $6, body = $7, sealed = $8, revision = $9, change = ${number} ` +
        `WHERE kind = $10 AND id = $11 AND revision = $12`;
    return { text, values: isNew ? cells : [...cells, revision], changesOne: true };
  }

  /**
   * So many items ($3) of a kind ($1) behind an id ($2). Which kind is asked outside: without statistics (after a restore)
   * the planner would expect few of it, and sort all of them for each page.
   */
  get #nextById(): string {
    return (
      `(SELECT * FROM (SELECT * FROM ${this.#prefix}_items WHERE (kind, id) > ($1, $2) ORDER BY kind, id LIMIT $3) ` +
      `AS following WHERE kind = $1) AS items`
    );
  }

  /** NOTIFY belongs to the transaction: it is sent when the change can be seen. */
  #nextNumber(isTold: boolean): string {
    const told = isTold ? `, pg_notify('${this.#channel}', '')` : '';
    return `UPDATE ${this.#prefix}_changes SET number = number + 1 RETURNING number${told}`;
  }

  #isShared(change: Change<K>): boolean {
    return this.#options.sharedKinds.includes('put' in change ? change.put.kind : change.remove.kind);
  }

  async #rows(
    text: string,
    values: readonly ExtensionValue[],
    isQuick = false,
  ): Promise<readonly ExtensionRow[]> {
    const [rows = []] = (await this.#transact([{ text, values }], isQuick)) ?? [];
    return rows;
  }

  async #transact(
    statements: readonly ExtensionStatement[],
    isQuick = false,
  ): ReturnType<ExtensionTables['transact']> {
    if (this.#closed) throw new StoreUnavailable('closed', 'the store is closed');
    await (this.#migrated ??= this.#migrate());
    return this.#extensionTables.transact(statements, isQuick);
  }

  /** Changes are numbered in the order of time, and indexed by it: only what goes is read, and one more. */
  async #forgetOld(): Promise<void> {
    this.#removals = 0;
    const removed = `${this.#prefix}_removed`;
    const text =
      `DELETE FROM ${removed} WHERE change < coalesce((SELECT change FROM ${removed} ` +
      `WHERE removed_at >= now() - make_interval(days => $1) ORDER BY change LIMIT 1), ${Number.MAX_SAFE_INTEGER})`;
    await this.#extensionTables.transact([{ text, values: [KEPT_DAYS] }]);
  }

  async #migrate(): Promise<void> {
    const { prefix } = this.#options;
    try {
      const steps = STEPS.map((step) => step(this.#schema, prefix));
      await this.#extensionTables.migrateExtension({ versionTable: `${prefix}_version`, steps });
      await this.#forgetOld();
    } catch (error) {
      this.#migrated = null; // the next question tries again
      throw error;
    }
  }
}

function conditions(filter: Filter): { readonly where: string; readonly values: readonly ExtensionValue[] } {
  const like = filter.titleContains?.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`);
  // Without a trigram the index would be read whole, and every title after it; in order, the first page is found soon.
  const title = SHORT.test(filter.titleContains ?? '') ? "(title || '') ILIKE" : 'title ILIKE';
  const all: readonly (readonly [left: string, value: ExtensionValue | undefined])[] = [
    ['kind =', filter.kind], // $1, see `search`
    ['user_id =', filter.userId],
    [title, like === undefined ? undefined : `%${like}%`],
    ['created_ms >=', filter.createdFromMs],
    ['created_ms <', filter.createdBeforeMs],
    ['updated_ms >=', filter.updatedFromMs],
    ['updated_ms <', filter.updatedBeforeMs],
    ['link =', filter.link],
    ['parent = ANY', filter.parents],
  ];
  const values: ExtensionValue[] = [];
  const sql = all.flatMap(([left, value]) =>
    value === undefined ? [] : [`${left} ($${values.push(value)})`],
  );
  if (filter.topLevel === true) sql.push('parent IS NULL');
  return { where: sql.join(' AND '), values };
}
