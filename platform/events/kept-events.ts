// Events of conversations that outlive their sandbox, as far as `platform.events` says. They hold prompts and answers: each
// conversation has a key of its own, sealed in its log, under which its events are sealed; without the log they are noise.
import { randomBytes } from 'node:crypto';
import type { EventSettings } from '../../config/platform-settings.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import { sealerWith, type Log, type Sealer } from '../../proxy/server/mount.ts';
import type { Conversation } from '../conversations/conversation.ts';
import { KeyedQueue } from '../../proxy/base/keyed-queue.ts';
import { allItems } from '../../proxy/server/mount.ts';
import type { Change, Filter, Item, PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import type { EventPage, NewEvent } from './event.ts';

/** Which events; absent = no condition. */
export interface EventFilter {
  readonly kind?: string;
  /** Half open, epoch milliseconds. */
  readonly fromMs?: number;
  readonly beforeMs?: number;
}

export interface EventPart {
  readonly order: 'oldest' | 'newest';
  /** Id of the first event; one that is not there is the first of all, as on the agent server. */
  readonly from: string | null;
  readonly limit: number;
}

interface KeptEventsOptions {
  readonly settings: EventSettings;
  readonly store: PlatformStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is known of a conversation's events without opening one. */
interface EventLog {
  readonly item: Item;
  readonly sealer: Sealer;
  readonly body: LogBody;
}

interface LogBody {
  readonly events: number;
  readonly bytes: number;
  /** Of the newest event, epoch milliseconds. */
  readonly lastMs: number;
}

const SWEEP_MS = 3_600_000;
/** Items that are read or removed at once. */
const PAGE = 200;
const ATTEMPTS = 5;
const KEY_BYTES = 32;

export class KeptEvents {
  readonly #options: KeptEventsOptions;
  #settings: EventSettings;
  readonly #queue = new KeyedQueue();
  /** Bytes of all conversations, as of the last sweep and with what this server has stored since. */
  #total = 0;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: KeptEventsOptions) {
    this.#options = options;
    this.#settings = options.settings;
  }

  /** Removes what is too old in the background, now and each hour. */
  start(): void {
    this.#sweepSoon();
    this.#timer = setInterval(() => this.#sweepSoon(), SWEEP_MS).unref();
  }

  reconfigure(settings: EventSettings): void {
    this.#settings = settings;
    this.#sweepSoon();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer ?? undefined);
    await this.#sweeping;
    await this.#queue.drained();
  }

  /** Stores what is not stored yet. Does nothing while events are not kept. */
  async keep(
    { id, userId }: Pick<Conversation, 'id' | 'userId'>,
    events: readonly NewEvent[],
  ): Promise<void> {
    if (!this.#settings.keep || events.length === 0) return;
    const bytes = await this.#queue.run(id, () => this.#keep(id, userId, events));
    this.#total += bytes;
    if (this.#total > this.#settings.maxTotalBytes) this.#sweepSoon();
  }

  /** null = nothing is kept of this conversation. */
  async search(id: string, filter: EventFilter, part: EventPart): Promise<EventPage | null> {
    const log = await this.#logOf(id);
    if (log === null) return null;
    const order = part.order === 'oldest' ? 'created' : 'created_desc';
    const first = part.from === null ? null : await this.#itemOf(id, part.from);
    const bounds = first === null ? {} : boundsFrom(first.createdMs, part.order);
    const found = await this.#options.store.search(storeFilter(id, narrowed(filter, bounds)), {
      order,
      offset: 0,
      limit: part.limit + 1,
    });
    const next = found[part.limit];
    return {
      items: found.slice(0, part.limit).flatMap((item) => opened(log, item) ?? []),
      next_page_id: next === undefined ? null : next.id.slice(id.length + 1),
    };
  }

  /** null = nothing is kept of this conversation. */
  async count(id: string, filter: EventFilter): Promise<number | null> {
    const [found = null] = await this.#options.store.get('event_log', [id]);
    return found === null ? null : this.#options.store.count(storeFilter(id, filter));
  }

  /** In the order of the ids, null for those that are not there; null = nothing is kept of this conversation. */
  async get(id: string, eventIds: readonly string[]): Promise<readonly unknown[] | null> {
    const log = await this.#logOf(id);
    if (log === null) return null;
    const items = await this.#options.store.get(
      'event',
      eventIds.map((eventId) => `${id}/${eventId}`),
    );
    return items.map((item) => (item === null ? null : opened(log, item)));
  }

  /** Removes all events of a conversation. */
  forget(id: string): Promise<void> {
    return this.#queue.run(id, () => this.#forget(id));
  }

  async #keep(id: string, userId: string, events: readonly NewEvent[]): Promise<number> {
    const { store } = this.#options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const log = (await this.#logOf(id)) ?? this.#newLog(id, userId);
      const known = await store.get(
        'event',
        events.map((event) => `${id}/${event.id}`),
      );
      const fresh = events.filter((_, index) => known[index] === null);
      const changes = await this.#changesFor(log, fresh);
      if (changes === null) return 0;
      if ((await store.apply(changes.all)) === 'applied') return changes.bytes;
    }
    this.#options.log.warn({ conversation: id }, 'events were not kept: others write the same ones');
    return 0;
  }

  /** null = nothing to store. */
  async #changesFor(
    log: EventLog,
    fresh: readonly NewEvent[],
  ): Promise<{ readonly all: readonly Change[]; readonly bytes: number } | null> {
    const { clock } = this.#options;
    const { maxEvents, maxBytes } = this.#settings;
    const nowMs = clock.now();
    let { events, bytes, lastMs } = log.body;
    const puts: Change[] = [];
    const taken = new Set<string>();
    for (const event of fresh) {
      const text = JSON.stringify(event.value);
      const size = Buffer.byteLength(text);
      if (taken.has(event.id) || size > maxBytes) continue;
      taken.add(event.id);
      // Two events of one millisecond keep their order: the later one counts as a millisecond later.
      lastMs = Math.max(Math.min(event.statedMs ?? nowMs, nowMs), lastMs + 1);
      const item = eventItem(log, event, { createdMs: lastMs, nowMs, bytes: size });
      puts.push({ put: { ...item, sealed: log.sealer.seal(text, `event/${item.id}`) } });
      events += 1;
      bytes += size;
    }
    if (puts.length === 0) return null;
    const oldest = await this.#oldest(log.item.id, events - maxEvents, bytes - maxBytes);
    events -= oldest.length;
    for (const one of oldest) bytes -= bytesOf(one);
    const body = JSON.stringify({ events, bytes, lastMs } satisfies LogBody);
    const all: Change[] = [
      { put: { ...log.item, updatedMs: nowMs, body } },
      ...oldest.map((one) => ({ remove: { kind: one.kind, id: one.id } })),
      ...puts,
    ];
    return { all, bytes: bytes - log.body.bytes };
  }

  /** So many, and of so many bytes, that the conversation is within its bounds without them. */
  async #oldest(id: string, events: number, bytes: number): Promise<readonly Item[]> {
    const found: Item[] = [];
    let freed = 0;
    while (found.length < events || freed < bytes) {
      const part = { order: 'created', offset: found.length, limit: PAGE } as const;
      const page = await this.#options.store.search(storeFilter(id, {}), part);
      if (page.length === 0) return found;
      for (const item of page) {
        if (found.length >= events && freed >= bytes) break;
        found.push(item);
        freed += bytesOf(item);
      }
    }
    return found;
  }

  async #forget(id: string): Promise<void> {
    const { store } = this.#options;
    for (;;) {
      const part = { order: 'created', offset: 0, limit: PAGE } as const;
      const page = await store.search({ kind: 'event', link: id }, part);
      if (page.length === 0) break;
      await store.apply(page.map((item) => ({ remove: { kind: 'event', id: item.id } })));
    }
    await store.apply([{ remove: { kind: 'event_log', id } }]);
  }

  #sweepSoon(): void {
    this.#sweeping = this.#sweeping
      .then(() => this.#sweep())
      .catch((err: unknown) => this.#options.log.error({ err }, 'kept events were not cleared up'));
  }

  /** Removes conversations that are too old, and then the oldest until the rest fits. */
  async #sweep(): Promise<void> {
    const { store, clock } = this.#options;
    const { keep, maxAgeMs, maxTotalBytes } = this.#settings;
    const oldestMs = keep ? clock.now() - maxAgeMs : Infinity;
    const logs: { readonly id: string; readonly updatedMs: number; readonly bytes: number }[] = [];
    for await (const { id, updatedMs, body } of allItems(store, 'event_log'))
      logs.push({ id, updatedMs, bytes: (JSON.parse(body) as LogBody).bytes });
    let total = logs.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { id, updatedMs, bytes } of logs.toSorted((a, b) => a.updatedMs - b.updatedMs)) {
      if (updatedMs >= oldestMs && total <= maxTotalBytes) break;
      await this.forget(id);
      total -= bytes;
    }
    this.#total = total;
  }

  #newLog(id: string, userId: string): EventLog {
    const { vault, clock } = this.#options;
    const nowMs = clock.now();
    const key = randomBytes(KEY_BYTES);
    const item: Item = {
      kind: 'event_log',
      id,
      userId,
      createdMs: nowMs,
      updatedMs: nowMs,
      title: null,
      link: null,
      parent: null,
      body: '{}',
      sealed: vault.seal('event_log', id, { key: key.toString('base64') }),
      revision: 0,
    };
    return { item, sealer: sealerWith(key), body: { events: 0, bytes: 0, lastMs: 0 } };
  }

  async #logOf(id: string): Promise<EventLog | null> {
    const [item = null] = await this.#options.store.get('event_log', [id]);
    if (item === null) return null;
    const key = Buffer.from(this.#options.vault.open(item)['key'] ?? '', 'base64');
    return { item, sealer: sealerWith(key), body: JSON.parse(item.body) as LogBody };
  }

  async #itemOf(id: string, eventId: string): Promise<Item | null> {
    const [item = null] = await this.#options.store.get('event', [`${id}/${eventId}`]);
    return item;
  }
}

const bytesOf = ({ body }: Item): number => (JSON.parse(body) as { readonly bytes: number }).bytes;

function eventItem(
  { item: log }: EventLog,
  event: NewEvent,
  { createdMs, nowMs, bytes }: { readonly createdMs: number; readonly nowMs: number; readonly bytes: number },
): Item {
  return {
    kind: 'event',
    id: `${log.id}/${event.id}`,
    userId: log.userId,
    createdMs,
    updatedMs: nowMs,
    title: null,
    link: log.id,
    parent: `${log.id}/${event.kind}`,
    body: JSON.stringify({ bytes }),
    sealed: null,
    revision: 0,
  };
}

/** The events of one kind have a parent of their own, so that an index finds them. */
function storeFilter(id: string, { kind, fromMs, beforeMs }: EventFilter): Filter {
  return {
    kind: 'event',
    ...(kind === undefined ? { link: id } : { parents: [`${id}/${kind}`] }),
    ...(fromMs === undefined ? {} : { createdFromMs: fromMs }),
    ...(beforeMs === undefined ? {} : { createdBeforeMs: beforeMs }),
  };
}

const boundsFrom = (ms: number, order: EventPart['order']): EventFilter =>
  order === 'oldest' ? { fromMs: ms } : { beforeMs: ms + 1 };

/** Both at once. */
function narrowed(a: EventFilter, b: EventFilter): EventFilter {
  return {
    ...a,
    ...(b.fromMs === undefined ? {} : { fromMs: Math.max(a.fromMs ?? b.fromMs, b.fromMs) }),
    ...(b.beforeMs === undefined ? {} : { beforeMs: Math.min(a.beforeMs ?? b.beforeMs, b.beforeMs) }),
  };
}

/** null = its bytes were changed, or it was sealed under a log that is gone. */
function opened({ sealer }: EventLog, { id, sealed }: Item): unknown {
  const text = sealed === null ? null : sealer.open(sealed, `event/${id}`);
  return text === null ? null : JSON.parse(text);
}
