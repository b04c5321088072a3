// What changes for callers between two configurations. Models are compared by name and place; every other setting of a
// snapshot by its path, so that a setting that is added later is compared without a line here, and named as the file names
// it. No change shows a secret: only that it is another one. Pure.
import type { AddressRange, FileKey } from './access-settings.ts';
import type { BudgetRule } from './budget-settings.ts';
import { Secret } from './secret.ts';
import { deploymentTermName, settingName, termName } from './setting-names.ts';
import type { Deployment, RetryPolicy, Snapshot } from './snapshot.ts';

export interface Change {
  readonly about: 'model' | 'key' | 'team' | 'setting';
  readonly change: 'added' | 'removed' | 'changed';
  /** The name of the model, key or team; a setting as the file names it. */
  readonly name: string;
  /** What of it; '' = all of it. */
  readonly what: string;
  /** null = there is none. */
  readonly before: string | null;
  readonly after: string | null;
  /** A running proxy keeps the old value until it is started again. */
  readonly needsRestart: boolean;
}

/** Compared by name below. */
const BY_NAME = ['deployments', 'groups', 'wildcards'];
/** Say nothing to callers, or follow from what is compared. */
const LEFT_OUT = ['version', 'files', 'disabled', 'warnings', 'forwards'];
/** The same, of their members. */
const FOLLOWING = new Set([
  'dialect.proxyPrefix',
  'dialect.compatPrefix',
  'dialect.headerPrefix',
  'dialect.sdkHeaderPrefix',
  'dialect.sessionHeader',
  'overload.isLimited',
  'database.shown',
  'valkey.shown',
  'tls.sha256',
  'alerts.spendAnomaly.days',
  'prices.version',
  'cataloguePrices.version',
]);
/** Read at the start only: what a running proxy says of a change. `x-restart` of schemas/gateway.json marks the keys that lead here. */
const AT_START = {
  database: 'general_settings.database_url',
  valkey: 'the Valkey or Redis that counters are shared by',
  admin: 'general_settings.admin_port or admin_host',
  otel: 'tracing',
  workers: 'general_settings.workers',
  allowUnauthenticated: 'general_settings.allow_unauthenticated',
  capsules: 'general_settings.capsules or its directory',
} as const;
/** Of these parts the rest is taken over while the proxy runs; that they come or go never is. */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  capsules: ['directory'],
  tls: [],
  platform: [
    'secretKey',
    'port',
    'host',
    'sandbox.driver',
    'sandbox.isolation',
    'sandbox.dockerSocket',
    'kubernetes',
  ],
};
/** Out of service as soon as the file has them no more; only that they come needs a restart. `x-restart: addition`. */
const ENDED_AT_ONCE = new Set(['capsules']);

/** Of a deployment: what follows from other members, and ids that change with every member. */
const DERIVED = new Set([
  'id',
  'group',
  'source',
  'model',
  'origin',
  'pathPrefix',
  'apiBase',
  'upstreamModel',
  'publicParams',
  'knownFacts',
  'steeringParameters',
  'refuseLinkLocal',
  'gateway',
  'provider',
]);

type Flat = ReadonlyMap<string, Shown>;

/** `text` may be shown; `same` is compared. */
interface Shown {
  readonly text: string;
  readonly same: string;
}

/** Every change from `before` to `after`, models first, each kind by name. */
export function changesBetween(before: Snapshot, after: Snapshot): readonly Change[] {
  return [...modelChanges(before, after), ...accessChanges(before, after), ...settingChanges(before, after)];
}

function modelChanges(before: Snapshot, after: Snapshot): Change[] {
  const [old, now] = [byName(before), byName(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].toSorted();
  return names.flatMap((name) => {
    const about = { about: 'model', name, needsRestart: false } as const;
    const [was, is] = [old.get(name), now.get(name)];
    if (was === undefined)
      return [{ ...about, change: 'added', what: '', before: null, after: placesText(is ?? []) }];
    if (is === undefined)
      return [{ ...about, change: 'removed', what: '', before: placesText(was), after: null }];
    return [...placeChanges(name, was, is), ...deploymentChanges(name, was, is)];
  });
}

function byName(snapshot: Snapshot): Map<string, readonly Deployment[]> {
  const found = new Map<string, readonly Deployment[]>(snapshot.groups);
  for (const { pattern, deployments } of snapshot.wildcards) found.set(pattern, deployments);
  return found;
}

const placeOf = ({ apiBase, upstreamModel }: Deployment): string => `${apiBase} as ${upstreamModel}`;
const placesText = (deployments: readonly Deployment[]): string => deployments.map(placeOf).join(', ');

function placeChanges(name: string, was: readonly Deployment[], is: readonly Deployment[]): Change[] {
  const [before, after] = [was, is].map((some) => some.map(placeOf).toSorted().join(', '));
  if (before === undefined || after === undefined || before === after) return [];
  return [{ about: 'model', change: 'changed', name, what: 'served by', before, after, needsRestart: false }];
}

/** Deployments that stay at their place; several at one place are compared in their order. */
function deploymentChanges(name: string, was: readonly Deployment[], is: readonly Deployment[]): Change[] {
  const numbered = (some: readonly Deployment[]): Map<string, Deployment> => {
    const found = new Map<string, Deployment>();
    for (const one of some) {
      let key = placeOf(one);
      while (found.has(key)) key += ' ';
      found.set(key, one);
    }
    return found;
  };
  const [old, now] = [numbered(was), numbered(is)];
  const isAlone = old.size === 1 && now.size === 1;
  return [...old].flatMap(([place, deployment]) => {
    // A model that has one deployment keeps its terms wherever it moves.
    const other = isAlone ? is[0] : now.get(place);
    if (other === undefined) return [];
    const where = isAlone ? '' : ` at ${place.trim()}`;
    return flatChanges(termsOf(deployment), termsOf(other)).map((change) => ({
      ...change,
      about: 'model' as const,
      name,
      what: `${deploymentTermName(change.what)}${where}`,
      needsRestart: false,
    }));
  });
}

function termsOf(deployment: Deployment): Flat {
  const terms: Record<string, unknown> = { gateway: deployment.gateway.name };
  for (const [key, value] of Object.entries(deployment)) if (!DERIVED.has(key)) terms[key] = value as unknown;
  terms['staticHeaders'] = Object.fromEntries(deployment.staticHeaders);
  const { settings = {}, extra = [] } = deployment.statedMembers ?? {};
  terms['statedMembers'] = { settings, extra: Object.fromEntries(extra) };
  terms['statedInfo'] = withoutId(deployment.statedInfo);
  return settled(flat(terms));
}

function withoutId({ id: _id, db_model: _stored, ...rest }: Readonly<Record<string, unknown>>): object {
  return rest;
}

/** The last four characters follow from the value. */
function keyTerms({ expiresMs, lastFour: _lastFour, ...key }: FileKey): object {
  return { ...key, expires: expiresMs === null ? null : new Date(expiresMs).toISOString() };
}

function accessChanges(before: Snapshot, after: Snapshot): Change[] {
  const parts = [
    ['key', (one: Snapshot) => new Map(one.access.keys.map((key) => [key.alias, keyTerms(key)]))],
    ['team', (one: Snapshot) => new Map(one.access.teams.map((team) => [team.id, team]))],
  ] as const;
  return parts.flatMap(([about, mapOf]) => {
    const [old, now] = [mapOf(before), mapOf(after)] as readonly ReadonlyMap<string, unknown>[];
    if (old === undefined || now === undefined) return [];
    const names = [...new Set([...old.keys(), ...now.keys()])].toSorted();
    return names.flatMap((name): Change[] => {
      const base = { about, name, needsRestart: false };
      if (!old.has(name)) return [{ ...base, change: 'added', what: '', before: null, after: 'present' }];
      if (!now.has(name)) return [{ ...base, change: 'removed', what: '', before: 'present', after: null }];
      return flatChanges(flat(old.get(name)), flat(now.get(name))).map((change) => ({
        ...change,
        ...base,
        what: termName(change.what),
      }));
    });
  });
}

function settingChanges(before: Snapshot, after: Snapshot): Change[] {
  return flatChanges(settingsOf(before, after), settingsOf(after, before)).map(({ what, ...change }) => ({
    ...change,
    about: 'setting',
    name: settingName(what),
    what: '',
    needsRestart: needsRestart(what, before, after),
  }));
}

/** @param what a path of a snapshot that differs */
function needsRestart(what: string, before: Snapshot, after: Snapshot): boolean {
  const [part = ''] = what.split('.');
  const fixed = FIXED[part];
  if (fixed === undefined) return Object.hasOwn(AT_START, part);
  if (hasEnded(after, part)) return false;
  if (isThere(before, part) !== isThere(after, part)) return true;
  const [was, is] = [before, after].map(({ tls }) => tls?.clientAuthorities ?? null);
  if (what.startsWith('tls.clientAuthorities')) return (was === null) !== (is === null);
  return fixed.some((one) => `${what}.`.startsWith(`${part}.${one}.`));
}

const isThere = (snapshot: object, part: string): boolean => (Reflect.get(snapshot, part) ?? null) !== null;

const hasEnded = (snapshot: object, part: string): boolean =>
  ENDED_AT_ONCE.has(part) && !isThere(snapshot, part);

/** What a proxy has read at its start only. */
export type StartSettings = Pick<Snapshot, keyof typeof AT_START>;

/** Names of what is another one than at the start, and takes effect after a restart. */
export function waitingForRestart(start: StartSettings, now: StartSettings): readonly string[] {
  return Object.entries(AT_START).flatMap(([part, name]) => {
    if (hasEnded(now, part)) return [];
    const [before, after] = [start, now].map((one) => fixedOf(one, part));
    return before === undefined || after === undefined || flatChanges(before, after).length === 0 ? [] : name;
  });
}

/** What of a part cannot change while the proxy runs. */
function fixedOf(snapshot: StartSettings, part: string): Flat {
  const all = settled(flat(Reflect.get(snapshot, part), part));
  const fixed = FIXED[part];
  if (fixed === undefined || !isThere(snapshot, part)) return all;
  const kept = [...all].filter(([path]) => fixed.some((one) => `${path}.`.startsWith(`${part}.${one}.`)));
  return new Map([[part, plain('present')], ...kept]);
}

/** A part of the file that comes or goes is one change when it has more members than these: its defaults would be sixty. */
const MOST_OF_A_PART = 8;

/** @param other what it is compared with */
function settingsOf(snapshot: Snapshot, other: Snapshot): Flat {
  const { keys: _keys, teams: _teams, ...access } = snapshot.access;
  const { retryPolicy, groupRetryPolicy } = snapshot.routing;
  const shown = {
    ...snapshot,
    routing: {
      ...snapshot.routing,
      retryPolicy: policyAsStated(retryPolicy),
      groupRetryPolicy: new Map([...groupRetryPolicy].map(([name, one]) => [name, policyAsStated(one)])),
    },
    access: {
      ...access,
      allowedAddresses: access.allowedAddresses?.map(rangeText),
      trustedProxies: access.trustedProxies.map(rangeText),
    },
    budgets: { ...snapshot.budgets, rules: byScope(snapshot.budgets.rules) },
    alerts: {
      ...snapshot.alerts,
      channels: new Map(snapshot.alerts.channels.map(({ name, ...channel }) => [name, channel])),
    },
  };
  const parts = Object.entries(shown)
    .filter(([part]) => !BY_NAME.includes(part) && !LEFT_OUT.includes(part))
    .map(([part, value]): [string, unknown] => {
      const isNew = Reflect.get(other, part) === null && flat(value).size > MOST_OF_A_PART;
      return [part, isNew ? 'present' : value];
    });
  return settled(flat(Object.fromEntries(parts)));
}

/** Without what follows from others. */
const settled = (all: Flat): Flat => new Map([...all].filter(([path]) => !FOLLOWING.has(path)));

const policyAsStated = ({ timeout, rateLimit, server }: RetryPolicy): object => ({
  TimeoutErrorRetries: timeout,
  RateLimitErrorRetries: rateLimit,
  InternalServerErrorRetries: server,
});

const rangeText = ({ address, bits }: AddressRange): string => `${address}/${bits}`;

/** Budgets have no names, and their place in the file says nothing: they are told apart by what they are about and their window. */
function byScope(rules: readonly BudgetRule[]): ReadonlyMap<string, unknown> {
  const terms = new Map<string, unknown>();
  for (const { scope, id, budgetDuration, maxBudget, softBudget } of rules) {
    let name = `${scope} ${id}`.trim() + (budgetDuration === null ? '' : `, ${budgetDuration}`);
    while (terms.has(`${name}: max_budget`)) name += ' (again)';
    terms.set(`${name}: max_budget`, maxBudget);
    terms.set(`${name}: soft_budget`, softBudget);
  }
  return terms;
}

type FlatChange = Pick<Change, 'change' | 'what' | 'before' | 'after'>;

function flatChanges(before: Flat, after: Flat): FlatChange[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return keys.flatMap((what): FlatChange[] => {
    const [old, now] = [before.get(what), after.get(what)];
    if (old?.same === now?.same) return [];
    const [was, is] = [old?.text ?? null, now?.text ?? null];
    // Two secrets look alike.
    if (was !== null && was === is)
      return [{ change: 'changed', what, before: was, after: `another ${is.replace(/^\[|\]$/g, '')}` }];
    if (was === null) return [{ change: 'added', what, before: null, after: is }];
    return [{ change: is === null ? 'removed' : 'changed', what, before: was, after: is }];
  });
}

/** Says something by being there, though it may be empty: TLS with the authorities of the system. */
const MAY_BE_EMPTY = 'valkey.tls';

/** Dotted paths of all values; what is null, empty or a function is absent. */
function flat(value: unknown, path = '', into = new Map<string, Shown>()): Flat {
  const at = (key: string): string => (path === '' ? key : `${path}.${key}`);
  if (path === MAY_BE_EMPTY && value !== null) into.set(path, plain('on'));
  if (value instanceof Secret) into.set(path, { text: '[secret]', same: value.sha256() });
  else if (value instanceof Map) for (const [key, one] of value) flat(one, at(String(key)), into);
  else if (value instanceof Set || Array.isArray(value))
    flatList([...(value as Iterable<unknown>)], path, at, into);
  else if (value instanceof RegExp) into.set(path, plain(value.source));
  else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value)) flat(one, at(key), into);
  else if (value !== null && value !== undefined && typeof value !== 'function')
    into.set(path, scalar(path, value));
  return into;
}

/** A list of plain values is one value; its order counts. */
function flatList(
  list: readonly unknown[],
  path: string,
  at: (key: string) => string,
  into: Map<string, Shown>,
): void {
  if (list.some((one) => typeof one === 'object' && one !== null))
    list.forEach((one, index) => flat(one, at(String(index)), into));
  else if (list.length > 0) into.set(path, plain(list.map(String).join(', ')));
}

function scalar(path: string, value: unknown): Shown {
  if (value === Infinity) return plain('no limit');
  if (typeof value === 'number' && path.endsWith('Ms')) return plain(`${value / 1000} s`);
  if (typeof value === 'number' && path.endsWith('Bytes')) return plain(`${value / 2 ** 20} MiB`);
  if (typeof value !== 'string' && /Pico(?:PerMinute)?$/.test(path))
    return { text: `${Number(value) / 1e12} USD`, same: String(value) };
  if (typeof value === 'bigint') return plain(`${dollarsOf(value)} USD`);
  // A hash of a key tells nothing to people.
  if (typeof value === 'string' && /(?:sha256|version|hash)$/i.test(path))
    return { text: '[hash]', same: value };
  return plain(String(value));
}

/** Atto-dollars (1e-18 USD) as a plain decimal number. */
function dollarsOf(atto: bigint): string {
  const digits = atto.toString().padStart(19, '0');
  const text = `${digits.slice(0, -18)}.${digits.slice(-18)}`;
  return text.replace(/\.?0+$/, '');
}

const plain = (text: string): Shown => ({ text, same: text });
