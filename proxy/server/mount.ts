// All that an interface mounted on this server (the platform's) may use of the proxy, in one file: what stands here is kept
// stable for it, and nothing else of the proxy is its business.
export { CallerDirectory, type CallerIdentity } from '../access/callers.ts';
export type { Mount, MountRequest, MountResponse } from '../base/mount.ts';
export { Fault } from '../errors/fault.ts';
export type { Log } from '../observability/logger.ts';
export type { PlatformFigures } from '../observability/platform-metrics.ts';
export type {
  ExtensionRow,
  ExtensionStatement,
  ExtensionTables,
  ExtensionValue,
} from '../spend/store/extension-tables.ts';
export { lockDirectory } from '../spend/store/lock.ts';
export { openExtensionTables } from '../spend/store/postgres/extension-tables.ts';
export { type Sealer, sealerWith } from '../spend/store/seal.ts';
export { type SessionTotals, type SpendReader, StoreUnavailable } from '../spend/store/store.ts';
