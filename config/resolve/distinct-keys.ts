// The keys of one list of the file must differ from each other and from those that open more; so must their names.
import type { Diagnostics } from '../diagnostics.ts';
import type { Secret } from '../secret.ts';
import type { Path } from '../tree.ts';

export class DistinctKeys {
  readonly #diagnostics: Diagnostics;
  /** Why a key is taken, by its SHA-256. */
  readonly #taken = new Map<string, string>();
  readonly #names = new Set<string>();

  constructor(masterKey: Secret | null, diagnostics: Diagnostics) {
    this.#diagnostics = diagnostics;
    if (masterKey !== null) this.take(masterKey, 'this is the master key, which opens everything');
  }

  /** A key of elsewhere. @param why what is wrong with having it in this list, too */
  take(key: Secret, why: string): void {
    this.#taken.set(key.sha256(), why);
  }

  /** One of the list. */
  add(sha256: string, path: Path): void {
    const why = this.#taken.get(sha256);
    if (why !== undefined)
      this.#diagnostics.error(path, why, 'make another key, for example: openssl rand -hex 24');
    this.#taken.set(sha256, 'this key stands in the list twice');
  }

  addName(name: string, path: Path): void {
    const message = 'another key has this name; rows could not be told apart';
    if (this.#names.has(name)) this.#diagnostics.error(path, message, 'choose another name');
    this.#names.add(name);
  }
}
