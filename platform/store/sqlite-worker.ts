// The thread on which the wing's SQLite runs: one question at a time, each answered with a value or a reason. Opens the
// database with the first question, so that a disk that is mended later needs no restart.
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { SqliteItems } from './sqlite-items.ts';
import type { Change, Filter, Item, Kind, Part } from './store.ts';

export interface Calls {
  readonly get: {
    readonly args: { readonly kind: Kind; readonly ids: readonly string[] };
    readonly value: readonly (Item | null)[];
  };
  readonly search: {
    readonly args: { readonly filter: Filter; readonly part: Part };
    readonly value: readonly Item[];
  };
  readonly count: { readonly args: Filter; readonly value: number };
  readonly scan: {
    readonly args: { readonly kind: Kind; readonly after: string; readonly limit: number };
    readonly value: readonly Item[];
  };
  readonly apply: { readonly args: readonly Change[]; readonly value: 'applied' | 'conflict' };
  readonly close: { readonly args: null; readonly value: null };
}

export type CallName = keyof Calls;

export type Question = {
  [K in CallName]: { readonly id: number; readonly name: K; readonly args: Calls[K]['args'] };
}[CallName];

export type Reply =
  { readonly id: number; readonly value: unknown } | { readonly id: number; readonly trouble: string };

const BUSY_MS = 5_000; // a backup tool may hold the database for a moment

class Desk {
  readonly #file: string;
  #db: DatabaseSync | null = null;
  #items: SqliteItems | null = null;

  constructor(file: string) {
    this.#file = file;
  }

  answer(question: Question): unknown {
    if (question.name === 'close') return this.close();
    const items = (this.#items ??= this.#open());
    switch (question.name) {
      case 'get':
        return items.get(question.args.kind, question.args.ids);
      case 'search':
        return items.search(question.args.filter, question.args.part);
      case 'count':
        return items.count(question.args);
      case 'scan':
        return items.scan(question.args.kind, question.args.after, question.args.limit);
      case 'apply':
        return items.apply(question.args);
    }
  }

  close(): null {
    this.#db?.close();
    this.#db = null;
    this.#items = null;
    return null;
  }

  #open(): SqliteItems {
    closeSync(openSync(this.#file, 'a', 0o600)); // SQLite would make it readable for all
    this.#db ??= new DatabaseSync(this.#file, { timeout: BUSY_MS });
    // FULL: a change that was answered is on the disk; some changes a second at most, so the sync costs nobody.
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;');
    return new SqliteItems(this.#db);
  }
}

const desk = new Desk((workerData as { readonly file: string }).file);
parentPort?.on('message', (question: Question) => {
  let reply: Reply;
  try {
    reply = { id: question.id, value: desk.answer(question) };
  } catch (error) {
    reply = { id: question.id, trouble: error instanceof Error ? error.message : String(error) };
    desk.close(); // the next question opens it anew
  }
  parentPort?.postMessage(reply);
});
