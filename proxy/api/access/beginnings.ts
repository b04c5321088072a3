// Where the spend of new objects begins: at 0, whatever rows there are of an earlier object of their ids, or of calls that named
// them before anybody had stated them. Keys and users whose makers choose their ids see to it by themselves, as they may be made
// with a spend.
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type {
  AccessObject,
  BudgetTerms,
  ObjectChange,
  Team,
  TeamMember,
} from '../../access/objects/objects.ts';
import { directoryOf, nowOf, put, store, type Call, type Prepared } from './management-call.ts';
import { memberId, spentEver, type SpentScope } from './spent.ts';
import { withSpend } from './terms.ts';

/**
 * `store` of objects of which some may be new. Only those whose ids have rows get a start of their own (`countFrom`): a sum since
 * such a start is a query by itself, for lists and for the start of a server; sums since ever are one query together.
 * @param prepare names what it makes the same each time, for the audit
 * @throws as `store`
 */
export async function storeNew<T>(
  call: Call,
  prepare: (directory: AccessDirectory) => Prepared<T>,
): Promise<T> {
  const { changes } = prepare(directoryOf(call)); // whoever may not is refused before anything is read
  const scopes = changes.flatMap((change) => newScopes(change, directoryOf(call)));
  const spent = await spentEver(call.x, scopes);
  const used = new Set(scopes.filter((_, i) => spent[i] !== 0n).map(nameOf));
  if (used.size === 0) return store(call, prepare);
  const begin: Begin = (scope, terms) =>
    used.has(nameOf(scope)) && terms.countFrom === null ? withSpend(terms, 0, nowOf(call)) : terms;
  return store(call, (directory) => {
    const prepared = prepare(directory);
    return { ...prepared, changes: prepared.changes.map((change) => begun(change, directory, begin)) };
  });
}

type Begin = (scope: SpentScope, terms: BudgetTerms) => BudgetTerms;

const nameOf = ({ kind, id }: SpentScope): string => `${kind}:${id}`;

/** The scope of an object that may be new; null = it is not, or is of a kind that has no spend or is seen to elsewhere. */
function scopeOf(object: AccessObject): SpentScope | null {
  const { kind, id, revision } = object;
  if (revision > 0) return null;
  if (kind === 'customer') return { kind: 'end_user', id };
  return kind === 'team' || kind === 'user' || kind === 'tag' ? { kind, id } : null;
}

const placeOf = (team: Team, { userId }: TeamMember): SpentScope => ({
  kind: 'member',
  id: memberId(team.id, userId),
});

/** Those who were not in the team before. */
function newMembers(team: Team, directory: AccessDirectory): ReadonlySet<TeamMember> {
  const before = new Set(directory.team(team.id)?.members.map(({ userId }) => userId));
  return new Set(team.members.filter(({ userId }) => !before.has(userId)));
}

function newScopes(change: ObjectChange, directory: AccessDirectory): readonly SpentScope[] {
  if (!('put' in change)) return [];
  const { put: object } = change;
  const places =
    object.kind === 'team' ? [...newMembers(object, directory)].map((member) => placeOf(object, member)) : [];
  const scope = scopeOf(object);
  return scope === null ? places : [scope, ...places];
}

function begun(change: ObjectChange, directory: AccessDirectory, begin: Begin): ObjectChange {
  if (!('put' in change)) return change;
  const { put: object } = change;
  const scope = scopeOf(object);
  if (object.kind === 'team') {
    const added = newMembers(object, directory);
    const members = object.members.map((member) =>
      added.has(member) ? { ...member, budget: begin(placeOf(object, member), member.budget) } : member,
    );
    return put({ ...object, members, budget: scope === null ? object.budget : begin(scope, object.budget) });
  }
  if (scope === null || !('budget' in object)) return change;
  return put({ ...object, budget: begin(scope, object.budget) });
}
