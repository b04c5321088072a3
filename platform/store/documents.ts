// Settings documents: one JSON object per user and interface, sealed as a whole, changed by one writer at a time.
import type { Clock } from '../../proxy/base/clock.ts';
import { refuse } from '../api/refusal.ts';
import { KeyedQueue } from '../../proxy/base/keyed-queue.ts';
import type { PlatformStore } from './store.ts';
import type { Vault } from './vault.ts';

/** What a change makes of a document: the next one (null = as it was), and what the caller gets to know. */
interface Changed<D, R> {
  readonly next: D | null;
  readonly result: R;
}

/** Another process may write to the same store; more turns than this lost in a row is a hot loop, not bad luck. */
const ATTEMPTS = 5;

/** Merges add up over calls; the platform's own settings stay below some ten KiB. */
const MAX_CHARS = 4 * 1024 * 1024;

/** Documents of one interface (`v0`, `v1`). */
export class Documents<D extends object> {
  readonly #name: string;
  readonly #store: PlatformStore;
  readonly #vault: Vault;
  readonly #clock: Clock;
  readonly #queue = new KeyedQueue();

  constructor(name: string, store: PlatformStore, vault: Vault, clock: Clock) {
    this.#name = name;
    this.#store = store;
    this.#vault = vault;
    this.#clock = clock;
  }

  async read(userId: string): Promise<D | null> {
    return (await this.#load(userId)).document;
  }

  /** Reads, changes and writes as one step per user. @throws Refusal 409 when others write all the time */
  change<R>(userId: string, change: (old: D | null) => Changed<D, R>): Promise<R> {
    return this.#queue.run(userId, () => this.#try(userId, change));
  }

  async #try<R>(userId: string, change: (old: D | null) => Changed<D, R>): Promise<R> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const { document, revision, createdMs } = await this.#load(userId);
      const { next, result } = change(document);
      if (next === null) return result;
      const text = JSON.stringify(next);
      if (text.length > MAX_CHARS)
        throw refuse(413, `The settings would be larger than ${MAX_CHARS} characters`);
      const nowMs = this.#clock.now();
      const id = this.#idOf(userId);
      const item = {
        kind: 'settings',
        id,
        userId,
        createdMs: createdMs ?? nowMs,
        updatedMs: nowMs,
        title: null,
        link: null,
        parent: null,
        body: '{}',
        sealed: this.#vault.seal('settings', id, { document: text }),
        revision,
      } as const;
      if ((await this.#store.apply([{ put: item }])) === 'applied') return result;
    }
    throw refuse(409, 'The settings are being changed by others at the same time; send it again');
  }

  async #load(userId: string): Promise<{ document: D | null; revision: number; createdMs: number | null }> {
    const [item = null] = await this.#store.get('settings', [this.#idOf(userId)]);
    if (item === null) return { document: null, revision: 0, createdMs: null };
    const text = this.#vault.open(item)['document'] ?? '{}';
    return { document: JSON.parse(text) as D, revision: item.revision, createdMs: item.createdMs };
  }

  #idOf(userId: string): string {
    return `${this.#name}/${userId}`;
  }
}
