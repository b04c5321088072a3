// Opens the objects of access, and logs what an operator should know of their store.
import { StoredObjects } from '../access/objects/access-objects.ts';
import { DurableObjects } from '../access/objects/durable-objects.ts';

const NOT_LOADED =
  'keys, teams and users cannot be loaded; until they can, keys that are not in the configuration get 503';
const HIDDEN =
  'the configuration file states an object that is also stored; the file wins - remove it from one of the two';

/** Resolves when all are loaded, or when it is known that the store does not answer now. */
export function openAccess(options: ConstructorParameters<typeof DurableObjects>[0]): Promise<StoredObjects> {
  const { log } = options;
  return StoredObjects.open(new DurableObjects(options), {
    loadFailed: (err) => log.error({ err }, NOT_LOADED),
    loaded: (objects) => log.info({ objects }, 'keys, teams and users are loaded'),
    hidden: ({ kind, id }) => log.warn({ kind, id }, HIDDEN),
  });
}
