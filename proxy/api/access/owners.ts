// Keys of owners that are removed, teams and members. A key is stored while its owners are as they were when it was allowed (`store`), and
// whoever removes one of them also removes the keys that were stored meanwhile: else a key would outlive them, without their budgets and
// limits.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { VirtualKey } from '../../access/objects/objects.ts';
import { audited, remove, storeRest, synced, type Call } from './management-call.ts';

/** @param keysOf those of owners that are gone */
export async function removeLateKeys(
  call: Call,
  keysOf: (directory: AccessDirectory) => readonly VirtualKey[],
): Promise<void> {
  await synced(call); // another process may have stored one
  await storeRest(call, (directory) => ({
    changes: audited(call, directory, keysOf(directory).map(remove)),
    result: null,
  }));
}

/** The same for teams, unless one was made again meanwhile. */
export const removeLateKeysOfTeams = (call: Call, ids: readonly string[]): Promise<void> =>
  removeLateKeys(call, (directory) =>
    ids.filter((id) => directory.team(id) === null).flatMap((id) => directory.keysOfTeam(id)),
  );
