// Notices models that another server has stored in the database that they share, and has them served here: a second later
// at most. A question of 0.3 ms tells whether there is anything to read; behind a connection pooler it works as well.
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { StoreUnavailable, type ModelStore } from '../spend/store/store.ts';

const LOOK_MS = 1_000;

export class ModelWatcher {
  readonly #models: ModelStore;
  readonly #reloader: ConfigReloader;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  /** Of the models that were served last. */
  #mark: string | null = null;
  /** Of those that could not be served, with the configuration that refused them: another one may take them. */
  #refused: { readonly mark: string; readonly version: string } | null = null;

  constructor(models: ModelStore, reloader: ConfigReloader) {
    this.#models = models;
    this.#reloader = reloader;
  }

  /** Begins with what was stored while this server started. */
  start(): void {
    void this.#look();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { log } = this.#reloader.active.services;
    const isShared = await this.#take().catch((err: unknown) => {
      // The ledger says that the store is away; the next look finds what has changed meanwhile.
      if (!this.#closed && !(err instanceof StoreUnavailable))
        log.error({ err }, 'stored models cannot be read');
      return true;
    });
    if (this.#closed || !isShared) return;
    this.#timer = setTimeout(() => void this.#look(), LOOK_MS).unref();
  }

  /** @returns false when no other server can have stored anything. @throws StoreUnavailable */
  async #take(): Promise<boolean> {
    if (!this.#reloader.active.snapshot.storeModelInDb) return true; // a reload may switch it on
    const mark = await this.#models.modelsMark();
    if (mark === null) return false;
    if (mark === this.#mark || this.#isRefused(mark) || this.#closed) return true;
    const { version } = this.#reloader.active.snapshot; // an older one than that which refuses: it is asked once more
    const result = await this.#reloader.takeStored(() => this.#models.listModels());
    this.#refused = result === 'refused' ? { mark, version } : null;
    if (result === 'served') this.#mark = mark;
    return true;
  }

  #isRefused(mark: string): boolean {
    const { version } = this.#reloader.active.snapshot;
    return this.#refused?.mark === mark && this.#refused.version === version;
  }
}
