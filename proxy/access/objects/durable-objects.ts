// Keeps the objects of access in the items that processes share: in `access.db` of the data directory, or in the tables
// `access_*` of the shared database.
import type { KnownProcess } from '../../items/replicas.ts';
import { SharedItems } from '../../items/shared-items.ts';
import type { ObjectListener, ObjectStore } from './access-objects.ts';
import type { ObjectName } from './directory.ts';
import { itemOf, ObjectReader } from './object-items.ts';
import type { AccessObject, ObjectChange, ObjectKind, ObjectRevision } from './objects.ts';
import { nameChanges, uniqueNameOf, type NAME_KIND } from './unique-names.ts';

type DurableOptions = Omit<ConstructorParameters<typeof SharedItems<ObjectKind>>[0], 'name' | 'kinds'>;

/** Another process has stored the same name meanwhile: it is looked up once more. */
const MOST_TRIES = 3;

/** Budgets, teams and users before the keys that refer to them. */
export const OBJECT_KINDS: readonly ObjectKind[] = [
  'budget',
  'organization',
  'access_group',
  'tag',
  'team',
  'user',
  'customer',
  'key',
  'sign_out',
];

/** Connects with `load`. */
export class DurableObjects implements ObjectStore {
  readonly #items: SharedItems<ObjectKind, typeof NAME_KIND>;
  readonly #reader = new ObjectReader();

  constructor(options: DurableOptions) {
    this.#items = new SharedItems({ ...options, name: 'access', kinds: OBJECT_KINDS });
  }

  async *load(listener: ObjectListener): AsyncGenerator<readonly AccessObject[]> {
    const pages = this.#items.load({
      stored: (item) => listener.stored(this.#reader.read(item)),
      removed: (name) => listener.removed(name),
    });
    for await (const page of pages) yield page.map((item) => this.#reader.read(item));
  }

  async apply(
    changes: readonly ObjectChange[],
    before: (name: ObjectName) => AccessObject | null,
    unchanged: readonly ObjectRevision[],
  ): Promise<'applied' | 'conflict'> {
    const objects = changes.map((change) => ('put' in change ? { put: itemOf(change.put) } : change));
    const counted = unchanged.map(({ kind, id, revision }) => ({ kind, id, revision })); // no whole objects to the worker
    for (let tries = 1; ; tries += 1) {
      const names = await nameChanges(changes, before, {
        get: (kind, ids) => this.#items.get(kind, ids),
        nameOf: (item) => uniqueNameOf(this.#reader.read(item)),
      });
      const result = await this.#items.apply([...objects, ...names], counted);
      const takesNames = names.some((change) => 'put' in change);
      if (result === 'applied' || !takesNames || tries === MOST_TRIES) return result;
    }
  }

  /** Processes that share them and are alive, this one included. */
  get processes(): number {
    return this.#items.processes;
  }

  /** The other processes that share them. */
  get others(): readonly KnownProcess[] {
    return this.#items.others;
  }

  sync(): Promise<void> {
    return this.#items.sync();
  }

  get isShared(): boolean {
    return this.#items.isShared;
  }

  close(): Promise<void> {
    return this.#items.close();
  }
}
