// Ask -> itinerary: which entry gets the call, and which next when that fails. The rules of the configuration, put into
// the words of `routing/itinerary.ts`.
import type { Routing } from '../../config/snapshot.ts';
import { Fault } from '../errors/fault.ts';
import type { Live, Target } from '../live.ts';
import { Itinerary, type FailureKind, type TravelRules } from '../routing/itinerary.ts';
import { rank } from '../routing/rank.ts';
import type { Ask } from './ask.ts';
import { findGroup, groupOf, type Group, type Picked } from './pick.ts';

export type Trip = Itinerary<Target, Group>;

/** Retries where nobody stated a number: on other entries only, so a name with one entry is never asked twice. */
const UNSTATED = { count: 2, again: false } as const;

/** @throws Fault model_not_found, provider_required. */
export function plan(live: Live, ask: Pick<Ask, 'model' | 'identity'>): Trip {
  const { sessionId, sessionSource } = ask.identity;
  const session = sessionSource === 'generated' ? null : sessionId; // a fresh id binds a call to nothing
  const rules = new Rules(live, groupOf(live, ask.model), session);
  return new Itinerary(rules.first, rules, live.house.clock.mono());
}

/** A call that one entry alone can serve: it is asked once. */
export function planFor(live: Live, picked: Picked): Trip {
  const { target } = picked;
  const { clock, random } = live.house;
  const group: Group = { name: target.route.group, entries: [target], picked: () => picked };
  const rules: TravelRules<Group> = {
    retries: () => ({ count: 0, again: false }),
    hasFallbacks: false,
    fallbacks: () => [],
    maxFallbacks: 0,
    spend: () => false,
    floorMs: 0,
    random,
  };
  return new Itinerary(group, rules, clock.mono());
}

class Rules implements TravelRules<Group> {
  readonly first: Group;
  readonly #live: Live;
  readonly #session: string | null;

  constructor(live: Live, group: Group, session: string | null) {
    this.#live = live;
    this.#session = session;
    this.first = this.#ranked(group);
  }

  retries(kind: FailureKind): { readonly count: number; readonly again: boolean } {
    const { groupRetryPolicy, retryPolicy, numRetries } = this.#routing;
    const member = kind === 'timeout' ? 'timeout' : kind === 'rate_limit' ? 'rateLimit' : 'server';
    const count =
      groupRetryPolicy.get(this.first.name)?.[member] ??
      retryPolicy[member] ??
      this.first.entries[0]?.route.numRetries ??
      numRetries;
    return count === null ? UNSTATED : { count, again: true };
  }

  get hasFallbacks(): boolean {
    const { contextWindowFallbacks: context, contentPolicyFallbacks: content } = this.#routing;
    return (
      generalFallbacks(this.#routing, this.first.name).length > 0 || context.size > 0 || content.size > 0
    );
  }

  fallbacks(kind: FailureKind): readonly Group[] {
    const { contextWindowFallbacks: context, contentPolicyFallbacks: content } = this.#routing;
    const { name } = this.first;
    const names =
      kind === 'context_window'
        ? (context.get(name) ?? context.get('*') ?? [])
        : kind === 'content_policy'
          ? (content.get(name) ?? content.get('*') ?? [])
          : chainOf(this.#routing, name);
    return names.flatMap((one) => this.#group(one));
  }

  get maxFallbacks(): number {
    return this.#routing.maxFallbacks;
  }

  spend(): boolean {
    return this.#live.house.budget.spend(this.#routing.retryBudget);
  }

  get floorMs(): number {
    return this.#routing.retryAfterMs;
  }

  get random(): () => number {
    return this.#live.house.random;
  }

  get #routing(): Routing {
    return this.#live.snapshot.routing;
  }

  #ranked(group: Group): Group {
    if (group.entries.length === 1) return group;
    const { clock, random } = this.#live.house;
    return { ...group, entries: rank(group.entries, this.#routing, this.#session, random, clock.mono()) };
  }

  /** A name that is to take over; none where the store has not brought its model, or no entry can serve it. */
  #group(name: string): readonly Group[] {
    try {
      const group = findGroup(this.#live, name);
      return group === null ? [] : [this.#ranked(group)];
    } catch (error) {
      if (error instanceof Fault) return [];
      throw error;
    }
  }
}

function generalFallbacks({ fallbacks, defaultFallbacks }: Routing, name: string): readonly string[] {
  return fallbacks.get(name) ?? fallbacks.get('*') ?? defaultFallbacks;
}

/** All names that take over for `start`, depth first: a name, its own fallbacks, the next name; none twice. */
export function chainOf(routing: Routing, start: string): readonly string[] {
  const names = new Set([start]);
  const walk = (name: string): void => {
    for (const other of generalFallbacks(routing, name)) {
      const model = routing.aliases.get(other) ?? other;
      if (names.has(model) || names.size > routing.maxFallbacks) continue;
      names.add(model);
      walk(model);
    }
  };
  walk(start);
  names.delete(start);
  return [...names];
}
