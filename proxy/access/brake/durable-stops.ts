// Keeps stopped conversations in the items that processes share, in `brake.db` of the data directory or in the tables `brake_*`:
// a stop outlives a restart, and holds in all workers and servers within a second. A store that is away delays that, and no call.
import { BRAKE_RULES } from '../../../config/brake-settings.ts';
import { SharedItems, type SharedItem } from '../../items/shared-items.ts';
import type { StopChange, StopKeeper } from './stops.ts';

const KIND = 'conversation';
const RETRY_MS = 5_000;

type Shared = Omit<ConstructorParameters<typeof SharedItems<typeof KIND>>[0], 'name' | 'kinds'>;

interface StopsOptions extends Shared {
  /** Is told of what this and other processes have kept, old news too. */
  readonly told: (change: StopChange) => void;
}

export class DurableStops implements StopKeeper {
  readonly #items: SharedItems<typeof KIND>;
  readonly #options: StopsOptions;
  /** Writes, one after the other. */
  #work: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | null = null;
  #opened: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: StopsOptions) {
    this.#options = options;
    this.#items = new SharedItems({ ...options, name: 'brake', kinds: [KIND] });
  }

  /** Resolves when what was kept is told, or cannot be read now: it is tried again then. */
  open(idleMs: number): Promise<void> {
    return (this.#opened ??= this.#load(idleMs));
  }

  async #load(idleMs: number): Promise<void> {
    const { told, clock, log } = this.#options;
    try {
      const listener = { stored: (item: Item) => tell(item, told), removed: () => undefined };
      const old: string[] = [];
      for await (const page of this.#items.load(listener))
        for (const item of page)
          if (item.updatedMs < clock.now() - idleMs) old.push(item.id);
          else tell(item, told);
      if (old.length > 0) this.#write(old.map((id) => ({ remove: { kind: KIND, id } })));
    } catch (err) {
      if (this.#isClosed) return;
      log.warn({ err }, 'conversations that the brake had stopped cannot be read yet');
      this.#retry = setTimeout(() => void this.#load(idleMs), RETRY_MS).unref();
    }
  }

  keep({ conversation, keyHash, ...value }: StopChange): void {
    const id = `${keyHash} ${conversation}`;
    const { atMs } = value;
    const put = { kind: KIND, id, createdMs: atMs, updatedMs: atMs, revision: 0, value } as const;
    this.#write([{ remove: { kind: KIND, id } }, { put }]); // whatever others have kept of it
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    await this.#work;
    await this.#items.close();
  }

  #write(changes: Parameters<SharedItems<typeof KIND>['apply']>[0]): void {
    const { log } = this.#options;
    this.#work = this.#work
      .then(async () => void (await this.#items.apply(changes)))
      .catch((err: unknown) => log.warn({ err }, 'other processes do not learn what the brake has stopped'));
  }
}

type Item = SharedItem<typeof KIND>;

function tell({ id, value }: Item, told: (change: StopChange) => void): void {
  const space = id.indexOf(' ');
  const { atMs, stopped } = value as Partial<StopChange>;
  if (space < 0 || typeof atMs !== 'number' || stopped === undefined) return;
  if (stopped !== null && !BRAKE_RULES.includes(stopped.rule)) return; // of another version
  told({ conversation: id.slice(space + 1), keyHash: id.slice(0, space), atMs, stopped });
}
