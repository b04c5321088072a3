// The embedded store's schema as forward-only steps: step N brings `PRAGMA user_version` from N to N+1. A released
// step is never edited, because databases of operators have already taken it.
import type { DatabaseSync } from 'node:sqlite';

const STEPS: readonly string[] = [
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) STRICT, WITHOUT ROWID;

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
   CREATE INDEX spend_upstream ON spend (upstream_id) WHERE upstream_id IS NOT NULL;`,

  // Attribution, more kinds of tokens, and how a cost was found.
  `ALTER TABLE spend ADD COLUMN team_id TEXT;
   ALTER TABLE spend ADD COLUMN user_id TEXT;
   ALTER TABLE spend ADD COLUMN profile TEXT;
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
   ALTER TABLE spend ADD COLUMN price_version TEXT;
   CREATE INDEX spend_team ON spend (team_id, start_ms) WHERE team_id IS NOT NULL;
   CREATE INDEX spend_user ON spend (user_id, start_ms) WHERE user_id IS NOT NULL;`,
];

/**
 * Brings the database to the newest schema, each step in its own transaction.
 * @throws Error when the database was made by a newer version
 */
export function migrate(db: DatabaseSync): void {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (version > STEPS.length) {
    throw new Error(
      `the database has schema ${version}, this version of Throughline knows ${STEPS.length} - ` +
        `run the version that made it, or a newer one`,
    );
  }
  for (let step = version; step < STEPS.length; step++) {
    db.exec(`BEGIN IMMEDIATE; ${STEPS[step] ?? ''} PRAGMA user_version = ${step + 1}; COMMIT;`);
  }
}
