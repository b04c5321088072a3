// What changes for callers between two configurations. Models are compared by name and place; every other setting of a
// snapshot by its path, so that a setting that is added later is compared without a line here. No change shows a secret:
// only that it is another one. Pure.
import { Secret } from './secret.ts';
import type { Deployment, Snapshot } from './snapshot.ts';

export interface Change {
  readonly about: 'model' | 'key' | 'team' | 'setting';
  readonly change: 'added' | 'removed' | 'changed';
  /** The name of the model, key or team; the path of a setting. */
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
/** Read at the start only. */
const AT_START = ['database', 'valkey', 'admin', 'otel', 'workers', 'platform', 'allowUnauthenticated'];

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

const WORDS: Readonly<Record<string, string>> = {
  apiKey: 'key of the gateway',
  staticHeaders: 'header',
  forwardClientHeaders: 'client headers are forwarded',
  'clocks.connectMs': 'connect timeout',
  'clocks.firstByteMs': 'timeout of the first byte',
  'clocks.streamFirstByteMs': 'timeout of the first byte, streamed',
  'clocks.idleMs': 'idle timeout',
  'clocks.firstTokenMs': 'timeout of the first token',
  'clocks.hedgeAfterMs': 'hedge after',
  'clocks.totalMs': 'total timeout',
  prices: 'price',
  cataloguePrices: 'price of the catalogue',
  maxParallel: 'calls at a time',
  numRetries: 'retries',
  cooldownMs: 'cooldown',
  kind: 'kind',
  allowH2: 'HTTP/2',
  'tls.authorities': 'certificate authorities',
  'tls.certificate': 'client certificate',
  masterKey: 'master key',
};

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
      what: `${wordOf(change.what)}${where}`,
      needsRestart: false,
    }));
  });
}

function termsOf(deployment: Deployment): Flat {
  const terms: Record<string, unknown> = { gateway: deployment.gateway.name };
  for (const [key, value] of Object.entries(deployment)) if (!DERIVED.has(key)) terms[key] = value as unknown;
  terms['staticHeaders'] = Object.fromEntries(deployment.staticHeaders);
  terms['statedInfo'] = withoutId(deployment.statedInfo);
  return flat(terms);
}

function withoutId({ id: _id, db_model: _stored, ...rest }: Readonly<Record<string, unknown>>): object {
  return rest;
}

function accessChanges(before: Snapshot, after: Snapshot): Change[] {
  const parts = [
    ['key', (one: Snapshot) => new Map(one.access.keys.map((key) => [key.alias, key]))],
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
      return flatChanges(flat(old.get(name)), flat(now.get(name))).map((change) => ({ ...change, ...base }));
    });
  });
}

function settingChanges(before: Snapshot, after: Snapshot): Change[] {
  const rest = (snapshot: Snapshot): Flat => {
    const kept = Object.entries(snapshot).filter(
      ([key]) => !BY_NAME.includes(key) && !LEFT_OUT.includes(key),
    );
    const { keys: _keys, teams: _teams, ...access } = snapshot.access;
    return flat({ ...Object.fromEntries(kept), access });
  };
  return flatChanges(rest(before), rest(after)).map(({ what, ...change }) => ({
    ...change,
    about: 'setting',
    name: WORDS[what] ?? what,
    what: '',
    needsRestart: AT_START.includes(what.split('.')[0] ?? ''),
  }));
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

/** The longest matching word, then the rest of the path. */
function wordOf(path: string): string {
  const head = Object.keys(WORDS).find((key) => path === key || path.startsWith(`${key}.`));
  return head === undefined ? path : `${WORDS[head]}${path.slice(head.length).replace('.', ' ')}`;
}

/** Dotted paths of all values; what is null, empty or a function is absent. */
function flat(value: unknown, path = '', into = new Map<string, Shown>()): Flat {
  const at = (key: string): string => (path === '' ? key : `${path}.${key}`);
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
