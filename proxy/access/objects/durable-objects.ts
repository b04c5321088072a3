// Keeps the objects of access in the store of items: SQLite in the data directory, or the tables `access_*` of the shared
// database. What other processes change is told to the directory of this one within a second.
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { allItems } from '../../items/all-items.ts';
import type { Item, ItemStore } from '../../items/item-store.ts';
import { PostgresItems } from '../../items/postgres-items.ts';
import { Replicas } from '../../items/replicas.ts';
import { openSqliteItems } from '../../items/sqlite-store.ts';
import type { Log } from '../../observability/logger.ts';
import type { ExtensionTables } from '../../spend/store/extension-tables.ts';
import type { ObjectListener, ObjectStore } from './access-objects.ts';
import { itemOf, ObjectReader, type ObjectItem } from './object-items.ts';
import type { AccessObject, ObjectChange, ObjectKind } from './objects.ts';

type Kind = ObjectKind | 'replica';

interface DurableOptions {
  /** Must exist and be this process's own. */
  readonly dataDir: string;
  /** The shared database; null: a file of the data directory. */
  readonly shared: { readonly extensionTables: ExtensionTables; readonly schema: string } | null;
  readonly clock: Clock;
  readonly log: Log;
}

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
const SHARED_KINDS: readonly Kind[] = [...KINDS, 'replica'];
const PART = 1_000;

/** Connects with `load`. */
export class DurableObjects implements ObjectStore {
  readonly #options: DurableOptions;
  readonly #store: ItemStore<Kind>;
  readonly #reader = new ObjectReader();
  #replicas: Replicas | null = null;

  constructor(options: DurableOptions) {
    this.#options = options;
    const { shared, dataDir } = options;
    this.#store =
      shared === null
        ? openSqliteItems({ file: join(dataDir, 'access.db'), threadName: 'throughline-access' })
        : new PostgresItems(shared.extensionTables, {
            schema: shared.schema,
            prefix: 'access',
            sharedKinds: SHARED_KINDS,
          });
  }

  async *load(listener: ObjectListener): AsyncGenerator<readonly AccessObject[]> {
    const { dataDir, clock, log } = this.#options;
    this.#replicas ??= await Replicas.open({ store: this.#store, dataDir, clock, log });
    for (const kind of KINDS) {
      this.#replicas.follow(kind, {
        stored: (item) => listener.stored(this.#objectOf(item)),
        removed: ({ id }) => listener.removed({ kind, id }),
      });
    }
    for (const kind of KINDS) {
      let part: AccessObject[] = [];
      for await (const item of allItems(this.#store, kind)) {
        part.push(this.#objectOf(item));
        if (part.length < PART) continue;
        yield part;
        part = [];
      }
      yield part;
    }
    this.#replicas.start();
  }

  apply(changes: readonly ObjectChange[]): Promise<'applied' | 'conflict'> {
    return this.#store.apply(
      changes.map((change) =>
        'put' in change
          ? { put: itemOf(change.put) }
          : { remove: { kind: change.remove.kind, id: change.remove.id } },
      ),
    );
  }

  async close(): Promise<void> {
    await this.#replicas?.close();
    await this.#store.close();
  }

  #objectOf(item: Item): AccessObject {
    return this.#reader.read(item as ObjectItem);
  }
}
