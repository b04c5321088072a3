// A model name -> its failover plan: which deployment gets the call, and which one next when that fails. Applies the
// configuration's rules to `routing/failover-plan.ts`.
import type { Routing } from '../../config/snapshot.ts';
import { ALL_MODELS, type CallerModels } from '../access/model-access.ts';
import type { ActiveConfig, LiveDeployment } from '../active-config/active-config.ts';
import { FailoverPlan, type FailureKind, type FailoverPolicy } from '../routing/failover-plan.ts';
import { rank } from '../routing/rank.ts';
import { retriesOf, UNSTATED_RETRIES } from '../routing/retries.ts';
import { selectedAlone } from './addressed.ts';
import { askedOf } from './asked-of.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { groupOf, servedGroup, type LiveModelGroup, type SelectedDeployment } from './select-deployment.ts';
import type { Translations } from './translations.ts';

/** Where one call goes first, and where when that fails. */
export type CallPlan = FailoverPlan<LiveDeployment, LiveModelGroup>;

/** The deployment that gets the next attempt. */
export const selectedBy = ({ group, deployment }: CallPlan): SelectedDeployment => group.select(deployment);

/** Whether another deployment could go on with the stream of this call, if it broke off where the plan stands. */
export function isContinuable(
  { continueOverFallbacks, continueByRepeat }: Routing,
  request: ParsedRequest,
  plan: CallPlan,
): boolean {
  if (!request.stream || !request.isSingle || request.endpoint.protocol.continuation === null) return false;
  if (!askedOf(request, selectedBy(plan)).isSingle) return false;
  const continuers = plan.continuers(continueOverFallbacks);
  return continuers.some(({ config }) => config.assistantPrefill || continueByRepeat);
}

const UNSTATED = { count: UNSTATED_RETRIES, again: false } as const;

/** Where a call may go, beside what the configuration says. */
interface PlanScope {
  /** What the caller may call: fallbacks and deployments that it may not call are left out. */
  readonly allowed?: CallerModels;
  /** Deployments that may not have the call; null = there are none. */
  readonly excluded?: ReadonlySet<LiveDeployment> | null;
  /** Knows which deployments can be told what the call holds; null = all can. */
  readonly translations?: Translations | null;
  /** What the client states in place of the configuration's fallbacks; null = nothing. */
  readonly fallbacks?: readonly string[] | null;
}

/** @throws Fault model_not_found, provider_required. */
export function planCall(
  active: ActiveConfig,
  model: string,
  { sessionId, sessionSource }: Pick<Identity, 'sessionId' | 'sessionSource'>,
  scope: PlanScope = {},
): CallPlan {
  const session = sessionSource === 'generated' ? null : sessionId; // a fresh id binds a call to nothing
  const policy = new Policy(active, groupOf(active, model, scope.allowed), session, scope);
  const isEmpty = policy.first.deployments.length === 0; // all of it is excluded
  const first = isEmpty ? (policy.fallbacks('server')[0] ?? policy.first) : policy.first;
  return new FailoverPlan(first, policy, active.services.clock.mono());
}

/** The plan of a request: to the deployment that it names, else to those of the name, then to its own fallbacks. @throws as `planCall` */
export function planRequest(
  active: ActiveConfig,
  { only, model, ownFallbacks }: ParsedRequest,
  identity: Pick<Identity, 'sessionId' | 'sessionSource'>,
  scope: Omit<PlanScope, 'fallbacks'>,
): CallPlan {
  if (only !== undefined) return planSingle(active, selectedAlone(only));
  return planCall(active, model, identity, { ...scope, fallbacks: ownFallbacks ?? null });
}

/** Counts a plan that starts at a fallback as after a failed attempt: by the entries, since clients choose names below a wildcard. */
export function countSkipped({ services }: ActiveConfig, { skipped, deployment }: CallPlan): void {
  const [from] = skipped?.deployments ?? [];
  if (from !== undefined) services.metrics.fellBack(from.config.group, deployment.config.group);
}

/**
 * The same of a plan in place of `planned`, which starts at a fallback because no deployment of the requested name has room: it knows
 * nothing of that name, whether or not `planned` had skipped it.
 */
export function countAvoided({ services }: ActiveConfig, planned: CallPlan, usable: CallPlan): void {
  const { name, deployments } = planned.skipped ?? planned.group;
  const [from] = deployments;
  if (from === undefined || usable.skipped !== null || usable.group.name === name) return;
  services.metrics.fellBack(from.config.group, usable.deployment.config.group);
}

/** The plan of a call that only one deployment can serve: one attempt. */
export function planSingle(active: ActiveConfig, selected: SelectedDeployment): CallPlan {
  const { deployment } = selected;
  const { clock, random } = active.services;
  const group: LiveModelGroup = {
    name: deployment.config.group,
    deployments: [deployment],
    select: () => selected,
  };
  const policy: FailoverPolicy<LiveDeployment, LiveModelGroup> = {
    takes: () => true, // a refusal says why
    retries: () => ({ count: 0, again: false }),
    hasFallbacks: false,
    fallbacks: () => [],
    maxFallbacks: 0,
    sameFirst: { count: 0, longestMs: 0 },
    spend: () => false,
    minPauseMs: 0,
    random,
  };
  return new FailoverPlan(group, policy, clock.mono());
}

/** The kinds of failure with a retry count of their own, beside `server`. */
const STATED: Readonly<Partial<Record<FailureKind, 'timeout' | 'rateLimit'>>> = {
  timeout: 'timeout',
  rate_limit: 'rateLimit',
};

class Policy implements FailoverPolicy<LiveDeployment, LiveModelGroup> {
  readonly first: LiveModelGroup;
  readonly #active: ActiveConfig;
  readonly #session: string | null;
  readonly #allowed: CallerModels;
  readonly #excluded: ReadonlySet<LiveDeployment> | null;
  readonly #ownFallbacks: readonly string[] | null;
  readonly #translations: Translations | null;

  constructor(
    active: ActiveConfig,
    group: LiveModelGroup,
    session: string | null,
    { allowed = ALL_MODELS, excluded = null, fallbacks = null, translations = null }: PlanScope,
  ) {
    this.#translations = translations;
    this.#excluded = excluded;
    this.#ownFallbacks = fallbacks;
    this.#allowed = allowed;
    this.#active = active;
    this.#session = session;
    this.first = this.#ranked(group);
  }

  takes(group: LiveModelGroup, deployment: LiveDeployment): boolean {
    return this.#translations === null || this.#translations.wayTo(group.select(deployment)) !== 'not at all';
  }

  retries(kind: FailureKind): { readonly count: number; readonly again: boolean } {
    const { name, deployments } = this.first;
    const count = retriesOf(this.#routing, deployments[0]?.config, STATED[kind], name);
    return count === null ? UNSTATED : { count, again: true };
  }

  get hasFallbacks(): boolean {
    const { contextWindowFallbacks: context, contentPolicyFallbacks: content } = this.#routing;
    return (
      this.#ownFallbacks !== null ||
      generalFallbacks(this.#routing, this.first.name).length > 0 ||
      context.size > 0 ||
      content.size > 0
    );
  }

  fallbacks(kind: FailureKind): readonly LiveModelGroup[] {
    const { contextWindowFallbacks: context, contentPolicyFallbacks: content } = this.#routing;
    const { name } = this.first;
    const byKind = { context_window: context, content_policy: content };
    const names =
      kind === 'context_window' || kind === 'content_policy'
        ? (byKind[kind].get(name) ?? byKind[kind].get('*') ?? [])
        : (this.#ownFallbacks ?? chainOf(this.#routing, name));
    return names.flatMap((one) => this.#group(one));
  }

  get maxFallbacks(): number {
    return this.#routing.maxFallbacks;
  }

  spend(): boolean {
    return this.#active.services.retryBudget.spend(this.#routing.retryBudget);
  }

  get sameFirst(): Routing['sameFirst'] {
    return this.#routing.sameFirst;
  }

  get minPauseMs(): number {
    return this.#routing.retryAfterMs;
  }

  get random(): () => number {
    return this.#active.services.random;
  }

  get #routing(): Routing {
    return this.#active.snapshot.routing;
  }

  #ranked(group: LiveModelGroup): LiveModelGroup {
    const usable = this.#usable(group);
    if (usable.length <= 1)
      return usable.length === group.deployments.length ? group : { ...group, deployments: usable };
    const { clock, random } = this.#active.services;
    return {
      ...group,
      deployments: rank(usable, this.#routing, this.#session, random, clock.mono()),
    };
  }

  #usable({ deployments }: LiveModelGroup): readonly LiveDeployment[] {
    const excluded = this.#excluded;
    return excluded === null ? deployments : deployments.filter((one) => !excluded.has(one));
  }

  /** The group of a fallback name; empty where the caller may not call it, or no deployment can serve it. */
  #group(name: string): readonly LiveModelGroup[] {
    if (!this.#allowed.allows(name, this.#routing.aliases.get(name) ?? name)) return [];
    const group = servedGroup(this.#active, name, this.#allowed);
    const ranked = group === null ? null : this.#ranked(group);
    return ranked === null || ranked.deployments.length === 0 ? [] : [ranked];
  }
}

function generalFallbacks({ fallbacks, defaultFallbacks }: Routing, name: string): readonly string[] {
  return fallbacks.get(name) ?? fallbacks.get('*') ?? defaultFallbacks;
}

/**
 * Every deployment that may get this request, whatever fails on the way.
 * @throws Fault model_not_found, provider_required
 */
export function reachableDeployments(
  active: ActiveConfig,
  { only, model, ownFallbacks }: ParsedRequest,
  allowed: CallerModels,
): readonly LiveDeployment[] {
  if (only !== undefined) return [only];
  const policy = new Policy(active, groupOf(active, model, allowed), null, {
    allowed,
    fallbacks: ownFallbacks ?? null,
  });
  const kinds: readonly FailureKind[] = ['server', 'context_window', 'content_policy'];
  const groups = [policy.first, ...kinds.flatMap((kind) => policy.fallbacks(kind))];
  return [...new Set(groups.flatMap(({ deployments }) => deployments))];
}

/** All fallback names of `start`, depth first: a name, its own fallbacks, the next name; none twice. */
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
