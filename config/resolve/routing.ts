// `router_settings`, or the older place `litellm_settings` -> Routing: strategy, retries and fallbacks. It checks that
// every fallback name exists, so that the first outage does not reveal a typo. Pure.
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile, ModelEntry } from '../gateway-file.ts';
import { nearest } from '../nearest.ts';
import { shownName } from '../shown.ts';
import type {
  FallbackTable,
  RetryPolicy,
  Deployment,
  Routing,
  StrategyName,
  WildcardGroup,
} from '../snapshot.ts';
import type { Path } from '../tree.ts';

/** Defaults for deployments without their own values. */
export interface AttemptDefaults {
  /** `default_litellm_params.num_retries`; null = the router-wide setting. */
  readonly numRetries: number | null;
  readonly cooldownSeconds: number | string;
}

/** All names that can be served, and why others cannot. */
export interface Names {
  readonly groups: ReadonlyMap<string, readonly Deployment[]>;
  readonly wildcards: readonly WildcardGroup[];
  /** Names of entries that are skipped (`skip_unsupported_models`). */
  readonly leftOut: ReadonlySet<string>;
  /** Names of entries that have their own issues; nothing more is reported about them. */
  readonly broken: ReadonlySet<string>;
  /** Models may come from the store later, so an unknown name is only a warning. */
  readonly stored: boolean;
}

type Router = GatewayFile['router_settings'];
type Section = 'router_settings' | 'litellm_settings';
type FallbackKey = 'fallbacks' | 'context_window_fallbacks' | 'content_policy_fallbacks';
type PolicyFile = NonNullable<Router['retry_policy']>;

/** LiteLLM's defaults. */
const COOLDOWN_SECONDS = 5;
const ALLOWED_FAILS = 3;
/** How the names of strategies begin that count requests and tokens per minute. */
const COUNTING = 'usage-based-routing';
const STRATEGIES: readonly string[] = ['simple-shuffle', 'least-busy', 'latency-based-routing'];

export function attemptDefaults({
  router_settings: router,
  litellm_settings: litellm,
}: GatewayFile): AttemptDefaults {
  const params = router.default_litellm_params;
  return {
    numRetries: wholeOf(params.num_retries),
    cooldownSeconds:
      params.cooldown_time ?? router.cooldown_time ?? litellm.cooldown_time ?? COOLDOWN_SECONDS,
  };
}

/** A whole number as written, null when it is not. */
export function wholeOf(value: number | string | undefined): number | null {
  return value === undefined ? null : Number(value);
}

export function routingOf(file: GatewayFile, names: Names, diagnostics: Diagnostics): Routing {
  const { general_settings: general, router_settings: router, litellm_settings: litellm } = file;
  const aliases = aliasesOf(router, names, diagnostics);
  const known = { ...names, aliases };
  const table = (key: FallbackKey): FallbackTable => fallbacksOf(file, key, known, diagnostics);
  const fallbacks = table('fallbacks');
  warnCircles(fallbacks, sectionOf(file, 'fallbacks'), diagnostics);
  warnWithoutEffect(file, diagnostics);
  return {
    strategy: strategyOf(file, diagnostics),
    sessionAffinity: router.session_affinity,
    numRetries: wholeOf(router.num_retries ?? litellm.num_retries),
    retryPolicy: policyOf(router.retry_policy ?? {}),
    groupRetryPolicy: groupPolicies(router, known, diagnostics),
    retryAfterMs: Math.round(Number(router.retry_after) * 1000),
    retryBudget: Number(router.retry_budget),
    fallbacks,
    contextWindowFallbacks: table('context_window_fallbacks'),
    contentPolicyFallbacks: table('content_policy_fallbacks'),
    defaultFallbacks: defaultsOf(file, known, diagnostics),
    maxFallbacks: Number(router.max_fallbacks),
    sameFirst: {
      count: Number(router.retry_same_first),
      longestMs: Math.round(Number(router.retry_same_max_wait) * 1000),
    },
    continueOverFallbacks: router.continue_over_fallbacks,
    continueByRepeat: router.continue_by_repeat,
    aliases,
    listedAliases: [...aliases.keys()].filter((name) => !isHidden(router.model_group_alias?.[name])),
    allowedFails: router.disable_cooldowns
      ? Infinity
      : Number(router.allowed_fails ?? litellm.allowed_fails ?? ALLOWED_FAILS),
    healthCheckMs: general.background_health_checks
      ? Math.max(1, Math.round(Number(general.health_check_interval) * 1000))
      : null,
  };
}

/** Settings that another one takes the effect of. */
function warnWithoutEffect(file: GatewayFile, diagnostics: Diagnostics): void {
  const { router_settings: router, litellm_settings: litellm, model_list: entries } = file;
  const retries = wholeOf(router.num_retries ?? litellm.num_retries);
  if (Number(router.retry_same_first) > 0 && retries === 0)
    diagnostics.warn(
      ['router_settings', 'retry_same_first'],
      'has no effect: num_retries is 0, and each of these attempts is a retry',
      'raise num_retries, or leave retry_same_first out',
    );
  const takesPrefill = (entry: Partial<ModelEntry> | null): boolean =>
    entry?.litellm_params?.assistant_prefill === true;
  const canContinue = router.continue_by_repeat || entries.some(takesPrefill);
  if (router.continue_over_fallbacks && !canContinue)
    diagnostics.warn(
      ['router_settings', 'continue_over_fallbacks'],
      'has no effect: no deployment has assistant_prefill, and continue_by_repeat is off',
      'declare assistant_prefill on a deployment that continues a text, or set continue_by_repeat: true',
    );
}

function strategyOf(file: GatewayFile, diagnostics: Diagnostics): StrategyName {
  const name = file.router_settings.routing_strategy;
  if (STRATEGIES.includes(name)) return name as StrategyName;
  if (name.startsWith(COUNTING)) refuseLimits(file, name, diagnostics);
  diagnostics.warn(
    ['router_settings', 'routing_strategy'],
    `${name} is served as simple-shuffle`,
    `write one of ${STRATEGIES.join(', ')}`,
  );
  return 'simple-shuffle';
}

/** With these strategies LiteLLM passes over a deployment that is at its `rpm` or `tpm`; here they are shares. */
function refuseLimits(
  { model_list: entries }: GatewayFile,
  strategy: string,
  diagnostics: Diagnostics,
): void {
  entries.forEach((entry: Partial<ModelEntry> | null, index) => {
    for (const key of ['rpm', 'tpm'] as const) {
      if (entry?.litellm_params?.[key] === undefined) continue;
      diagnostics.error(
        ['model_list', index, 'litellm_params', key],
        `would limit nothing: it is a share of the group here, which ${strategy} would enforce as a limit`,
        'bound the deployment by max_parallel_requests, and write routing_strategy: simple-shuffle to keep the share',
        'key',
      );
    }
  });
}

function policyOf(policy: PolicyFile): RetryPolicy {
  const [timeout, rateLimit, server] = [
    wholeOf(policy.TimeoutErrorRetries),
    wholeOf(policy.RateLimitErrorRetries),
    wholeOf(policy.InternalServerErrorRetries),
  ];
  return {
    ...(timeout === null ? {} : { timeout }),
    ...(rateLimit === null ? {} : { rateLimit }),
    ...(server === null ? {} : { server }),
  };
}

function groupPolicies(
  router: Router,
  known: Known,
  diagnostics: Diagnostics,
): ReadonlyMap<string, RetryPolicy> {
  const policies = new Map<string, RetryPolicy>();
  for (const [name, policy] of Object.entries(router.model_group_retry_policy ?? {})) {
    warnUnused(name, ['router_settings', 'model_group_retry_policy', name], known, diagnostics);
    policies.set(known.aliases.get(name) ?? name, policyOf(policy));
  }
  return policies;
}

type Known = Names & { readonly aliases: ReadonlyMap<string, string> };
type AliasFile = NonNullable<Router['model_group_alias']>[string];

const isHidden = (alias: AliasFile | undefined): boolean =>
  typeof alias === 'object' && alias.hidden === true;

function aliasesOf(router: Router, names: Names, diagnostics: Diagnostics): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  const known = { ...names, aliases: new Map<string, string>() };
  for (const [name, alias] of Object.entries(router.model_group_alias ?? {})) {
    const path = ['router_settings', 'model_group_alias', name];
    const model = typeof alias === 'string' ? alias : alias.model;
    if (names.groups.has(name))
      diagnostics.warn(path, 'is also a model_name, which wins', 'remove one of the two', 'key');
    else if (isServed(model, typeof alias === 'string' ? path : [...path, 'model'], known, diagnostics))
      aliases.set(name, model);
  }
  return aliases;
}

/** The section whose list is used: that of router_settings replaces the other one, as in LiteLLM. */
function sectionOf(file: GatewayFile, key: FallbackKey | 'default_fallbacks'): Section {
  return file.router_settings[key] === undefined ? 'litellm_settings' : 'router_settings';
}

function fallbacksOf(
  file: GatewayFile,
  key: FallbackKey,
  known: Known,
  diagnostics: Diagnostics,
): FallbackTable {
  const table = new Map<string, readonly string[]>();
  const section = sectionOf(file, key);
  (file[section][key] ?? []).forEach((row, index) => {
    for (const [name, others] of Object.entries(row)) {
      const path = [section, key, index, name];
      const model = known.aliases.get(name) ?? name;
      if (name !== '*') warnUnused(name, path, known, diagnostics);
      const sound = others.filter((other, at) => {
        if ((known.aliases.get(other) ?? other) !== model)
          return isServed(other, [...path, at], known, diagnostics);
        diagnostics.error([...path, at], 'falls back to itself', 'name another one, or remove it');
        return false;
      });
      table.set(model, [...(table.get(model) ?? []), ...sound]);
    }
  });
  return table;
}

function defaultsOf(file: GatewayFile, known: Known, diagnostics: Diagnostics): readonly string[] {
  const section = sectionOf(file, 'default_fallbacks');
  return (file[section].default_fallbacks ?? []).filter((name, index) =>
    isServed(name, [section, 'default_fallbacks', index], known, diagnostics),
  );
}

function serves(name: string, { groups, wildcards, aliases }: Known): boolean {
  return groups.has(name) || aliases.has(name) || wildcards.some(({ regex }) => regex.test(name));
}

/** Whether a fallback name is served; reports an issue when not. */
function isServed(name: string, path: Path, known: Known, diagnostics: Diagnostics): boolean {
  if (serves(name, known)) return true;
  if (known.broken.has(name)) return false;
  if (known.leftOut.has(name)) {
    diagnostics.warn(
      path,
      `the entry of ${shownName(name)} is skipped, so this is skipped too`,
      'remove it, or fix the entry',
    );
    return false;
  }
  const near = nearest(name, [...known.groups.keys()]);
  const fix = near === null ? 'name a model_name of model_list' : `did you mean ${near}?`;
  const message = `no entry of model_list serves ${shownName(name)}`;
  if (known.stored) diagnostics.warn(path, `${message} (it may come from the store)`, fix);
  else diagnostics.error(path, message, fix);
  return known.stored;
}

function warnUnused(name: string, path: Path, known: Known, diagnostics: Diagnostics): void {
  if (serves(name, known) || known.broken.has(name) || known.leftOut.has(name)) return;
  const near = nearest(name, [...known.groups.keys()]);
  const fix = near === null ? 'remove it, or add the model' : `did you mean ${near}?`;
  diagnostics.warn(
    path,
    `no entry of model_list serves ${shownName(name)}, so this is never used`,
    fix,
    'key',
  );
}

/** Warns about cycles. They are common and harmless, because each name is tried once. */
function warnCircles(table: FallbackTable, section: Section, diagnostics: Diagnostics): void {
  const done = new Set<string>();
  const walk = (name: string, way: readonly string[]): void => {
    const at = way.indexOf(name);
    if (at >= 0) {
      const shown = [...way.slice(at), name].map(shownName).join(' -> ');
      diagnostics.warn(
        [section, 'fallbacks'],
        `forms a cycle: ${shown}; each name is tried once`,
        'leave it if this is intended',
        'key',
      );
    }
    if (done.has(name)) return;
    done.add(name);
    for (const other of table.get(name) ?? []) walk(other, [...way, name]);
  };
  for (const name of table.keys()) walk(name, []);
}
