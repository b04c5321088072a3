// A key and its owners, the team and the user. A key is stored while they are as they were when it was allowed, and whoever removes one
// of them also removes the keys that were stored meanwhile: else a key would outlive them, without their budgets and limits.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { ObjectRevision, VirtualKey } from '../../access/objects/objects.ts';
import { audited, remove, store, synced, type Call } from './management-call.ts';

/** What must not have changed when a key is stored; an owner that does not exist yet, or stands in the file, is none. */
export function ownersOf(
  { teamId, userId }: VirtualKey,
  directory: AccessDirectory,
): readonly ObjectRevision[] {
  const owners = [
    teamId === null ? null : directory.stored({ kind: 'team', id: teamId }),
    userId === null ? null : directory.stored({ kind: 'user', id: userId }),
  ];
  return owners.filter((owner) => owner !== null);
}

/** @param keysOf those of owners that are gone */
export async function removeLateKeys(
  call: Call,
  keysOf: (directory: AccessDirectory) => readonly VirtualKey[],
): Promise<void> {
  await synced(call); // another process may have stored one
  await store(call, (directory) => ({
    changes: audited(call, directory, keysOf(directory).map(remove)),
    result: null,
  }));
}

/** The same for teams, unless one was made again meanwhile. */
export const removeLateKeysOfTeams = (call: Call, ids: readonly string[]): Promise<void> =>
  removeLateKeys(call, (directory) =>
    ids.filter((id) => directory.team(id) === null).flatMap((id) => directory.keysOfTeam(id)),
  );
