// Which limits a call has: those of its key, user, team, place in the team, end user and organization, and those that they
// state for the model that it asks for. In the order in which they refuse. What an object leaves open its shared budget
// states.
import { aliasTarget } from '../aliases.ts';
import { NO_LIMITS, type LimitTerms, type Team, type VirtualKey } from '../objects/objects.ts';
import { sessionTermsOf } from '../session-terms.ts';
import { coversModel } from '../budgets/caps.ts';
import {
  conversationOf,
  lastingId,
  memberId,
  organizationOf,
  type Owner,
  type OwnerDirectory,
  type ScopedRecord,
  type ScopeKind,
} from '../budgets/scopes.ts';
import type { LimitNeed } from './rate-book.ts';

/** As refusals and headers of the dialect name it. */
export type LimitScope =
  | 'api_key'
  | 'user'
  | 'team'
  | 'team_member'
  | 'end_user'
  | 'organization'
  | 'tag'
  | 'session'
  | 'model_per_key'
  | 'model_per_team';

/** A limit of a call, and whose it is. */
export interface ScopedLimit {
  /** Of the longest call, where it counts tokens (`needsOfLimits`). */
  readonly need: LimitNeed;
  readonly scope: LimitScope;
  /** Id of the object; with the model, where the limit is the model's. */
  readonly value: string;
  readonly model: string | null;
}

/** The limits of an object for calls of one model. */
interface Prepared {
  readonly shared: LimitTerms;
  readonly models: readonly string[];
  /** Whose aliases limits by model went by; null where there are none. */
  readonly team: Team | null;
  readonly limits: readonly ScopedLimit[];
}

const NONE: readonly ScopedLimit[] = Object.freeze([]);
const NO_MODELS: readonly string[] = Object.freeze([]);

/** The kind of scope whose limits they are: counters of all servers are named by it. */
const KINDS: Readonly<Record<LimitScope, ScopeKind>> = {
  team_member: 'member',
  api_key: 'key',
  team: 'team',
  organization: 'organization',
  tag: 'tag',
  session: 'conversation',
  user: 'user',
  end_user: 'end_user',
  model_per_key: 'key',
  model_per_team: 'team',
};

/** Scopes whose names of models the team's aliases resolve, as they do those of their calls: keys of a user may be of many teams. */
const RENAMED: ReadonlySet<LimitScope> = new Set(['team_member', 'api_key', 'team']);

export class CallLimits {
  readonly #directory: OwnerDirectory;
  /** Made once per object: names are put together and hashed once, not by every call. */
  readonly #prepared = new WeakMap<Owner, Prepared>();

  constructor(directory: OwnerDirectory) {
    this.#directory = directory;
  }

  /**
   * The limits of a call, in the order in which they refuse; those of tokens without what this call will use.
   * @param meant what the requested name stands for where it is an alias: limits of either one hold
   */
  of(call: ScopedRecord, meant: string = call.modelGroup): readonly ScopedLimit[] {
    const models = meant === call.modelGroup ? [meant] : [call.modelGroup, meant];
    const directory = this.#directory;
    let limits: readonly ScopedLimit[] = NONE;
    const addAll = (more: readonly ScopedLimit[]): void => {
      if (more.length > 0) limits = limits.length === 0 ? more : [...limits, ...more];
    };
    const add = (scope: LimitScope, owner: Owner | null, sharedId: string | null, id: string): void => {
      if (owner === null || (owner.limits === NO_LIMITS && sharedId === null)) return;
      const shared = sharedId === null ? NO_LIMITS : (directory.budget(sharedId)?.limits ?? NO_LIMITS);
      if (owner.limits === NO_LIMITS && shared === NO_LIMITS) return;
      addAll(this.#limitsFor(scope, owner, shared, id, models, team));
    };
    const { teamId, userId, endUser } = call;
    const team = teamId === null ? null : directory.team(teamId);
    if (team !== null && userId !== null && team.members.length > 0) {
      const member = team.members.find((one) => one.userId === userId) ?? null;
      add('team_member', member, member?.budgetId ?? team.memberBudgetId, memberId(team.id, userId));
    }
    const key = directory.keyOfCredential(call.apiKeyHash, 0);
    add('api_key', key, key?.budgetId ?? null, key?.id ?? '');
    add('team', team, null, team?.id ?? '');
    const organizationId = organizationOf(team, key);
    const organization = organizationId === null ? null : directory.organization(organizationId);
    add('organization', organization, organization?.budgetId ?? null, organization?.id ?? '');
    const user = userId === null ? null : directory.user(userId);
    add('user', user, user?.budgetId ?? null, user?.id ?? '');
    const customer = endUser === null ? null : directory.customer(endUser);
    add('end_user', customer, customer?.budgetId ?? null, customer?.id ?? '');
    if (call.tags.length > 0 && directory.count('tag') > 0)
      for (const name of new Set(call.tags)) {
        const tag = directory.tag(name);
        add('tag', tag, tag?.budgetId ?? null, name);
      }
    if (key !== null) addAll(sessionLimits(key, call));
    return limits;
  }

  #limitsFor(
    scope: LimitScope,
    owner: Owner,
    shared: LimitTerms,
    id: string,
    called: readonly string[],
    teamOfCall: Team | null,
  ): readonly ScopedLimit[] {
    const models = hasModels(owner.limits) || hasModels(shared) ? called : NO_MODELS;
    const team = models.length > 0 && RENAMED.has(scope) ? teamOfCall : null;
    const known = this.#prepared.get(owner);
    if (known !== undefined && known.shared === shared && known.team === team && isSame(known.models, models))
      return known.limits;
    const key = 'aliases' in owner ? owner : null;
    const limits = stated(scope, id, owner, shared, models, (model) => aliasTarget(model, team, key));
    this.#prepared.set(owner, { shared, models, team, limits });
    return limits;
  }
}

function hasModels({ modelRpm, modelTpm }: LimitTerms): boolean {
  if (modelRpm === NO_LIMITS.modelRpm && modelTpm === NO_LIMITS.modelTpm) return false;
  return Object.keys(modelRpm).length > 0 || Object.keys(modelTpm).length > 0;
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, i) => name === b[i]);

/**
 * @param called names that the call asks for a model by; none where no limit is of one
 * @param targetOf what a name stands for by aliases: `called` are names that are served
 */
function stated(
  scope: LimitScope,
  id: string,
  owner: Owner,
  shared: LimitTerms,
  called: readonly string[],
  targetOf: (model: string) => string,
): readonly ScopedLimit[] {
  const all: ScopedLimit[] = [];
  const { limits } = owner;
  const name = `${KINDS[scope]}:${'former' in owner ? lastingId(owner) : id}`; // another value begins nothing anew
  const add = (need: LimitNeed): void => void all.push({ need, scope, value: id, model: null });
  const most = limits.maxParallel ?? shared.maxParallel;
  const [rpm, tpm] = [limits.rpm ?? shared.rpm, limits.tpm ?? shared.tpm];
  if (most !== null) add({ kind: 'parallel', limit: `${name}:parallel`, most });
  if (rpm !== null) add({ kind: 'requests', limit: `${name}:rpm`, perMinute: rpm, amount: 1 });
  if (tpm !== null) add({ kind: 'tokens', limit: `${name}:tpm`, perMinute: tpm, amount: tpm });
  const of = scope === 'team' ? 'model_per_team' : 'model_per_key';
  for (const model of entriesFor(called, [limits, shared], targetOf)) {
    const addOfModel = (need: LimitNeed): void =>
      void all.push({ need, scope: of, value: `${id}:${model}`, model });
    const modelRpm = ofModel(limits.modelRpm, model) ?? ofModel(shared.modelRpm, model);
    const modelTpm = ofModel(limits.modelTpm, model) ?? ofModel(shared.modelTpm, model);
    const modelName = `${name}:model:${model}`;
    if (modelRpm !== null)
      addOfModel({ kind: 'requests', limit: `${modelName}:rpm`, perMinute: modelRpm, amount: 1 });
    if (modelTpm !== null)
      addOfModel({ kind: 'tokens', limit: `${modelName}:tpm`, perMinute: modelTpm, amount: modelTpm });
  }
  return all;
}

/** Names and patterns of limits by model that a call is about: those that caps by model would be. */
function entriesFor(
  called: readonly string[],
  terms: readonly LimitTerms[],
  targetOf: (model: string) => string,
): readonly string[] {
  const [requested, meant = requested] = called;
  if (requested === undefined || meant === undefined) return NO_MODELS;
  const entries = terms.flatMap(({ modelRpm, modelTpm }) => [
    ...Object.keys(modelRpm),
    ...Object.keys(modelTpm),
  ]);
  return [...new Set(entries)].filter((model) => coversModel({ model: targetOf(model) }, requested, meant));
}

/** What a key says of each of its conversations. Another key counts by itself: an id of a session is no secret. */
function sessionLimits(key: VirtualKey, call: ScopedRecord): readonly ScopedLimit[] {
  const terms = sessionTermsOf(key.metadata);
  const id = terms === null ? null : conversationOf(call);
  if (terms === null || id === null) return NONE;
  const name = `key:${lastingId(key)}:conversation:${id}`;
  const { maxIterations, rpm, tpm } = terms;
  const needs: LimitNeed[] = [];
  if (maxIterations !== null) needs.push({ kind: 'calls', limit: `${name}:calls`, most: maxIterations });
  if (rpm !== null) needs.push({ kind: 'requests', limit: `${name}:rpm`, perMinute: rpm, amount: 1 });
  if (tpm !== null) needs.push({ kind: 'tokens', limit: `${name}:tpm`, perMinute: tpm, amount: tpm });
  return needs.map((need) => ({ need, scope: 'session', value: call.sessionId, model: null }));
}

/**
 * What a call asks of its limits. @param tokens what it will use by an estimate, asked only where a limit counts tokens: never
 * more than the limit, else a call that does not state its length would never be let in
 */
export function needsOfLimits(
  limits: readonly ScopedLimit[],
  tokens: (perMinute: number) => number,
): readonly LimitNeed[] {
  return limits.map(({ need }) => {
    if (need.kind !== 'tokens') return need;
    const { kind, limit, perMinute } = need;
    return { kind, limit, perMinute, amount: Math.min(perMinute, tokens(perMinute)) };
  });
}

const ofModel = (limits: Readonly<Record<string, number>>, model: string): number | null =>
  Object.hasOwn(limits, model) ? (limits[model] ?? null) : null;
