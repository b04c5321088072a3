// Whether the store can be used, as those who use it find: shipping, and whoever keeps tables beside the rows. Says once that it
// is away, and once that all of them can use it again. Knows no database.
import { asError } from '../../base/as-error.ts';
import type { SpendEvent } from '../event.ts';
import type { ExtensionTables } from './extension-tables.ts';
import { StoreUnavailable } from './store.ts';

/** Each for itself: a database whose disk is full takes no rows and answers questions. */
type User = 'rows' | 'tables';

export class StoreReach {
  /** Whose last use failed. */
  readonly #failing = new Set<User>();
  readonly #onEvent: (event: SpendEvent) => void;

  constructor(onEvent: (event: SpendEvent) => void) {
    this.#onEvent = onEvent;
  }

  /** true before the first use. */
  get isReachable(): boolean {
    return this.#failing.size === 0;
  }

  used(by: User): void {
    if (this.#failing.delete(by) && this.isReachable)
      this.#onEvent({ level: 'info', name: 'store_reachable', message: 'the store answers again' });
  }

  failed(by: User, error: unknown): void {
    const isFirst = this.isReachable;
    this.#failing.add(by);
    const { message } = asError(error);
    if (isFirst) this.#onEvent({ level: 'error', name: 'store_unreachable', message });
  }

  /**
   * Somebody asks these each second for what other servers have changed, so they notice an outage while no row is due. Only such a
   * quick question tells of one: any other statement may fail for a reason of its own.
   */
  watch(tables: ExtensionTables): ExtensionTables {
    return {
      ...tables,
      transact: async (statements, isQuick) => {
        try {
          const rows = await tables.transact(statements, isQuick);
          this.used('tables');
          return rows;
        } catch (error) {
          const isOurEnd = error instanceof StoreUnavailable && error.code === 'closed';
          if (isQuick === true && !isOurEnd) this.failed('tables', error);
          throw error;
        }
      },
    };
  }
}
