// What an object refers to by ids of others: its owners, its budget, its members. Who takes a reference counts on what it names, and
// must not be stored once that is gone: without its team, its organization or its budget an object would have no cap.
import type { ObjectName } from './directory.ts';
import type { AccessObject, ObjectKind } from './objects.ts';

function referencesOf(object: AccessObject): readonly ObjectName[] {
  switch (object.kind) {
    case 'key':
      return [
        ...named('team', object.teamId),
        ...named('user', object.userId),
        ...named('organization', object.organizationId),
        ...named('budget', object.budgetId),
      ];
    case 'team':
      return [
        ...named('organization', object.organizationId),
        ...named('budget', object.memberBudgetId),
        ...object.members.flatMap(({ userId, budgetId }) => [
          ...named('user', userId),
          ...named('budget', budgetId),
        ]),
      ];
    case 'organization':
      return [
        ...named('budget', object.budgetId),
        ...object.members.flatMap(({ userId }) => named('user', userId)),
      ];
    case 'user':
    case 'customer':
    case 'tag':
      return named('budget', object.budgetId);
    case 'budget':
    case 'access_group':
    case 'sign_out':
      return [];
  }
}

const named = (kind: ObjectKind, id: string | null): readonly ObjectName[] =>
  id === null ? [] : [{ kind, id }];

/**
 * What an object refers to and did not before: it must be there, and stay as it is until the object is stored.
 * @param before null: it is new
 */
export function referencesTaken(before: AccessObject | null, after: AccessObject): readonly ObjectName[] {
  const all = referencesOf(after);
  if (all.length === 0) return all;
  const known = new Set(before === null ? [] : referencesOf(before).map(textOf));
  const taken = all.filter((one) => !known.has(textOf(one)));
  // A key is allowed to all of its owners together: to a user as a member of its team.
  return after.kind === 'key' && taken.length > 0 ? all : taken;
}

const textOf = ({ kind, id }: ObjectName): string => `${kind}/${id}`;
