// What a spend record counts for. One function, used when a call reserves, when its record is settled, when sums are read
// from the store and when they are verified, so that all of them agree.
import type { Attribution } from '../../../config/snapshot.ts';
import type { ObjectKind, ObjectOf, Team, TeamMember, VirtualKey } from '../objects/objects.ts';
import type { SpendBegin } from '../../spend/record/record.ts';
import { sessionKey } from '../../spend/store/sql/spend-columns.ts';

/** In the order in which a call is refused: the first of its budgets without room is named. */
export type ScopeKind =
  | 'member'
  | 'key'
  | 'team'
  | 'organization'
  | 'tag'
  | 'user'
  | 'end_user'
  | 'model'
  | 'deployment'
  | 'provider'
  | 'profile'
  | 'conversation'
  | 'proxy';

/** Whose money it is. */
export interface Scope {
  readonly kind: ScopeKind;
  /** SHA-256 of a key, `memberId` of a member, the requested name of a model, '' for the whole proxy; else the id. */
  readonly id: string;
}

/** The part of a record that its scopes follow from. */
export type ScopedRecord = Pick<
  SpendBegin,
  | 'apiKeyHash'
  | 'teamId'
  | 'organizationId'
  | 'userId'
  | 'endUser'
  | 'tags'
  | 'modelGroup'
  | 'modelId'
  | 'provider'
  | 'profile'
  | 'sessionId'
  | 'sessionSource'
>;

/** Of `AccessDirectory`. */
export interface ScopeDirectory {
  /** The key that a credential with this SHA-256 is, or was before it was regenerated. */
  keyOfCredential(sha256: string, nowMs: number): VirtualKey | null;
  team(id: string): Team | null;
}

/** What states budgets and limits. */
export type Owner = ObjectOf<'key' | 'team' | 'user' | 'customer' | 'organization' | 'tag'> | TeamMember;

/** With all owners. */
export interface OwnerDirectory extends ScopeDirectory {
  /** By its present id. */
  key(id: string): VirtualKey | null;
  user(id: string): ObjectOf<'user'> | null;
  customer(id: string): ObjectOf<'customer'> | null;
  organization(id: string): ObjectOf<'organization'> | null;
  tag(name: string): ObjectOf<'tag'> | null;
  budget(id: string): ObjectOf<'budget'> | null;
  count(kind: ObjectKind): number;
}

const PROXY: Scope = Object.freeze({ kind: 'proxy', id: '' });

/** Names a key whatever its present value: by the first one that it had, which is remembered for as long as the key is there. */
export const lastingId = ({ id, former }: Pick<VirtualKey, 'id' | 'former'>): string => former[0]?.id ?? id;

/** What a scope is counted by: its id, of a key the lasting one. */
export function countedIdOf({ kind, id }: Scope, directory: Pick<OwnerDirectory, 'key'>): string {
  const key = kind === 'key' ? directory.key(id) : null;
  return key === null ? id : lastingId(key);
}

/** Names a user in a team; no two pairs share one. */
export const memberId = (teamId: string, userId: string): string => `${teamId.length}:${teamId}/${userId}`;

/** The pair of a `memberId`. */
export function memberOf(id: string): { readonly teamId: string; readonly userId: string } {
  const at = id.indexOf(':');
  const end = at + 1 + Number(id.slice(0, at));
  return { teamId: id.slice(at + 1, end), userId: id.slice(end + 1) };
}

/**
 * The organization that pays for a call and says which models it may ask for: the team's, else the key's; null = none. Of a record it
 * is the one that it states.
 */
export const organizationOf = (team: Team | null, key: VirtualKey | null): string | null =>
  team?.organizationId ?? key?.organizationId ?? null;

/** Says which kinds of scopes are of interest. */
export interface WantedKinds {
  has(kind: ScopeKind): boolean;
}

/**
 * The scopes that a record counts for, in the order of `ScopeKind`.
 * @param wanted others are left out: every scope costs each call an object
 */
export function scopesOf(
  record: ScopedRecord,
  directory: ScopeDirectory,
  wanted: WantedKinds,
): readonly Scope[] {
  const { apiKeyHash, teamId, userId, endUser, tags, modelGroup, modelId, provider, profile } = record;
  const scopes: Scope[] = [];
  const add = (kind: ScopeKind, id: string | null): void => {
    if (id !== null && id !== '' && wanted.has(kind)) scopes.push({ kind, id });
  };
  if (teamId !== null && userId !== null && wanted.has('member')) add('member', memberId(teamId, userId));
  const key = directory.keyOfCredential(apiKeyHash, 0);
  add('key', key?.id ?? apiKeyHash); // rows from before a key was regenerated hold a former id
  add('team', teamId);
  add('organization', record.organizationId ?? null);
  if (tags.length > 0 && wanted.has('tag')) for (const tag of new Set(tags)) add('tag', tag);
  add('user', userId);
  add('end_user', endUser);
  add('model', modelGroup);
  add('deployment', modelId);
  add('provider', provider);
  add('profile', profile);
  if (wanted.has('conversation')) add('conversation', conversationOf(record));
  if (wanted.has('proxy')) scopes.push(PROXY);
  return scopes;
}

/** The conversation of a record, as the store knows it; null where the id was made for this one call. */
export const conversationOf = ({
  sessionId,
  sessionSource,
}: Pick<ScopedRecord, 'sessionId' | 'sessionSource'>): string | null =>
  sessionSource === 'generated' ? null : sessionKey(sessionId);

/** A deployment. */
export interface Attributing {
  readonly attribution: Attribution;
}

/** Whether it states whose its calls are, where their key does not. */
export const isAttributing = ({ attribution: { teamId, userId, tags } }: Attributing): boolean =>
  teamId !== null || userId !== null || tags.length > 0;

/** Scopes that another deployment has not. */
const DESTINATIONS: ReadonlySet<ScopeKind> = new Set(['deployment', 'provider', 'profile']);

export const isOfDestination = ({ scope }: { readonly scope: Scope }): boolean =>
  DESTINATIONS.has(scope.kind);
