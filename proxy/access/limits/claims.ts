// Which limits a call has: those of its key, user, team, place in the team, end user and organization, and those that they
// state for the model that it asks for. In the order in which they refuse. What an object leaves open its shared budget
// states.
import { NO_LIMITS, type LimitTerms, type ObjectOf, type Team } from '../objects/objects.ts';
import { memberOf, scopesOf, type Scope, type ScopeDirectory, type ScopedRecord } from '../budgets/scopes.ts';
import type { LimitClaim } from './rate-book.ts';

/** As refusals and headers of the dialect name it. */
export type LimitScope =
  | 'api_key'
  | 'user'
  | 'team'
  | 'team_member'
  | 'end_user'
  | 'organization'
  | 'model_per_key'
  | 'model_per_team';

/** A limit of a call, and whose it is. */
export interface ScopedLimit {
  readonly claim: LimitClaim;
  readonly scope: LimitScope;
  /** Id of the object; with the model, where the limit is the model's. */
  readonly value: string;
  readonly model: string | null;
}

/** Of `AccessDirectory`. */
export interface LimitDirectory extends ScopeDirectory {
  key(id: string): ObjectOf<'key'> | null;
  user(id: string): ObjectOf<'user'> | null;
  customer(id: string): ObjectOf<'customer'> | null;
  organization(id: string): ObjectOf<'organization'> | null;
  budget(id: string): ObjectOf<'budget'> | null;
}

interface Owner {
  readonly scope: LimitScope;
  readonly limits: LimitTerms;
  /** Id of the shared budget, or null. */
  readonly sharedId: string | null;
}

const NONE: readonly ScopedLimit[] = Object.freeze([]);

/**
 * The limits of a call. @param tokens what it will use by an estimate, asked only where a limit counts tokens: never more
 * than the limit, else a call that does not state its length would never be let in
 */
export function limitsOf(
  call: ScopedRecord,
  directory: LimitDirectory,
  tokens: (perMinute: number) => number,
): readonly ScopedLimit[] {
  let limits: ScopedLimit[] | null = null;
  for (const scope of scopesOf(call, directory)) {
    const owner = ownerOf(scope, directory);
    if (owner === null) continue;
    const shared =
      owner.sharedId === null ? NO_LIMITS : (directory.budget(owner.sharedId)?.limits ?? NO_LIMITS);
    if (owner.limits === NO_LIMITS && shared === NO_LIMITS) continue;
    addLimits((limits ??= []), scope, owner, shared, call.modelGroup, tokens);
  }
  return limits ?? NONE;
}

function addLimits(
  into: ScopedLimit[],
  { kind, id }: Scope,
  { scope, limits }: Owner,
  shared: LimitTerms,
  model: string,
  tokens: (perMinute: number) => number,
): void {
  const name = `${kind}:${id}`;
  const add = (claim: LimitClaim, of: LimitScope = scope, ofModel: string | null = null): void => {
    into.push({ claim, scope: of, value: ofModel === null ? id : `${id}:${ofModel}`, model: ofModel });
  };
  const most = limits.maxParallel ?? shared.maxParallel;
  const [rpm, tpm] = [limits.rpm ?? shared.rpm, limits.tpm ?? shared.tpm];
  if (most !== null) add({ kind: 'parallel', limit: `${name}:parallel`, most });
  if (rpm !== null) add({ kind: 'requests', limit: `${name}:rpm`, perMinute: rpm, amount: 1 });
  if (tpm !== null)
    add({ kind: 'tokens', limit: `${name}:tpm`, perMinute: tpm, amount: Math.min(tpm, tokens(tpm)) });
  const of = scope === 'team' ? 'model_per_team' : 'model_per_key';
  const modelRpm = ofModel(limits.modelRpm, model) ?? ofModel(shared.modelRpm, model);
  const modelTpm = ofModel(limits.modelTpm, model) ?? ofModel(shared.modelTpm, model);
  const modelName = `${name}:model:${model}`;
  if (modelRpm !== null)
    add({ kind: 'requests', limit: `${modelName}:rpm`, perMinute: modelRpm, amount: 1 }, of, model);
  if (modelTpm !== null)
    add(
      {
        kind: 'tokens',
        limit: `${modelName}:tpm`,
        perMinute: modelTpm,
        amount: Math.min(modelTpm, tokens(modelTpm)),
      },
      of,
      model,
    );
}

const ofModel = (limits: Readonly<Record<string, number>>, model: string): number | null =>
  Object.hasOwn(limits, model) ? (limits[model] ?? null) : null;

function ownerOf({ kind, id }: Scope, directory: LimitDirectory): Owner | null {
  switch (kind) {
    case 'key':
      return owner('api_key', directory.key(id));
    case 'user':
      return owner('user', directory.user(id));
    case 'team':
      return owner('team', directory.team(id));
    case 'end_user':
      return owner('end_user', directory.customer(id));
    case 'organization':
      return owner('organization', directory.organization(id));
    case 'member':
      return ofMember(id, directory);
    default:
      return null;
  }
}

function owner(
  scope: LimitScope,
  object: ObjectOf<'key' | 'user' | 'customer' | 'organization'> | Team | null,
): Owner | null {
  if (object === null) return null;
  const sharedId = 'budgetId' in object ? object.budgetId : null;
  return object.limits === NO_LIMITS && sharedId === null ? null : { scope, limits: object.limits, sharedId };
}

function ofMember(id: string, directory: LimitDirectory): Owner | null {
  const { teamId, userId } = memberOf(id);
  const team = directory.team(teamId);
  const member = team?.members.find((one) => one.userId === userId);
  if (team === null || member === undefined) return null;
  return { scope: 'team_member', limits: member.limits, sharedId: member.budgetId ?? team.memberBudgetId };
}
