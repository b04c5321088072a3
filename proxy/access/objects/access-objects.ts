// The objects of access in service: the directory that calls read, and the store behind it that changes go to first. A change
// is in the directory when it is durable, and in the directories of the other processes when their store tells them, within
// a second. A store that is away refuses changes and hinders no call; one that has not been read yet makes unknown keys
// "not known yet", never wrong.
import { setTimeout as wait } from 'node:timers/promises';
import { atMost } from '../../base/within.ts';
import { Fault } from '../../errors/fault.ts';
import { AccessDirectory, type ObjectName } from './directory.ts';
import type { AccessObject, ObjectChange, ObjectRevision } from './objects.ts';
import { NameTaken } from './unique-names.ts';

/** Somebody has changed one of the objects since it was read, or made one of that id: nothing was changed. Read again. */
export class ObjectConflict extends Error {
  override readonly name = 'ObjectConflict';
}

/** The objects of this process, and how they are changed for all. */
export interface AccessObjects {
  readonly directory: AccessDirectory;
  /** Whether everything that is stored is in the directory. Before that, a key that it does not hold may still exist. */
  readonly isLoaded: boolean;
  /**
   * All or none; durable and in the directory when it resolves. Objects are put with the revision that they were read with, 0
   * for new ones; the directory then holds the next.
   * @param unchanged what the changes count on: a conflict when one of them is another by then, or gone
   * @throws ObjectConflict, NameTaken, Fault store_unavailable
   */
  change(changes: readonly ObjectChange[], unchanged?: readonly ObjectRevision[]): Promise<void>;
  /**
   * Resolves when what any process had changed before this call is in the directory: administration asks one process after
   * the other. Never rejects; a store that does not answer in time is not waited for.
   */
  sync(): Promise<void>;
  /** `sync`, for a key that was not found; null = no other process shares the store, so nothing is missing. */
  catchUp(): Promise<void> | null;
  /** The objects of the configuration file that serves from now on, in place of those of the one before. */
  takeFile(objects: readonly AccessObject[]): void;
  /**
   * Stores with the keys that were made before the file stated their team that it has: at the next start it may be gone from
   * there. Never rejects.
   */
  bindKeys(): Promise<void>;
}

/** Is told what this and the other processes have stored and removed. */
export interface ObjectListener {
  stored(object: AccessObject): void;
  removed(name: ObjectName): void;
}

/** Where objects are kept. Every call may reject: the store does not answer. */
export interface ObjectStore {
  /** All of them, in parts; what is changed from the first part on is told to `listener`. */
  load(listener: ObjectListener): AsyncIterable<readonly AccessObject[]>;
  /**
   * All or none, on the disk when it resolves; puts store the revision after the one that they state.
   * @param before an object as this process knows it. @throws NameTaken
   */
  apply(
    changes: readonly ObjectChange[],
    before: (name: ObjectName) => AccessObject | null,
    unchanged: readonly ObjectRevision[],
  ): Promise<'applied' | 'conflict'>;
  /** Resolves when the listener has been told of all that was stored before. */
  sync(): Promise<void>;
  /** Other processes may change what is stored. */
  readonly isShared: boolean;
  close(): Promise<void>;
}

/** What happens to the store that an operator should know of. */
export interface StoreEvents {
  /** The objects could not be read; it is tried again every second. */
  loadFailed(error: unknown): void;
  loaded(count: number): void;
  /** A stored object has no effect: the configuration file states one of that id. */
  hidden(name: ObjectName): void;
}

const CHANGED = 'an object was changed since it was read';
const RETRY_MS = 1_000;
/** In one transaction. A conflict leaves the others of its change to the next start. */
const KEYS_OF_CHANGE = 100;
/** A start with a database that does not answer goes on without the objects after this time. */
const START_MS = 5_000;
/** Callers of administration wait five seconds for an answer. */
const SYNC_MS = 2_000;
/** Whoever guesses keys makes the process ask its store 20 times a second, however many they are. */
const CATCH_UP_MS = 50;

/** The objects of a store. */
export class StoredObjects implements AccessObjects {
  readonly directory = new AccessDirectory();
  readonly #store: ObjectStore;
  readonly #events: StoreEvents;
  readonly #ended = new AbortController();
  #isLoaded = false;
  /** Has not begun to ask; null: nobody waits for one. */
  #nextCatchUp: Promise<void> | null = null;
  /** By `performance.now()`. */
  #caughtUpAt = -Infinity;

  private constructor(store: ObjectStore, events: StoreEvents) {
    this.#store = store;
    this.#events = events;
  }

  /** Resolves when the objects are loaded, or when the store cannot be read or lets wait too long: it is asked again then. */
  static async open(
    store: ObjectStore,
    events: StoreEvents = SILENT,
    withinMs = START_MS,
  ): Promise<StoredObjects> {
    const objects = new StoredObjects(store, events);
    const first = Promise.withResolvers<void>();
    void objects.#load(first.resolve);
    await atMost(withinMs, first.promise);
    return objects;
  }

  /** Objects that end with the process: for tests and commands. */
  static inMemory(objects: readonly AccessObject[] = []): StoredObjects {
    const stored = new StoredObjects(new MemoryObjectStore(objects), SILENT);
    for (const object of objects) stored.directory.put(object);
    stored.#isLoaded = true;
    return stored;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  async change(changes: readonly ObjectChange[], unchanged: readonly ObjectRevision[] = []): Promise<void> {
    if (!this.#isLoaded) throw unavailable(null);
    for (const change of changes) refuseFileObject(this.directory, change);
    const before = (name: ObjectName): AccessObject | null => this.directory.stored(name);
    const result = await this.#store.apply(changes, before, unchanged).catch((cause: unknown) => {
      throw cause instanceof NameTaken ? cause : unavailable(cause);
    });
    if (result === 'conflict') throw new ObjectConflict(CHANGED);
    for (const change of changes) {
      if ('remove' in change) this.directory.remove(change.remove);
      else this.#stored(Object.freeze({ ...change.put, origin: 'store', revision: change.put.revision + 1 }));
    }
  }

  async sync(): Promise<void> {
    await atMost(SYNC_MS, this.#store.sync());
  }

  catchUp(): Promise<void> | null {
    return this.#store.isShared ? (this.#nextCatchUp ??= this.#pacedSync()) : null;
  }

  async #pacedSync(): Promise<void> {
    const waitMs = this.#caughtUpAt + CATCH_UP_MS - performance.now();
    await (waitMs > 0 ? wait(waitMs, undefined, { ref: false }) : null);
    this.#nextCatchUp = null; // what is asked from now on may have to know more
    this.#caughtUpAt = performance.now();
    await this.sync();
  }

  takeFile(objects: readonly AccessObject[]): void {
    for (const object of this.directory.takeFile(objects)) this.#events.hidden(object);
  }

  async bindKeys(): Promise<void> {
    const ids = this.directory.unboundKeys().map(({ id }) => id);
    for (let from = 0; from < ids.length && !this.#ended.signal.aborted; from += KEYS_OF_CHANGE) {
      const changes = ids.slice(from, from + KEYS_OF_CHANGE).flatMap((id): ObjectChange[] => {
        const key = this.directory.key(id); // as it is by then
        return key === null || key.needsTeam ? [] : [{ put: { ...key, needsTeam: true } }];
      });
      // Where another process changes one of them, or the store is away, the next start or reload tries again.
      if (changes.length > 0) await this.change(changes).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#store.close();
  }

  /** @param tried called after the first attempt */
  async #load(tried: () => void): Promise<void> {
    const listener: ObjectListener = {
      stored: (object) => this.#stored(object),
      removed: (name) => this.directory.remove(name),
    };
    for (let attempts = 1; !this.#ended.signal.aborted; attempts += 1) {
      try {
        const count = await this.#loadOnce(listener);
        this.#isLoaded = true;
        this.#events.loaded(count);
        tried();
        return;
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        if (attempts === 1) this.#events.loadFailed(error);
        tried();
        await pause(RETRY_MS, this.#ended.signal);
      }
    }
  }

  /** @return how many there are */
  async #loadOnce(listener: ObjectListener): Promise<number> {
    let count = 0;
    for await (const part of this.#store.load(listener)) {
      for (const object of part) this.#stored(object);
      count += part.length;
    }
    return count;
  }

  /** What is told may be older than what this process has stored itself meanwhile. */
  #stored(object: AccessObject): void {
    if (this.directory.putNewer(object)) this.#events.hidden(object);
  }
}

function refuseFileObject(directory: AccessDirectory, change: ObjectChange): void {
  const name = 'put' in change ? change.put : change.remove;
  if (directory.get(name)?.origin !== 'file') return;
  const { kind, id } = name;
  throw new Fault(
    'object_in_config',
    `The ${kind} ${id} is stated in the configuration file, which the API does not change; edit the file.`,
  );
}

function unavailable(cause: unknown): Fault {
  return new Fault(
    'store_unavailable',
    'The store of keys, teams and users does not answer; nothing was changed.',
    {
      headers: [['retry-after', '1']],
      ...(cause === null ? {} : { cause }),
    },
  );
}

const SILENT: StoreEvents = {
  loadFailed: () => undefined,
  loaded: () => undefined,
  hidden: () => undefined,
};

/** Resolves after the time, or when the signal says so; keeps no process alive. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms).unref();
  signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  return promise;
}

/** Objects of a process alone, gone when it ends. */
class MemoryObjectStore implements ObjectStore {
  readonly isShared = false;
  readonly #objects = new Map<string, AccessObject>();

  constructor(objects: readonly AccessObject[]) {
    for (const object of objects) this.#objects.set(`${object.kind}/${object.id}`, object);
  }

  async *load(): AsyncGenerator<readonly AccessObject[]> {
    yield [...this.#objects.values()];
  }

  async apply(
    changes: readonly ObjectChange[],
    _before: unknown,
    unchanged: readonly ObjectRevision[],
  ): Promise<'applied' | 'conflict'> {
    const named = changes.map((change) => ('put' in change ? change.put : change.remove));
    const isCurrent = ({ kind, id, revision }: ObjectRevision): boolean =>
      (this.#objects.get(`${kind}/${id}`)?.revision ?? 0) === revision;
    if (![...named, ...unchanged].every(isCurrent)) return 'conflict';
    for (const change of changes) {
      if ('remove' in change) this.#objects.delete(`${change.remove.kind}/${change.remove.id}`);
      else {
        const { put } = change;
        this.#objects.set(`${put.kind}/${put.id}`, { ...put, revision: put.revision + 1 });
      }
    }
    return 'applied';
  }

  async sync(): Promise<void> {
    // nobody else changes anything
  }

  async close(): Promise<void> {
    // nothing is held
  }
}
