// Runtime models in SQLite, each entry sealed as a whole. Runs in the worker only. The key is proved against a stored
// sample before anything is written, so one database never holds entries under two keys.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Secret } from '../../config/secret.ts';
import { SALT_BYTES, sealerOf } from './seal.ts';
import type { Sealer } from './seal.ts';
import { StoreUnavailable } from './store.ts';
import type { StoredModel } from './store.ts';

const SAMPLE = 'throughline';
const SAMPLE_PLACE = 'meta/sample';

/** Model statements over one open database. */
export class SqliteModels {
  readonly #db: DatabaseSync;
  readonly #saltKey: Secret | null;
  #sealer: Sealer | null = null;

  constructor(db: DatabaseSync, saltKey: Secret | null) {
    this.#db = db;
    this.#saltKey = saltKey;
  }

  list(): StoredModel[] {
    const rows = this.#db.prepare('SELECT id, sealed FROM models ORDER BY rowid').all();
    if (rows.length === 0) return []; // no key is asked for as long as nothing is sealed
    const sealer = this.#openSealer();
    return rows.map((row) => {
      const id = String(row['id']);
      const text = sealer.open(row['sealed'] as Uint8Array, placeOf(id));
      if (text === null) throw wrongKey(`the stored model ${id} cannot be decrypted`);
      return { id, entry: JSON.parse(text) as StoredModel['entry'] };
    });
  }

  put(id: string, entry: StoredModel['entry'], nowMs: number): void {
    const sealed = this.#openSealer().seal(JSON.stringify(entry), placeOf(id));
    this.#db
      .prepare(
        `INSERT INTO models (id, sealed, created_ms, updated_ms) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed, updated_ms = excluded.updated_ms`,
      )
      .run(id, sealed, nowMs, nowMs);
  }

  delete(id: string): boolean {
    return Number(this.#db.prepare('DELETE FROM models WHERE id = ?').run(id).changes) > 0;
  }

  #openSealer(): Sealer {
    if (this.#sealer !== null) return this.#sealer;
    if (this.#saltKey === null) {
      throw new StoreUnavailable(
        'no_salt_key',
        'models can only be stored encrypted, and no key is configured - set LITELLM_SALT_KEY or a master key',
      );
    }
    const salt = this.#meta('salt') ?? randomBytes(SALT_BYTES);
    const sealer = sealerOf(this.#saltKey, salt);
    const sample = this.#meta('sample');
    if (sample === null) {
      this.#db.exec('BEGIN IMMEDIATE');
      const put = this.#db.prepare('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)');
      put.run('salt', salt);
      put.run('sample', sealer.seal(SAMPLE, SAMPLE_PLACE));
      this.#db.exec('COMMIT');
    } else if (sealer.open(sample, SAMPLE_PLACE) !== SAMPLE) {
      throw wrongKey('the stored models were encrypted with another key');
    }
    this.#sealer = sealer;
    return sealer;
  }

  #meta(name: string): Uint8Array | null {
    const row = this.#db.prepare('SELECT value FROM meta WHERE name = ?').get(name);
    return row === undefined ? null : (row['value'] as Uint8Array);
  }
}

function placeOf(id: string): string {
  return `models/${id}`;
}

function wrongKey(what: string): StoreUnavailable {
  return new StoreUnavailable(
    'wrong_salt_key',
    `${what} - set LITELLM_SALT_KEY to the key it was stored with (without LITELLM_SALT_KEY: the master key of that time), ` +
      `or delete the stored models and add them again`,
  );
}
