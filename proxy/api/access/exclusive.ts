// One at a time by name: two calls that want the same alias or e-mail address must not both find it free. In one process; each
// object's id is guarded by the store itself.

/** By the objects that a name belongs to: processes of tests hold several proxies. */
const LAST = new WeakMap<object, Map<string, Promise<unknown>>>();

/** Runs `act` when every earlier call with this name has ended. @param name null = it wants none */
export async function exclusively<T>(owner: object, name: string | null, act: () => Promise<T>): Promise<T> {
  if (name === null) return act();
  const names = LAST.get(owner) ?? new Map<string, Promise<unknown>>();
  LAST.set(owner, names);
  const before = names.get(name) ?? Promise.resolve();
  const own = before.then(act, act);
  const settled = own.catch(() => undefined);
  names.set(name, settled);
  try {
    return await own;
  } finally {
    if (names.get(name) === settled) names.delete(name);
  }
}
