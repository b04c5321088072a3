// The embedded store's schema as forward-only steps: step N brings `PRAGMA user_version` from N to N+1. A released
// step is never edited, because databases of operators have already taken it.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { additions, DAILY_LIST, EARLIER_LIST } from '../sql/spend-sql.ts';
import { DAILY_COLUMNS, Rollup, ROLLUP_ROWS } from '../sql/rollup.ts';
import { recordOf } from '../sql/spend-columns.ts';

const STEPS: readonly ((db: DatabaseSync) => void)[] = [
  (db) =>
    db.exec(`CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) STRICT, WITHOUT ROWID;

   -- How far each journal (named by the id in its directory) has been taken over.
   CREATE TABLE cursor (journal_id TEXT PRIMARY KEY, segment INTEGER, offset INTEGER) STRICT, WITHOUT ROWID;

   -- rowid keeps the order in which models were added.
   CREATE TABLE models (id TEXT PRIMARY KEY, sealed BLOB, created_ms INTEGER, updated_ms INTEGER) STRICT;

   -- Only the key is NOT NULL: INSERT OR IGNORE would drop a row that breaks such a constraint without a word.
   CREATE TABLE spend (
     request_id TEXT PRIMARY KEY, call_type TEXT, start_ms INTEGER, end_ms INTEGER, first_byte_ms INTEGER,
     api_key TEXT, model TEXT, model_group TEXT, model_id TEXT, provider TEXT, api_base TEXT,
     session_id TEXT, session_key TEXT, session_source TEXT, end_user TEXT, tags TEXT,
     spend_logs_metadata TEXT, client_call_id TEXT, client_address TEXT, user_agent TEXT, stream INTEGER,
     request_bytes INTEGER, response_bytes INTEGER, warnings TEXT, status TEXT, end_reason TEXT,
     http_status INTEGER, error_code TEXT, error_source TEXT, attempts INTEGER, upstream_id TEXT,
     upstream_call_id TEXT, usage TEXT, usage_source TEXT, prompt_tokens INTEGER, completion_tokens INTEGER,
     total_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER,
     spend_pico INTEGER, cost_source TEXT, cost_reason TEXT
   ) STRICT;
   CREATE INDEX spend_start ON spend (start_ms, request_id);
   CREATE INDEX spend_session ON spend (session_key, start_ms);
   CREATE INDEX spend_end_user ON spend (end_user, start_ms);
   CREATE INDEX spend_api_key ON spend (api_key, start_ms);
   CREATE INDEX spend_upstream ON spend (upstream_id) WHERE upstream_id IS NOT NULL;`),
  (db) => {
    // Rows come in the order of time, so an index that begins with it only grows at its end: one such index, that
    // knows keys and end users too, costs a third of the three it replaces and answers the same. Ids of upstreams are
    // random, a page written per row, and only those of responses are ever looked up.
    db.exec(`ALTER TABLE spend ADD COLUMN team_id TEXT;
     ALTER TABLE spend ADD COLUMN user_id TEXT;
     ALTER TABLE cursor ADD COLUMN writer TEXT;
     DROP INDEX spend_start;
     DROP INDEX spend_end_user;
     DROP INDEX spend_api_key;
     DROP INDEX spend_upstream;
     CREATE INDEX spend_time ON spend (start_ms, api_key, end_user);
     CREATE INDEX spend_response ON spend (upstream_id) WHERE call_type = 'aresponses';
     CREATE TABLE spend_daily (
       axis TEXT NOT NULL, day TEXT NOT NULL, id TEXT NOT NULL, entity TEXT NOT NULL, api_key TEXT NOT NULL,
       team_id TEXT NOT NULL, user_id TEXT NOT NULL, end_user TEXT NOT NULL, model TEXT NOT NULL,
       model_group TEXT NOT NULL, provider TEXT NOT NULL, requests INTEGER NOT NULL, failures INTEGER NOT NULL,
       unpriced INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
       total_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL,
       reasoning_tokens INTEGER NOT NULL, spend_usd INTEGER NOT NULL, spend_pico INTEGER NOT NULL,
       PRIMARY KEY (axis, day, id)
     ) STRICT, WITHOUT ROWID;`);
    rebuildDaily(db);
  },

  (db) => db.exec('ALTER TABLE spend ADD COLUMN attempt_log TEXT'),

  // Attribution, more kinds of tokens, and how a cost was found.
  (db) =>
    db.exec(`ALTER TABLE spend ADD COLUMN profile TEXT;
     ALTER TABLE spend ADD COLUMN client TEXT;
     ALTER TABLE spend ADD COLUMN cache_write_1h_tokens INTEGER;
     ALTER TABLE spend ADD COLUMN input_audio_tokens INTEGER;
     ALTER TABLE spend ADD COLUMN output_audio_tokens INTEGER;
     ALTER TABLE spend ADD COLUMN input_image_tokens INTEGER;
     ALTER TABLE spend ADD COLUMN output_image_tokens INTEGER;
     ALTER TABLE spend ADD COLUMN estimated_by TEXT;
     ALTER TABLE spend ADD COLUMN units TEXT;
     ALTER TABLE spend ADD COLUMN service_tier TEXT;
     ALTER TABLE spend ADD COLUMN costs TEXT;
     ALTER TABLE spend ADD COLUMN price_version TEXT;`),

  (db) => db.exec('ALTER TABLE spend ADD COLUMN key_name TEXT'),
  (db) => db.exec('ALTER TABLE spend ADD COLUMN error_text TEXT'),

  // What one key, team, user, end user or tag has spent, for its budget. Sums that are added to change no indexed column.
  (db) =>
    db.exec(`CREATE INDEX spend_daily_key ON spend_daily (api_key, day) WHERE axis = '';
     CREATE INDEX spend_daily_team ON spend_daily (team_id, day) WHERE axis = '';
     CREATE INDEX spend_daily_user ON spend_daily (user_id, day) WHERE axis = '';
     CREATE INDEX spend_daily_end_user ON spend_daily (end_user, day) WHERE axis = '';
     CREATE INDEX spend_daily_tag ON spend_daily (entity, day) WHERE axis = 'tag';`),

  // Rows say their organization. What was spent before counts by the teams and keys of today, from a copy of the sums that were there.
  (db) =>
    db.exec(`ALTER TABLE spend ADD COLUMN organization_id TEXT;
     CREATE INDEX spend_daily_organization ON spend_daily (entity, day) WHERE axis = 'organization';
     INSERT OR IGNORE INTO spend_daily (${DAILY_LIST}) SELECT ${EARLIER_LIST} FROM spend_daily WHERE axis = '';`),
];

/** The newest schema: what a reader understands that changes nothing. */
export const SQLITE_SCHEMA = STEPS.length;

/**
 * Brings the database to the newest schema, each step in its own transaction.
 * @throws Error when the database was made by a newer version
 */
export function migrate(db: DatabaseSync): void {
  while (versionOf(db) < STEPS.length) {
    db.exec('BEGIN IMMEDIATE'); // of two processes one waits here, and finds the step taken
    try {
      const version = versionOf(db);
      const step = STEPS[version];
      if (step !== undefined) {
        step(db);
        db.exec(`PRAGMA user_version = ${version + 1}`);
      }
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
  const version = versionOf(db);
  if (version > STEPS.length) {
    throw new Error(
      `the database has schema ${version}, this version of Throughline knows ${STEPS.length} - ` +
        `run the version that made it, or a newer one`,
    );
  }
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}

/** The statement that adds a `DailySum`. */
export function addingDaily(db: DatabaseSync): StatementSync {
  return db.prepare(
    `INSERT INTO spend_daily (${DAILY_LIST}) VALUES (${DAILY_COLUMNS.map(() => '?').join(', ')})
     ON CONFLICT (axis, day, id) DO UPDATE SET ${additions('spend_daily')}`,
  );
}

/** Makes the daily sums of all rows that are there. Some 20 us a row. */
function rebuildDaily(db: DatabaseSync): void {
  const add = addingDaily(db);
  const write = (rollup: Rollup): void => {
    for (const row of rollup.rows()) add.run(...row);
  };
  let rollup = new Rollup();
  let rows = 0;
  for (const row of db.prepare('SELECT * FROM spend ORDER BY start_ms').iterate()) {
    rollup.add(recordOf(row));
    rows += 1;
    if (rows % ROLLUP_ROWS === 0) {
      write(rollup);
      rollup = new Rollup();
    }
  }
  write(rollup);
}
