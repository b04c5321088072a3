// Everything of the proxy that an API mounted on this server (the platform's) may import, in one file. These exports are
// kept stable for it; test/meta checks that, beside the leaves in proxy/base, it imports nothing else.
export { CallerDirectory, type CallerIdentity } from '../access/callers.ts';
export type { ListedModel, Mount, MountRequest, MountResponse } from '../base/mount.ts';
export { Fault } from '../errors/fault.ts';
export { allItems } from '../items/all-items.ts';
export type {
  Change as ItemChange,
  Filter as ItemFilter,
  Item as StoredItem,
  ItemStore,
  Order,
  Part,
} from '../items/item-store.ts';
export { PostgresItems } from '../items/postgres-items.ts';
export { type ChangeListener, identityOf, Replicas, runningOn } from '../items/replicas.ts';
export { openSqliteItems } from '../items/sqlite-store.ts';
export type { Log } from '../observability/logger.ts';
export type { PlatformFigures } from '../observability/platform-metrics.ts';
export type { ServedModels } from '../pipeline/served-models.ts';
export type { ExtensionTables } from '../spend/store/extension-tables.ts';
export { lockDirectory } from '../spend/store/lock.ts';
export { openExtensionTables } from '../spend/store/postgres/extension-tables.ts';
export { type Sealer, sealerWith } from '../spend/store/seal.ts';
export { type SessionTotals, type SpendReader, StoreUnavailable } from '../spend/store/store.ts';
