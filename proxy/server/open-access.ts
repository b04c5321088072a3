// Opens the objects of access, and logs what an operator should know of their store.
import { StoredObjects, type StoreEvents } from '../access/objects/access-objects.ts';
import { DurableObjects } from '../access/objects/durable-objects.ts';
import { StoreUnavailable } from '../spend/store/store.ts';

const NOT_LOADED =
  'keys, teams and users cannot be loaded; until they can, keys that are not in the configuration get 503';
const HIDDEN =
  'the configuration file states an object that is also stored; the file wins - remove it from one of the two';

interface OpenedAccess {
  readonly access: StoredObjects;
  /** Where they are kept. */
  readonly store: DurableObjects;
}

/** Resolves when all are loaded, or when it is known that the store does not answer now. @param withinMs default: 5 s */
export async function openAccess(
  options: ConstructorParameters<typeof DurableObjects>[0],
  withinMs?: number,
): Promise<OpenedAccess> {
  const { log } = options;
  let hasFailed = false;
  const store = new DurableObjects(options);
  const events: StoreEvents = {
    loadFailed: (error) => {
      hasFailed = true;
      log.error(error instanceof StoreUnavailable ? { why: error.message } : { err: error }, NOT_LOADED);
    },
    loaded: (objects) => {
      if (objects > 0 || hasFailed) log.info({ objects }, 'keys, teams and users are loaded');
    },
    hidden: ({ kind, id }) => log.warn({ kind, id }, HIDDEN),
  };
  return { access: await StoredObjects.open(store, events, withinMs), store };
}
