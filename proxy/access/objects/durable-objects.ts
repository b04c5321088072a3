// Keeps the objects of access in the items that processes share: in `access.db` of the data directory, or in the tables
// `access_*` of the shared database.
import { SharedItems } from '../../items/shared-items.ts';
import type { ObjectListener, ObjectStore } from './access-objects.ts';
import { itemOf, ObjectReader } from './object-items.ts';
import type { AccessObject, ObjectChange, ObjectKind } from './objects.ts';

type DurableOptions = Omit<ConstructorParameters<typeof SharedItems<ObjectKind>>[0], 'name' | 'kinds'>;

/** Budgets, teams and users before the keys that refer to them. */
const KINDS: readonly ObjectKind[] = [
  'budget',
  'organization',
  'access_group',
  'team',
  'user',
  'customer',
  'key',
];

/** Connects with `load`. */
export class DurableObjects implements ObjectStore {
  readonly #items: SharedItems<ObjectKind>;
  readonly #reader = new ObjectReader();

  constructor(options: DurableOptions) {
    this.#items = new SharedItems({ ...options, name: 'access', kinds: KINDS });
  }

  async *load(listener: ObjectListener): AsyncGenerator<readonly AccessObject[]> {
    const pages = this.#items.load({
      stored: (item) => listener.stored(this.#reader.read(item)),
      removed: (name) => listener.removed(name),
    });
    for await (const page of pages) yield page.map((item) => this.#reader.read(item));
  }

  apply(changes: readonly ObjectChange[]): Promise<'applied' | 'conflict'> {
    return this.#items.apply(
      changes.map((change) => ('put' in change ? { put: itemOf(change.put) } : change)),
    );
  }

  sync(): Promise<void> {
    return this.#items.sync();
  }

  close(): Promise<void> {
    return this.#items.close();
  }
}
