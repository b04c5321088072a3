// The processes that share one store: which of them are alive, and what they have changed. With a file that this process
// has for itself there are no others and nothing runs. An LLM call with a known key never waits for this.
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../config/error-code.ts';
import type { Clock } from '../base/clock.ts';
import { atMost, within } from '../base/within.ts';
import type { Log } from '../observability/logger.ts';
import { allItems } from './all-items.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import type { Item, ItemStore, News, Removed } from './item-store.ts';

interface ReplicasOptions {
  readonly store: ItemStore;
  /** Must exist. */
  readonly dataDir: string;
  /** Of a server with several processes: which of them this is, and how many there are; null = the only one. */
  readonly worker: { readonly number: number; readonly count: number } | null;
  /** Of the program, for people; absent = nobody shows it. */
  readonly version?: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A process that shares the store, for people. */
export interface KnownProcess {
  /** Of its data directory: the same for all processes of a server. */
  readonly server: string;
  /** Its host's name. */
  readonly name: string;
  /** null: it does not say. */
  readonly version: string | null;
  /** Epoch milliseconds; null: it does not say. */
  readonly startedMs: number | null;
  /** Its last sign of life, by the clock of this process. */
  readonly seenMs: number;
}

/** Is told what others have stored and removed, and again what this server has. */
export interface ChangeListener<K extends string = string> {
  stored(item: Item<K>): void;
  removed(gone: Removed<K>): void;
}

interface Other extends Omit<KnownProcess, 'server' | 'seenMs'> {
  /** Monotonic. */
  readonly seenMs: number;
}

/** How long a removed key goes on being taken by the others: one question of 0.3 ms each time. */
const LOOK_MS = 250;
/** The same where the database tells of changes: such a question finds out that the connection is lost. */
const TOLD_LOOK_MS = 1_000;
const HEARTBEAT_MS = 10_000;
/** Three beats: one may be late, two are no accident. */
const SILENT_MS = 30_000;
/** An LLM call with an unknown key waits no longer for the store. */
const SYNC_TIMEOUT_MS = 5_000;
/** A server that ends does not wait longer for a database that is away; the others notice its silence. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Clocks of two machines may differ by seconds. */
const FRESH_MS = 60_000;
/** What has been silent for so long does not come back; clocks that differ by hours are broken. */
const FORGOTTEN_MS = 86_400_000;
const FILE = 'replica-id';
const RESTORED =
  'the database is older than what this server has read from it, as after a restore: keys, teams and users that it ' +
  'holds in memory are not those of the database - restart all servers';
/** The kind of a server's own item: its user shares it as it does the kinds that it remembers. */
export const HEARTBEAT = 'replica';

export class Replicas {
  readonly #options: ReplicasOptions;
  /** Marks what belongs to this server; '' = there are no others. */
  readonly own: string;
  readonly #others = new Map<string, Other>();
  readonly #followers = new Map<string, ChangeListener>();
  #number: number | null;
  #revision = 0;
  /** How often, one after the other, somebody else had changed its own row. */
  #overwritten = 0;
  #looking: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #troubled = false;
  #timers: readonly NodeJS.Timeout[] = [];
  /** Whether the store tells of changes by itself. */
  #isTold = false;

  private constructor(options: ReplicasOptions, own: string, number: number | null) {
    this.#options = options;
    this.own = own;
    this.#number = number;
  }

  /** What is stored from now on will be told; what there is must be read after this. @throws StoreUnavailable */
  static async open(options: ReplicasOptions): Promise<Replicas> {
    const { store, dataDir, worker } = options;
    let wake = (): void => undefined;
    const isTold = await store.listen?.(() => wake());
    const first = await store.news(null);
    const isShared = store.listen !== undefined || (worker?.count ?? 1) > 1;
    if (first === null || !isShared) return new Replicas(options, '', null);
    const number = worker === null ? '' : `-${worker.number}`;
    const replicas = new Replicas(options, `${identityOf(dataDir)}${number}`, first.number);
    wake = () => replicas.#lookNow();
    replicas.#isTold = isTold === true;
    if (replicas.#hasHeartbeat) await replicas.#meetOthers();
    return replicas;
  }

  get alone(): boolean {
    return this.own === '';
  }

  follow(kind: string, follower: ChangeListener): void {
    this.#followers.set(kind, follower);
  }

  /** Begins to look and to be seen. */
  start(): void {
    if (this.alone) return;
    if (this.#hasHeartbeat && !this.#isTold)
      this.#options.log.info(
        `the database cannot tell of changes by other servers, as behind a connection pooler; it is asked every ${LOOK_MS} ms`,
      );
    this.#timers = [
      setInterval(() => this.#lookNow(), this.#isTold ? TOLD_LOOK_MS : LOOK_MS).unref(),
      ...(this.#hasHeartbeat ? [setInterval(() => this.#act(this.#heartbeat()), HEARTBEAT_MS).unref()] : []),
    ];
    this.#lookNow(); // others may have made changes since this was opened
  }

  /** Settles when what anybody had stored before this call is known here. @throws StoreUnavailable */
  sync(): Promise<void> {
    if (this.alone) return Promise.resolve();
    if (this.#looking === null) {
      this.#looking = this.#look().finally(() => (this.#looking = null));
      return this.#looking;
    }
    // The look that is under way may have begun before: all who come now share the one after it.
    this.#next ??= this.#looking.then(
      () => this.#again(),
      () => this.#again(),
    );
    return this.#next;
  }

  /** `sync` for those who do not wait long. @throws StoreUnavailable */
  syncBriefly(): Promise<void> {
    return within(SYNC_TIMEOUT_MS, this.sync(), () => {
      throw new StoreUnavailable('unavailable', `the store did not answer within ${SYNC_TIMEOUT_MS} ms`);
    });
  }

  /** Whether the server that this belongs to has been heard of lately. */
  isAlive(owner: string): boolean {
    if (owner === this.own) return true;
    const seenMs = this.#others.get(owner)?.seenMs ?? -Infinity;
    return this.#options.clock.mono() - seenMs < SILENT_MS;
  }

  /** Processes that share the store and are alive, this one included. */
  get count(): number {
    if (!this.#hasHeartbeat) return this.#options.worker?.count ?? 1;
    return 1 + [...this.#others.keys()].filter((id) => this.isAlive(id)).length;
  }

  /** The other processes that have been heard of, for as long as this one remembers them. */
  get others(): readonly KnownProcess[] {
    const { clock } = this.#options;
    const [mono, now] = [clock.mono(), clock.now()];
    return Array.from(this.#others, ([id, { seenMs, ...other }]) => ({
      ...other,
      server: serverOf(id),
      seenMs: now - (mono - seenMs),
    }));
  }

  /** Its host's name, for people. */
  nameOf(owner: string): string {
    return this.#others.get(owner)?.name ?? 'that is gone';
  }

  /** Tells the others that this server ends. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    if (this.alone) return;
    await this.#looking?.catch(() => undefined);
    if (!this.#hasHeartbeat) return;
    const said = this.#options.store
      .apply([{ remove: { kind: HEARTBEAT, id: this.own } }])
      .catch((err: unknown) => this.#logFailure(err));
    await atMost(CLOSE_TIMEOUT_MS, said);
  }

  /** In a file, the processes of one server share it, and their supervisor knows them. */
  get #hasHeartbeat(): boolean {
    return !this.alone && this.#options.store.listen !== undefined;
  }

  #lookNow(): void {
    // Not before `start` and not after `close`: nobody would be told.
    if (this.#timers.length > 0) this.#act(this.sync());
  }

  #act(doing: Promise<void>): void {
    void doing.then(
      () => this.#recover(),
      (err: unknown) => this.#logFailure(err),
    );
  }

  async #meetOthers(): Promise<void> {
    const { store, clock } = this.#options;
    const gone: Item[] = [];
    for await (const item of allItems(store, HEARTBEAT)) {
      if (clock.now() - item.updatedMs < FORGOTTEN_MS) this.#noteHeartbeat(item);
      else gone.push(item);
    }
    // Servers that were killed and came back under other names: containers without a disk of their own.
    if (gone.length > 0) await store.apply(gone.map(({ kind, id }) => ({ remove: { kind, id } })));
    await this.#heartbeat();
  }

  #again(): Promise<void> {
    this.#next = null;
    return this.sync();
  }

  async #look(): Promise<void> {
    for (let isPart = true; isPart;) {
      const news = await this.#options.store.news(this.#number);
      if (news === null) return;
      this.#tell(news);
      if (news.number < (this.#number ?? 0)) this.#options.log.error(RESTORED);
      this.#number = news.number;
      isPart = news.isPart;
    }
  }

  #tell({ stored, removed }: News): void {
    for (const item of stored) {
      if (item.kind === HEARTBEAT) this.#noteHeartbeat(item);
      else this.#followers.get(item.kind)?.stored(item);
    }
    for (const gone of removed) {
      if (gone.kind === HEARTBEAT) this.#others.delete(gone.id);
      else this.#followers.get(gone.kind)?.removed(gone);
    }
  }

  #noteHeartbeat({ id, body }: Item): void {
    if (id === this.own) return;
    this.#others.set(id, { ...heartbeatOf(body), seenMs: this.#options.clock.mono() });
  }

  async #heartbeat(): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    const item: Item = {
      kind: HEARTBEAT,
      id: this.own,
      userId: '',
      createdMs: nowMs,
      updatedMs: nowMs,
      title: null,
      link: null,
      parent: null,
      body: heartbeatText(this.#options.version),
      sealed: null,
      revision: this.#revision,
    };
    if ((await store.apply([{ put: item }])) === 'applied') {
      this.#revision += 1;
      this.#overwritten = 0;
      return;
    }
    // A former life of this server left its row, or the database is an older one. Once more, and somebody else writes it.
    const [left = null] = await store.get(HEARTBEAT, [this.own]);
    this.#revision = left?.revision ?? 0;
    this.#overwritten += 1;
    if (this.#overwritten === 2 && left !== null && left.body !== item.body)
      this.#tellOfCopy(heartbeatOf(left.body).name);
  }

  #tellOfCopy(name: string): void {
    this.#options.log.error(
      `another server (${name}) has the same replica-id: the data directory of one is a copy of the other's - stop one ` +
        `of them, remove replica-id and journal/ from its data directory, and start it again`,
    );
  }

  #logFailure(err: unknown): void {
    // An outage is one line; a bug keeps its stack.
    const why = err instanceof StoreUnavailable ? { why: err.message } : { err };
    if (!this.#troubled) this.#options.log.error(why, 'changes of other servers are not known');
    this.#troubled = true;
  }

  /** Nobody could be seen meanwhile, which is no sign of their end. */
  #recover(): void {
    if (!this.#troubled) return;
    this.#troubled = false;
    const seenMs = this.#options.clock.mono();
    for (const [id, other] of this.#others) this.#others.set(id, { ...other, seenMs });
    this.#options.log.info('changes of other servers are known again');
  }
}

/** Host names of the servers that use this store now. @throws StoreUnavailable */
export async function runningOn(store: ItemStore, nowMs: number): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { updatedMs, body } of allItems(store, HEARTBEAT)) {
    if (nowMs - updatedMs < FRESH_MS) names.push((JSON.parse(body) as { readonly name: string }).name);
  }
  return names;
}

/** What a process says of itself: other versions say less, or more. */
export function heartbeatText(version = ''): string {
  return JSON.stringify({ name: hostname(), version, started_ms: Math.round(performance.timeOrigin) });
}

export function heartbeatOf(text: string): Pick<KnownProcess, 'name' | 'version' | 'startedMs'> {
  const { name, version, started_ms } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return {
    name: String(name),
    version: typeof version === 'string' && version !== '' ? version : null,
    startedMs: typeof started_ms === 'number' ? started_ms : null,
  };
}

/** Of a process: its number, where there are several, follows a dash. */
export const serverOf = (process: string): string => process.replace(/-\d+$/, '');

/** Stays with the data directory: after a restart, what belonged to this server does so again. */
export function identityOf(dataDir: string): string {
  const file = join(dataDir, FILE);
  let text = '';
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  if (/^[0-9a-f]{32}$/.test(text)) return text;
  const id = randomUUID().replaceAll('-', '');
  writeFileSync(file, `${id}\n`, { mode: 0o600 });
  return id;
}
