// The schema in PostgreSQL as forward-only steps, taken by one process at a time however many start at once. A released
// step is never edited, because databases of operators have already taken it.
import type { Client } from 'pg';
import { inTransaction } from './connection.ts';
import { DAILY_LIST, EARLIER_LIST } from '../sql/spend-sql.ts';
import { StoreUnavailable } from '../store.ts';

/** Any number, the same in all versions: what migrations and new partitions wait for each other by. */
const LOCK = 8_206_011_574;

/** The first and the first-but-last month that have partitions of their own; rows of other times share two. */
export const FIRST_MONTH = '2020-01';
export const LAST_MONTH = '2099-12';
const FIRST_MS = Date.parse('2020-01-01T00:00:00Z');
const END_MS = Date.parse('2100-01-01T00:00:00Z');

/** Steps of one owner of tables, and the table that says how many of them were taken. */
interface Chain {
  readonly versionTable: string;
  readonly steps: readonly string[];
}

const VERSIONS = 'schema_version';

/** Each is given the quoted name of the schema. */
const STEPS: readonly ((schema: string) => string)[] = [
  (s) => `
   -- What the key of stored models is proved by.
   CREATE TABLE ${s}.meta (one int PRIMARY KEY CHECK (one = 1), salt bytea NOT NULL, sample bytea NOT NULL);

   -- How far each journal (named by the id in its directory) has been taken over, and who writes it.
   CREATE TABLE ${s}.journals (
     journal_id text PRIMARY KEY, writer text NOT NULL, segment bigint NOT NULL, byte_offset bigint NOT NULL,
     moved_at timestamptz NOT NULL
   );

   -- number keeps the order in which models were added.
   CREATE TABLE ${s}.models (
     id text PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, sealed bytea NOT NULL,
     created_ms bigint NOT NULL, updated_ms bigint NOT NULL
   );

   CREATE TABLE ${s}.spend (
     request_id text NOT NULL, call_type text, start_ms bigint NOT NULL, end_ms bigint, first_byte_ms bigint,
     api_key text, team_id text, user_id text, model text, model_group text, model_id text, provider text,
     api_base text, session_id text, session_key text, session_source text, end_user text, tags json,
     spend_logs_metadata json, client_call_id text, client_address text, user_agent text, stream bigint,
     request_bytes bigint, response_bytes bigint, warnings json, status text, end_reason text,
     http_status bigint, error_code text, error_source text, attempts bigint, upstream_id text,
     upstream_call_id text, usage json, usage_source text, prompt_tokens bigint, completion_tokens bigint,
     total_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, reasoning_tokens bigint,
     spend_pico bigint, cost_source text, cost_reason text,
     PRIMARY KEY (request_id, start_ms)
   ) PARTITION BY RANGE (start_ms);
   CREATE INDEX spend_time ON ${s}.spend (start_ms);
   CREATE INDEX spend_session ON ${s}.spend (session_key, start_ms);
   CREATE INDEX spend_end_user ON ${s}.spend (end_user, start_ms) WHERE end_user IS NOT NULL;
   CREATE INDEX spend_api_key ON ${s}.spend (api_key, start_ms);
   CREATE INDEX spend_response ON ${s}.spend (upstream_id) WHERE call_type = 'aresponses';
   CREATE TABLE ${s}.spend_before PARTITION OF ${s}.spend FOR VALUES FROM (MINVALUE) TO (${FIRST_MS});
   CREATE TABLE ${s}.spend_after PARTITION OF ${s}.spend FOR VALUES FROM (${END_MS}) TO (MAXVALUE);

   -- Room in each page, so that sums that are added to stay in it and no index is touched.
   CREATE TABLE ${s}.spend_daily (
     axis text NOT NULL, day text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, entity text NOT NULL,
     api_key text NOT NULL, team_id text NOT NULL, user_id text NOT NULL, end_user text NOT NULL,
     model text NOT NULL, model_group text NOT NULL, provider text NOT NULL, requests bigint NOT NULL,
     failures bigint NOT NULL, unpriced bigint NOT NULL, prompt_tokens bigint NOT NULL,
     completion_tokens bigint NOT NULL, total_tokens bigint NOT NULL, cache_read_tokens bigint NOT NULL,
     cache_write_tokens bigint NOT NULL, reasoning_tokens bigint NOT NULL, spend_usd bigint NOT NULL,
     spend_pico bigint NOT NULL,
     PRIMARY KEY (axis, day, id)
   ) WITH (fillfactor = 60);`,

  (s) => `ALTER TABLE ${s}.spend ADD COLUMN attempt_log json;`,

  // Attribution, more kinds of tokens, and how a cost was found.
  (s) => `
   ALTER TABLE ${s}.spend
     ADD COLUMN profile text, ADD COLUMN client text, ADD COLUMN cache_write_1h_tokens bigint,
     ADD COLUMN input_audio_tokens bigint, ADD COLUMN output_audio_tokens bigint,
     ADD COLUMN input_image_tokens bigint, ADD COLUMN output_image_tokens bigint,
     ADD COLUMN estimated_by text, ADD COLUMN units json, ADD COLUMN service_tier text,
     ADD COLUMN costs json, ADD COLUMN price_version text;`,

  (s) => `ALTER TABLE ${s}.spend ADD COLUMN key_name text;`,
  (s) => `ALTER TABLE ${s}.spend ADD COLUMN error_text text;`,

  // What one key, team, user, end user or tag has spent, for its budget. Sums that are added to change no indexed column.
  (s) => `
   CREATE INDEX spend_daily_key ON ${s}.spend_daily (api_key, day) WHERE axis = '';
   CREATE INDEX spend_daily_team ON ${s}.spend_daily (team_id, day) WHERE axis = '';
   CREATE INDEX spend_daily_user ON ${s}.spend_daily (user_id, day) WHERE axis = '';
   CREATE INDEX spend_daily_end_user ON ${s}.spend_daily (end_user, day) WHERE axis = '';
   CREATE INDEX spend_daily_tag ON ${s}.spend_daily (entity, day) WHERE axis = 'tag';`,

  // Rows say their organization. What was spent before counts by the teams and keys of today, from a copy of the sums that were there.
  (s) => `
   ALTER TABLE ${s}.spend ADD COLUMN organization_id text;
   CREATE INDEX spend_daily_organization ON ${s}.spend_daily (entity, day) WHERE axis = 'organization';
   INSERT INTO ${s}.spend_daily (${DAILY_LIST}) SELECT ${EARLIER_LIST} FROM ${s}.spend_daily WHERE axis = '';`,
];

/** The newest version: what a reader understands that changes nothing. */
export const POSTGRES_SCHEMA = STEPS.length;

/** The name of the schema as it stands in statements; the configuration lets plain names through only. */
export function quoted(schema: string): string {
  return `"${schema}"`;
}

/** Takes the lock that one process at a time holds, until the transaction ends. */
export async function takeLock(client: Client): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
}

/** Brings the store's own tables to the newest version. @throws as `migrateChain` */
export function migrate(client: Client, schema: string): Promise<void> {
  const name = quoted(schema);
  return migrateChain(client, schema, { versionTable: VERSIONS, steps: STEPS.map((step) => step(name)) });
}

/**
 * Takes the steps that are missing in one transaction, whoever else tries the same.
 * @throws StoreUnavailable when the tables were made by a newer version
 */
export async function migrateChain(client: Client, schema: string, chain: Chain): Promise<void> {
  const name = quoted(schema);
  const { versionTable, steps } = chain;
  if ((await versionOf(client, schema, versionTable)) === steps.length) return;
  await inTransaction(client, async () => {
    await takeLock(client);
    // Without the privilege to create one, an administrator may have made it.
    const there = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    if (there.rowCount === 0) await client.query(`CREATE SCHEMA ${name}`);
    await client.query(`CREATE TABLE IF NOT EXISTS ${name}.${versionTable} (version bigint NOT NULL)`);
    const version = await versionOf(client, schema, versionTable);
    if (version > steps.length) {
      throw new StoreUnavailable(
        'unavailable',
        `the schema ${schema} (${versionTable}) has version ${version}, this version of Throughline knows ` +
          `${steps.length} - run the version that made it, or a newer one`,
      );
    }
    for (const step of steps.slice(version)) await client.query(step);
    await client.query(`DELETE FROM ${name}.${versionTable}`);
    await client.query(`INSERT INTO ${name}.${versionTable} VALUES ($1)`, [steps.length]);
  });
}

/** Version of the tables; 0: there are none. */
export async function versionOf(client: Client, schema: string, versionTable = VERSIONS): Promise<number> {
  const table = `${quoted(schema)}.${versionTable}`;
  const there = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    table,
  ]);
  if (there.rows[0]?.there !== true) return 0;
  const { rows } = await client.query<{ version: number }>(`SELECT version FROM ${table}`);
  return rows[0]?.version ?? 0;
}
