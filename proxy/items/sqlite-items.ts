// Items in SQLite: schema and statements. Runs in the worker only. Every value is bound; no text of a caller ever
// becomes part of a statement.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { COLUMNS, itemOf, ORDERS, SHORT } from './item-row.ts';
import type { Implementation } from '../base/worker-rpc.ts';
import type { ItemCalls, Sharing } from './sqlite-store.ts';
import type { Change, Filter, Item, News, Page, Part, Version } from './item-store.ts';

const ITEMS: readonly string[] = [
  `CREATE TABLE items (
     kind TEXT NOT NULL, id TEXT NOT NULL, user_id TEXT NOT NULL, created_ms INTEGER NOT NULL,
     updated_ms INTEGER NOT NULL, title TEXT, link TEXT, parent TEXT, body TEXT NOT NULL, sealed BLOB,
     revision INTEGER NOT NULL, PRIMARY KEY (kind, id)
   ) STRICT;
   -- Covers every filter, so that counting and skipping 100,000 items never touches their bodies.
   CREATE INDEX items_created ON items (kind, user_id, created_ms, id, parent, title, link, updated_ms);
   CREATE INDEX items_updated ON items (kind, user_id, updated_ms, id);
   CREATE INDEX items_link ON items (kind, link) WHERE link IS NOT NULL;
   CREATE INDEX items_parent ON items (kind, parent) WHERE parent IS NOT NULL;`,

  // Parts of titles are looked up by trigrams: 0.5 ms in place of 9 for a rare one among 100,000. Rows get a number of
  // their own for it, because VACUUM gives new ones to rows without.
  `CREATE TABLE numbered (
     number INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, user_id TEXT NOT NULL,
     created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, title TEXT, link TEXT, parent TEXT,
     body TEXT NOT NULL, sealed BLOB, revision INTEGER NOT NULL, UNIQUE (kind, id)
   ) STRICT;
   INSERT INTO numbered (kind, id, user_id, created_ms, updated_ms, title, link, parent, body, sealed, revision)
     SELECT kind, id, user_id, created_ms, updated_ms, title, link, parent, body, sealed, revision FROM items;
   DROP TABLE items;
   ALTER TABLE numbered RENAME TO items;
   CREATE INDEX items_created ON items (kind, user_id, created_ms, id, parent, title, link, updated_ms);
   CREATE INDEX items_updated ON items (kind, user_id, updated_ms, id);
   CREATE INDEX items_link ON items (kind, link) WHERE link IS NOT NULL;
   CREATE INDEX items_parent ON items (kind, parent) WHERE parent IS NOT NULL;
   CREATE VIRTUAL TABLE titles USING fts5 (title, content = '', contentless_delete = 1, tokenize = 'trigram');
   INSERT INTO titles (rowid, title) SELECT number, title FROM items WHERE title IS NOT NULL;
   CREATE TRIGGER titles_made AFTER INSERT ON items WHEN new.title IS NOT NULL BEGIN
     INSERT INTO titles (rowid, title) VALUES (new.number, new.title);
   END;
   CREATE TRIGGER titles_changed AFTER UPDATE OF title ON items WHEN new.title IS NOT old.title BEGIN
     DELETE FROM titles WHERE rowid = old.number;
     INSERT INTO titles (rowid, title) SELECT new.number, new.title WHERE new.title IS NOT NULL;
   END;
   CREATE TRIGGER titles_removed AFTER DELETE ON items WHEN old.title IS NOT NULL BEGIN
     DELETE FROM titles WHERE rowid = old.number;
   END;`,
];

/** The newest change of each item, by number. */
const NEWS = `
   CREATE TABLE news (
     number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, link TEXT, body TEXT,
     at INTEGER NOT NULL DEFAULT (unixepoch()), UNIQUE (kind, id)
   ) STRICT;
   -- Not INSERT OR REPLACE: in a trigger it would do what the statement outside says, which is OR IGNORE.
   CREATE TRIGGER news_of_new AFTER INSERT ON items BEGIN
     DELETE FROM news WHERE kind = new.kind AND id = new.id;
     INSERT INTO news (kind, id) VALUES (new.kind, new.id);
   END;
   CREATE TRIGGER news_of_changed AFTER UPDATE ON items BEGIN
     DELETE FROM news WHERE kind = new.kind AND id = new.id;
     INSERT INTO news (kind, id) VALUES (new.kind, new.id);
   END;
   -- Here the news say what is gone, because nothing else does.
   CREATE TRIGGER news_of_removed AFTER DELETE ON items BEGIN
     DELETE FROM news WHERE kind = old.kind AND id = old.id;
     INSERT INTO news (kind, id, link, body) VALUES (old.kind, old.id, old.link, old.body);
   END;`;

/** Forward-only: step N brings `PRAGMA user_version` from N to N+1. A released step is never edited. */
const STEPS: Readonly<Record<Sharing, readonly string[]>> = { own: ITEMS, shared: [...ITEMS, NEWS] };

/** At most so many items are told at once. */
const NEWS_LIMIT = 500;
/** Every process that lives has heard of it by then: they ask several times a second. */
const NEWS_KEPT_S = 86_400;
/** A page ends early when its bodies are longer. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** Before all rows: what a page follows on. */
const FIRST: readonly [userId: string, createdMs: number, id: string] = ['', Number.MIN_SAFE_INTEGER, ''];

/** Numbers are given in the order of time, so only what goes is read, and one more. */
const FORGET_OLD_NEWS = `DELETE FROM news WHERE number < coalesce(
  (SELECT number FROM news WHERE at >= unixepoch() - ${NEWS_KEPT_S} ORDER BY number LIMIT 1), 0)`;

/** What more titles hold is found soon by walking through all of them in order; the look-up would cost more. */
const FEW = 2_000;

/** Items over one open database. */
export class SqliteItems implements Implementation<ItemCalls> {
  readonly #db: DatabaseSync;
  readonly #sharing: Sharing;

  /** Brings the database to the newest schema. @param name for messages. @throws Error when a newer version made it */
  constructor(db: DatabaseSync, name: string, sharing: Sharing) {
    this.#db = db;
    this.#sharing = sharing;
    const steps = STEPS[sharing];
    if (versionOf(db) === steps.length) return;
    // Looked at again under the lock: another process may have done it meanwhile.
    db.exec('BEGIN IMMEDIATE');
    const version = versionOf(db);
    if (version > steps.length) {
      throw new Error(
        `${name} has schema ${version}, this version of Throughline knows ${steps.length} - ` +
          `run the version that made it, or a newer one`,
      );
    }
    for (const step of steps.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${steps.length}; COMMIT;`);
  }

  get(kind: string, ids: readonly string[]): (Item | null)[] {
    const one = this.#db.prepare(`SELECT ${COLUMNS} FROM items WHERE kind = ? AND id = ?`);
    return ids.map((id) => {
      const row = one.get(kind, id);
      return row === undefined ? null : itemOf(row);
    });
  }

  search(filter: Filter, part: Part): Item[] {
    const { from, values } = this.#conditions(filter);
    // The inner query walks the covering index alone: only the rows of the page are read.
    return this.#db
      .prepare(
        `SELECT ${COLUMNS} FROM items WHERE kind = ? AND id IN
           (SELECT id FROM ${from} ORDER BY ${ORDERS[part.order]} LIMIT ? OFFSET ?)
         ORDER BY ${ORDERS[part.order]}`,
      )
      .all(filter.kind, ...values, part.limit, part.offset)
      .map(itemOf);
  }

  count(filter: Filter): number {
    const { from, values } = this.#conditions(filter);
    return Number(this.#db.prepare(`SELECT COUNT(*) AS n FROM ${from}`).get(...values)?.['n']);
  }

  scan(kind: string, after: string, limit: number): Item[] {
    return this.#db
      .prepare(`SELECT ${COLUMNS} FROM items WHERE kind = ? AND id > ? ORDER BY id LIMIT ?`)
      .all(kind, after, limit)
      .map(itemOf);
  }

  /** By creation, which is nearly the order of the rows in the file: by id, each row is another page of it to read. */
  page(kind: string, after: string, limit: number): Page {
    const place = after === '' ? FIRST : (JSON.parse(after) as typeof FIRST);
    // `max` makes the columns beside it those of the last row: https://sqlite.org/lang_select.html#bareagg
    const row = this.#db
      .prepare(
        `SELECT count(*) AS count, max(bytes_through), user_id, created_ms, id,
           '[' || coalesce(group_concat('[' || json_quote(id) || ',' || created_ms || ',' || updated_ms || ','
             || revision || ',' || body || ']'), '') || ']' AS text
         FROM (SELECT user_id, created_ms, id, updated_ms, revision, body, sum(octet_length(body))
             OVER (ORDER BY user_id, created_ms, id ROWS UNBOUNDED PRECEDING) AS bytes_through
           FROM items INDEXED BY items_created
           WHERE kind = ? AND (user_id, created_ms, id) > (?, ?, ?) LIMIT ?)
         WHERE bytes_through - octet_length(body) < ${PAGE_BYTES}`,
      )
      .get(kind, ...place, limit);
    const count = Number(row?.['count']);
    const last = count === 0 ? '' : JSON.stringify([row?.['user_id'], row?.['created_ms'], row?.['id']]);
    return { text: String(row?.['text']), count, last };
  }

  news(after: number | null): News | null {
    if (this.#sharing === 'own') return null;
    if (after === null) {
      const row = this.#db.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').get('news');
      return { number: Number(row?.['seq'] ?? 0), stored: [], removed: [], isPart: false };
    }
    const columns = COLUMNS.replaceAll(/[a-z_]+/g, 'items.$&');
    const rows = this.#db
      .prepare(
        `SELECT news.number AS told, news.kind AS news_kind, news.id AS news_id, news.link AS news_link,
           news.body AS news_body, ${columns}
         FROM news LEFT JOIN items ON items.kind = news.kind AND items.id = news.id
         WHERE news.number > ? ORDER BY news.number LIMIT ${NEWS_LIMIT}`,
      )
      .all(after);
    const isGone = (row: (typeof rows)[number]): boolean => row['id'] === null;
    return {
      number: Number(rows.at(-1)?.['told'] ?? after),
      stored: rows.filter((row) => !isGone(row)).map(itemOf<string>),
      removed: rows.filter(isGone).map((row) => ({
        kind: String(row['news_kind']),
        id: String(row['news_id']),
        link: row['news_link'] as string | null,
        body: String(row['news_body']),
      })),
      isPart: rows.length === NEWS_LIMIT,
    };
  }

  apply(changes: readonly Change[], unchanged: readonly Version[] = []): 'applied' | 'conflict' {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const whole =
        unchanged.every((one) => this.#isThere(one)) && changes.every((change) => this.#change(change));
      if (this.#sharing === 'shared') this.#db.exec(FORGET_OLD_NEWS);
      this.#db.exec(whole ? 'COMMIT' : 'ROLLBACK');
      return whole ? 'applied' : 'conflict';
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #conditions(filter: Filter): { readonly from: string; readonly values: SQLInputValue[] } {
    const { where, values } = conditions(filter);
    const numbers = this.#titled(filter);
    if (numbers === null) return { from: `items ${indexFor(filter)} WHERE ${where}`, values };
    // CROSS JOIN keeps the order of the two: the few numbers first.
    const few = '(SELECT value AS few FROM json_each(?))';
    return {
      from: `${few} CROSS JOIN items ON number = few WHERE ${where}`,
      values: [JSON.stringify(numbers), ...values],
    };
  }

  /** Numbers of the items whose title may hold the part, when they are few; null = look at all titles. */
  #titled({ titleContains: part = '' }: Filter): readonly number[] | null {
    if (SHORT.test(part)) return null;
    const rows = this.#db
      .prepare(`SELECT rowid AS number FROM titles WHERE titles MATCH ? LIMIT ${FEW}`)
      .all(`"${part.replaceAll('"', '""')}"`);
    return rows.length < FEW ? rows.map(({ number }) => number as number) : null;
  }

  #isThere({ kind, id, revision }: Version): boolean {
    const one = this.#db.prepare('SELECT 1 FROM items WHERE kind = ? AND id = ? AND revision = ?');
    return one.get(kind, id, revision) !== undefined;
  }

  #change(change: Change): boolean {
    if ('remove' in change) {
      const { kind, id, revision } = change.remove;
      if (revision === undefined) {
        this.#db.prepare('DELETE FROM items WHERE kind = ? AND id = ?').run(kind, id);
        return true;
      }
      const exactly = this.#db.prepare('DELETE FROM items WHERE kind = ? AND id = ? AND revision = ?');
      return exactly.run(kind, id, revision).changes === 1;
    }
    const { put } = change;
    const cells = [put.userId, put.createdMs, put.updatedMs, put.title, put.link, put.parent, put.body];
    const next = put.revision + 1;
    const statement =
      put.revision === 0
        ? this.#db.prepare(
            `INSERT OR IGNORE INTO items (user_id, created_ms, updated_ms, title, link, parent, body, sealed,
               revision, kind, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          )
        : this.#db.prepare(
            `UPDATE items SET user_id = ?, created_ms = ?, updated_ms = ?, title = ?, link = ?, parent = ?,
               body = ?, sealed = ?, revision = ? WHERE kind = ? AND id = ? AND revision = ?`,
          );
    const known = put.revision === 0 ? [] : [put.revision];
    return statement.run(...cells, put.sealed, next, put.kind, put.id, ...known).changes === 1;
  }
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}

/** Of what is linked there is little, of a user's there is much; the planner knows neither and reads all. */
function indexFor(filter: Filter): string {
  if (filter.parents !== undefined) return 'INDEXED BY items_parent';
  return filter.link === undefined ? '' : 'INDEXED BY items_link';
}

function conditions(filter: Filter): { readonly where: string; readonly values: SQLInputValue[] } {
  const like = filter.titleContains?.replaceAll(/[\\%_]/g, (sign) => `\\${sign}`);
  const all: readonly (readonly [sql: string, value: SQLInputValue | undefined])[] = [
    ['kind = ?', filter.kind],
    ['user_id = ?', filter.userId],
    ["title LIKE ? ESCAPE '\\'", like === undefined ? undefined : `%${like}%`],
    ['created_ms >= ?', filter.createdFromMs],
    ['created_ms < ?', filter.createdBeforeMs],
    ['updated_ms >= ?', filter.updatedFromMs],
    ['updated_ms < ?', filter.updatedBeforeMs],
    ['link = ?', filter.link],
  ];
  const asked = all.filter(([, value]) => value !== undefined);
  const sql = asked.map(([condition]) => condition);
  const values = asked.map(([, value]) => value as SQLInputValue);
  if (filter.topLevel === true) sql.push('parent IS NULL');
  if (filter.parents !== undefined) {
    sql.push(`parent IN (${filter.parents.map(() => '?').join(', ')})`);
    values.push(...filter.parents);
  }
  return { where: sql.join(' AND '), values };
}
