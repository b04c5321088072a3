// Which caps a scope has: those of its object, of a shared budget and of the configuration. Prepared once per object, so that
// a call reads them; a scope without a budget costs a look-up.
import type { BudgetRule, BudgetSettings } from '../../../config/budget-settings.ts';
import {
  NO_BUDGET,
  type Budget,
  type BudgetTerms,
  type TeamMember,
  type ObjectKind,
  type ObjectOf,
  type Team,
} from '../objects/objects.ts';
import { aliasTarget } from '../aliases.ts';
import { sessionTermsOf } from '../session-terms.ts';
import { apart, capsOf, uncapped, type Cap } from './caps.ts';
import {
  conversationOf,
  countedIdOf,
  memberId,
  memberOf,
  type Owner,
  type OwnerDirectory,
  type Scope,
  type ScopeKind,
  type ScopedRecord,
  type WantedKinds,
} from './scopes.ts';

/** Of `AccessDirectory`. */
export interface CapDirectory extends OwnerDirectory {
  all<K extends ObjectKind>(kind: K): Iterable<ObjectOf<K>>;
}

/** Ends the names of counters of rules: those of objects may begin anew (`countFrom`). */
const RULE_MARK = ' rule';

/** Whether a rule of the configuration states a cap, not an object. */
export const isRule = ({ counter }: Cap): boolean => counter.endsWith(RULE_MARK);

const NAMED_BY_CLIENTS: ReadonlySet<ScopeKind> = new Set(['end_user', 'tag', 'conversation']);

/** Ends the names of counters of what a key says of each of its conversations. */
const SESSION_MARK = ' key';

/** Whether a cap is what a key says of each of its conversations. */
export const isOfSession = ({ counter, scope }: Cap): boolean =>
  scope.kind === 'conversation' && counter.endsWith(SESSION_MARK);

const NO_CAPS: readonly Cap[] = Object.freeze([]);
/** Caps of rules for each one (`*`) that are kept; the others are made again. */
const MOST_KEPT = 10_000;
const MOST_PREPARED = 200_000;
/** Of these, caps of objects that are gone: keys come and go all day. */
const MOST_GONE = 10_000;
/** The objects of a kind of scope; members of teams are none. */
const OBJECTS: Readonly<Partial<Record<ScopeKind, ObjectKind>>> = {
  key: 'key',
  team: 'team',
  user: 'user',
  end_user: 'customer',
  organization: 'organization',
  tag: 'tag',
};

/** Kinds of scopes whose objects state budgets, beside members of teams. */
const OBJECT_KINDS = ['key', 'team', 'organization', 'user', 'end_user'] as const;

interface KindSets {
  readonly plain: WantedKinds;
  readonly tagged: WantedKinds;
}

const kindSets = (kinds: readonly ScopeKind[]): KindSets => ({
  plain: new Set(kinds),
  tagged: new Set<ScopeKind>([...kinds, 'tag']),
});

interface Prepared {
  readonly owner: Owner;
  readonly shared: Budget | null;
  /** Whose aliases the caps by model went by; null where there are none. */
  readonly renaming: { readonly teamId: string; readonly team: Team | null } | null;
  readonly caps: readonly Cap[];
}

/** Of one configuration and one directory. */
export class CapSources {
  readonly #directory: CapDirectory;
  readonly #rules = new Map<ScopeKind, Map<string, readonly BudgetRule[]>>();
  readonly #ruleCaps = new Map<string, readonly Cap[]>();
  /** Of the objects that calls have asked for, by kind and id. A `WeakMap` of as many costs the garbage collector more. */
  readonly #prepared = new Map<ScopeKind, Map<string, Prepared>>();
  readonly #members = new WeakMap<Team, ReadonlyMap<string, TeamMember>>();
  /** Of calls of teams with members, and of others; each also with tags. */
  readonly #withMembers: KindSets;
  readonly #withoutMembers: KindSets;

  constructor(directory: CapDirectory, { rules }: Pick<BudgetSettings, 'rules'>) {
    this.#directory = directory;
    for (const rule of rules) {
      const ids = this.#rules.get(rule.scope) ?? new Map<string, readonly BudgetRule[]>();
      this.#rules.set(rule.scope, ids.set(rule.id, [...(ids.get(rule.id) ?? []), rule]));
    }
    const kinds = [...OBJECT_KINDS, ...this.#rules.keys()];
    this.#withoutMembers = kindSets(kinds);
    this.#withMembers = kindSets(['member', ...kinds]);
  }

  /** Whether budgets of deployments, providers or profiles are stated: what a call reserves depends on where it may go. */
  get hasDestinationRules(): boolean {
    return this.#rules.has('deployment') || this.#rules.has('provider') || this.#rules.has('profile');
  }

  /** The kinds of scopes of a call that may have caps. */
  kindsFor({ teamId }: Pick<ScopedRecord, 'teamId'>): WantedKinds {
    const team = teamId === null ? null : this.#directory.team(teamId);
    const sets = team !== null && team.members.length > 0 ? this.#withMembers : this.#withoutMembers;
    return this.#directory.count('tag') > 0 ? sets.tagged : sets.plain; // a call may carry a hundred tags
  }

  hasRulesFor(kind: ScopeKind): boolean {
    return this.#rules.has(kind);
  }

  /** Whether the configuration has a rule for this very scope. */
  names({ kind, id }: Scope): boolean {
    return this.#rules.get(kind)?.has(id) === true;
  }

  of(scope: Scope): readonly Cap[] {
    const own = this.#ofObject(scope);
    const ruled = this.#rules.size === 0 ? NO_CAPS : this.#ofRules(scope);
    if (ruled.length === 0) return own; // the same list each time
    if (own.length === 0) return ruled;
    return [...own, ...ruled];
  }

  /** What the key of a call says of each of its conversations (`max_budget_per_session`). */
  ofSession(call: Pick<ScopedRecord, 'apiKeyHash' | 'sessionId' | 'sessionSource'>): readonly Cap[] {
    const metadata = this.#directory.keyOfCredential(call.apiKeyHash, 0)?.metadata;
    if (metadata === undefined || metadata['max_budget_per_session'] === undefined) return NO_CAPS;
    const maxBudget = sessionTermsOf(metadata)?.maxBudget ?? null;
    const id = conversationOf(call);
    if (maxBudget === null || id === null) return NO_CAPS;
    const scope: Scope = { kind: 'conversation', id };
    return capsOf(scope, { ...NO_BUDGET, maxBudget }).map((cap) => ({
      ...cap,
      counter: `${cap.counter}${SESSION_MARK}`,
    }));
  }

  /** A cap that was counted, as it is stated now; null = it is not any more. */
  stated(cap: Cap): Cap | null {
    if (isOfSession(cap)) return cap; // which key has stated it is not known
    return this.of(cap.scope).find(({ counter }) => counter === cap.counter) ?? null;
  }

  /** Whether the object that has stated a cap is there no more, or none is needed: clients name as many ids as they like. */
  isPassing(cap: Cap): boolean {
    if (isOfSession(cap)) return true;
    if (isRule(cap)) return NAMED_BY_CLIENTS.has(cap.scope.kind) && !this.names(cap.scope);
    return this.#ownerOf(cap.scope) === null;
  }

  /** The window that the spending of a scope is shown for: that of `max_budget`, else of what the configuration says, else all. */
  main(scope: Scope): Cap {
    const [first] = this.of(scope);
    if (first !== undefined && first.model === null) return first;
    return uncapped(scope, this.#ownerOf(scope)?.budget ?? NO_BUDGET);
  }

  /** What keys that have budgets state, or share. Nothing is prepared: most are not used for long. */
  *keyTerms(): Generator<{ readonly id: string; readonly terms: BudgetTerms }> {
    for (const { id, budgetId, budget } of this.#directory.all('key')) {
      const shared = budgetId === null ? null : this.#directory.budget(budgetId);
      if (shared !== null) yield { id, terms: joined(budget, shared.budget) };
      else if (budget !== NO_BUDGET) yield { id, terms: budget };
    }
  }

  /** Every scope beside keys that has caps, but those that rules for each one (`*`) would give theirs. */
  *others(): Generator<Scope> {
    for (const team of this.#directory.all('team')) {
      yield* this.#stated({ kind: 'team', id: team.id });
      for (const { userId } of team.members)
        yield* this.#stated({ kind: 'member', id: memberId(team.id, userId) });
    }
    for (const { id } of this.#directory.all('user')) yield* this.#stated({ kind: 'user', id });
    for (const { id } of this.#directory.all('customer')) yield* this.#stated({ kind: 'end_user', id });
    for (const { id } of this.#directory.all('organization'))
      yield* this.#stated({ kind: 'organization', id });
    for (const { id } of this.#directory.all('tag')) yield* this.#stated({ kind: 'tag', id });
    for (const [kind, ids] of this.#rules) for (const id of ids.keys()) if (id !== '*') yield { kind, id };
  }

  *#stated(scope: Scope): Generator<Scope> {
    if (this.#ofObject(scope).length > 0) yield scope;
  }

  #ofObject(scope: Scope): readonly Cap[] {
    const owner = this.#ownerOf(scope);
    if (owner === null) return NO_CAPS;
    const sharedId = ('budgetId' in owner ? owner.budgetId : null) ?? this.#defaultIdOf(scope);
    const shared = sharedId === null ? null : this.#directory.budget(sharedId);
    if (shared === null && owner.budget === NO_BUDGET) return NO_CAPS;
    let prepared = this.#prepared.get(scope.kind);
    if (prepared === undefined) this.#prepared.set(scope.kind, (prepared = new Map<string, Prepared>()));
    const before = prepared.get(scope.id);
    if (before !== undefined && before.owner === owner && before.shared === shared && this.#isNamed(before))
      return before.caps;
    const countedId = countedIdOf(scope, this.#directory);
    const terms = shared === null ? owner.budget : joined(owner.budget, shared.budget);
    const teamId = Object.keys(terms.modelMaxBudget).length === 0 ? null : aliasTeamOf(scope, owner);
    const team = teamId === null ? null : this.#directory.team(teamId);
    const key = 'aliases' in owner ? owner : null;
    const caps = capsOf(scope, terms, countedId, (model) => aliasTarget(model, team, key));
    if (prepared.size >= this.#mostPrepared(scope.kind)) prepared.clear(); // some of them are gone
    prepared.set(scope.id, { owner, shared, renaming: teamId === null ? null : { teamId, team }, caps });
    return caps;
  }

  /** Whether the team whose aliases caps went by is as it was. */
  #isNamed({ renaming }: Prepared): boolean {
    return renaming === null || this.#directory.team(renaming.teamId) === renaming.team;
  }

  #mostPrepared(kind: ScopeKind): number {
    const objects = OBJECTS[kind];
    const here = objects === undefined ? Infinity : this.#directory.count(objects);
    return Math.min(MOST_PREPARED, here + MOST_GONE);
  }

  /** The object that states the budget of a scope, or null. */
  #ownerOf({ kind, id }: Scope): Owner | null {
    const directory = this.#directory;
    switch (kind) {
      case 'key':
        return directory.key(id);
      case 'team':
        return directory.team(id);
      case 'user':
        return directory.user(id);
      case 'end_user':
        return directory.customer(id);
      case 'organization':
        return directory.organization(id);
      case 'tag':
        return directory.tag(id);
      case 'member':
        return this.#memberOf(id);
      default:
        return null;
    }
  }

  #memberOf(id: string): TeamMember | null {
    const { teamId, userId } = memberOf(id);
    const team = this.#directory.team(teamId);
    if (team === null) return null;
    let members = this.#members.get(team);
    if (members === undefined) {
      members = new Map(team.members.map((member) => [member.userId, member]));
      this.#members.set(team, members);
    }
    return members.get(userId) ?? null;
  }

  /** The shared budget of members without one of their own. */
  #defaultIdOf({ kind, id }: Scope): string | null {
    return kind === 'member' ? (this.#directory.team(memberOf(id).teamId)?.memberBudgetId ?? null) : null;
  }

  #ofRules(scope: Scope): readonly Cap[] {
    const ids = this.#rules.get(scope.kind);
    if (ids === undefined) return NO_CAPS;
    const name = `${scope.kind}:${scope.id}`;
    const kept = this.#ruleCaps.get(name);
    if (kept !== undefined) return kept;
    const rules = ids.get(scope.id) ?? ids.get('*') ?? [];
    const countedId = countedIdOf(scope, this.#directory);
    const stated = rules.flatMap((rule) => capsOf(scope, { ...NO_BUDGET, ...termsOf(rule) }, countedId));
    const caps = apart(stated).map((cap) => ({ ...cap, counter: `${cap.counter}${RULE_MARK}` }));
    if (this.#ruleCaps.size >= MOST_KEPT) this.#ruleCaps.clear();
    this.#ruleCaps.set(name, caps);
    return caps;
  }
}

/** The team whose aliases calls that an object pays for are served by. Keys of a user may be of many teams: none. */
function aliasTeamOf({ kind, id }: Scope, owner: Owner): string | null {
  if (kind === 'member') return memberOf(id).teamId;
  if (kind === 'team') return id;
  return 'teamId' in owner ? owner.teamId : null;
}

const termsOf = ({ maxBudget, softBudget, budgetDuration }: BudgetRule): Partial<BudgetTerms> => ({
  maxBudget,
  softBudget,
  budgetDuration,
});

/** What an object states itself wins over the shared terms, amount and duration together. */
function joined(own: BudgetTerms, shared: BudgetTerms): BudgetTerms {
  const main = own.maxBudget !== null || own.softBudget !== null ? own : shared;
  return {
    maxBudget: main.maxBudget,
    softBudget: main.softBudget,
    budgetDuration: main.budgetDuration,
    budgetSetMs: own.budgetSetMs === 0 ? shared.budgetSetMs : own.budgetSetMs,
    budgetLimits: own.budgetLimits.length > 0 ? own.budgetLimits : shared.budgetLimits,
    modelMaxBudget: Object.keys(own.modelMaxBudget).length > 0 ? own.modelMaxBudget : shared.modelMaxBudget,
    temporaryIncrease: own.temporaryIncrease,
    countFrom: own.countFrom,
  };
}
