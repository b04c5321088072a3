// Runtime models in SQLite, each one sealed as a whole. Runs in the worker only.
import type { DatabaseSync } from 'node:sqlite';
import type { Secret } from '../../../../config/secret.ts';
import { ModelSeal } from '../model-seal.ts';
import type { StoredModel } from '../store.ts';

/** Model statements over one open database. */
export class SqliteModels {
  readonly #db: DatabaseSync;
  readonly #saltKey: Secret | null;
  #seal: ModelSeal | null = null;

  constructor(db: DatabaseSync, saltKey: Secret | null) {
    this.#db = db;
    this.#saltKey = saltKey;
  }

  list(): StoredModel[] {
    const rows = this.#db.prepare('SELECT id, sealed FROM models ORDER BY rowid').all();
    if (rows.length === 0) return []; // without sealed models no key is needed
    const seal = this.#proved();
    return rows.map((row) => seal.open(String(row['id']), row['sealed'] as Uint8Array));
  }

  put(id: string, entry: StoredModel['entry'], nowMs: number): void {
    const sealed = this.#proved().seal(id, entry);
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

  #proved(): ModelSeal {
    if (this.#seal !== null) return this.#seal;
    if (this.#meta('sample') === null) {
      const { salt, sample } = ModelSeal.begin(this.#saltKey);
      this.#db.exec('BEGIN IMMEDIATE');
      const put = this.#db.prepare('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)');
      put.run('salt', salt);
      put.run('sample', sample);
      this.#db.exec('COMMIT');
    }
    const [salt, sample] = [this.#meta('salt'), this.#meta('sample')];
    if (salt === null || sample === null) throw new Error('the proof of the salt key is gone');
    return (this.#seal = ModelSeal.prove(this.#saltKey, { salt, sample }));
  }

  #meta(name: string): Uint8Array | null {
    const row = this.#db.prepare('SELECT value FROM meta WHERE name = ?').get(name);
    return row === undefined ? null : (row['value'] as Uint8Array);
  }
}
