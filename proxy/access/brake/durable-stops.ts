// Keeps stopped conversations in the items that processes share, in `brake.db` of the data directory or in the tables `brake_*`:
// a stop outlives a restart, and holds in all workers and servers within a second. A store that is away delays that, and no call.
import { BRAKE_RULES } from '../../../config/brake-settings.ts';
import { SharedItems, type SharedItem } from '../../items/shared-items.ts';
import type { StopChange, StopKeeper } from './stops.ts';

const KIND = 'conversation';
const RETRY_MS = 5_000;
/** Changes after which those that are old are removed, as at the start: a process may run for years. */
const FORGET_EVERY = 100;

type Shared = Omit<ConstructorParameters<typeof SharedItems<typeof KIND>>[0], 'name' | 'kinds'>;

interface StopsOptions extends Shared {
  /** Is told of what this and other processes have kept, old news too. */
  readonly told: (change: StopChange) => void;
}

export class DurableStops implements StopKeeper {
  readonly #items: SharedItems<typeof KIND>;
  readonly #options: StopsOptions;
  /** The last change of each conversation that is not stored yet, by its id there. */
  readonly #unstored = new Map<string, StopChange>();
  #isAway = false;
  #idleMs = Infinity;
  #storedSinceForgetting = 0;
  /** Writes, one after the other. */
  #work: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | null = null;
  #again: NodeJS.Timeout | null = null;
  #opened: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: StopsOptions) {
    this.#options = options;
    this.#items = new SharedItems({ ...options, name: 'brake', kinds: [KIND] });
  }

  /** Resolves when what was kept is told, or cannot be read now: it is tried again then. */
  open(idleMs: number): Promise<void> {
    this.#idleMs = idleMs;
    return (this.#opened ??= this.#load());
  }

  async #load(): Promise<void> {
    const { log } = this.#options;
    try {
      const listener = { stored: (item: Item) => this.#tell(item), removed: () => undefined };
      for await (const page of this.#items.load(listener))
        for (const item of page) if (item.updatedMs >= this.#oldestMs) this.#tell(item);
      this.#work = this.#work.then(() => this.#forgetOld());
    } catch (err) {
      if (this.#isClosed) return;
      log.warn({ err }, 'conversations that the brake had stopped cannot be read yet');
      this.#retry = setTimeout(() => void this.#load(), RETRY_MS).unref();
    }
  }

  get #oldestMs(): number {
    return this.#options.clock.now() - this.#idleMs;
  }

  async #forgetOld(): Promise<void> {
    this.#storedSinceForgetting = 0;
    await this.#items.removeOlder(KIND, this.#oldestMs).catch(() => undefined); // done again later
  }

  keep(change: StopChange): void {
    this.#unstored.set(`${change.holder} ${change.conversation}`, change);
    if (!this.#isAway) this.#store();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    if (this.#again !== null) clearTimeout(this.#again);
    this.#store();
    await this.#work;
    await this.#items.close();
  }

  #store(): void {
    this.#work = this.#work.then(() => this.#storeAll());
  }

  async #storeAll(): Promise<void> {
    const { log } = this.#options;
    try {
      if (this.#isAway) await this.#items.sync(); // others may have stored later changes
      for (const [id, change] of this.#unstored) {
        const { conversation: _, holder: __, ...value } = change;
        const { atMs } = value;
        const put = { kind: KIND, id, createdMs: atMs, updatedMs: atMs, revision: 0, value } as const;
        await this.#items.apply([{ remove: { kind: KIND, id } }, { put }]); // whatever others have kept of it
        if (this.#unstored.get(id) === change) this.#unstored.delete(id);
        this.#storedSinceForgetting += 1;
      }
      if (this.#storedSinceForgetting >= FORGET_EVERY) await this.#forgetOld();
      this.#isAway = false;
    } catch (err) {
      if (!this.#isAway) log.warn({ err }, 'other processes do not learn yet what the brake has stopped');
      this.#isAway = true;
      if (!this.#isClosed) this.#again = setTimeout(() => this.#store(), RETRY_MS).unref();
    }
  }

  #tell({ id, value }: Item): void {
    const space = id.indexOf(' ');
    const { atMs, stopped, bytes } = value as Partial<StopChange>;
    if (space < 0 || typeof atMs !== 'number' || stopped === undefined) return;
    if ((this.#unstored.get(id)?.atMs ?? Infinity) < atMs) this.#unstored.delete(id);
    if (stopped !== null && !BRAKE_RULES.includes(stopped.rule)) return; // of another version
    const change = { conversation: id.slice(space + 1), holder: id.slice(0, space), atMs, stopped };
    this.#options.told(bytes === undefined ? change : { ...change, bytes });
  }
}

type Item = SharedItem<typeof KIND>;
