// Where an entry's calls go and with which key: what it states, else what is known of its kind of upstream. A key of a variable
// goes to the vendor's own hosts alone, or to the address that the vendor's own variable names.
import type { Diagnostics } from '../diagnostics.ts';
import type { EntryParams } from '../gateway-file.ts';
import type { Environment } from '../environment.ts';
import { Secret } from '../secret.ts';
import { nodeAt, type Path } from '../tree.ts';
import { baseOf, type Base } from './api-base.ts';
import type { KnownName, LocatedEntry, SharedSettings } from './entry.ts';
import type { StaticHeaders } from './headers.ts';
import type { Kind } from './kinds/kind.ts';

/** Where calls go. */
export interface Address {
  readonly base: Base;
  /** The entry itself states it. */
  readonly isStated: boolean;
}

/** Of entries whose calls are answered here; the name is reserved (RFC 6761). */
export const NOWHERE: Address = Object.freeze({
  base: {
    origin: 'http://mock.invalid',
    pathPrefix: '/v1',
    shown: 'http://mock.invalid',
    query: '',
    modelInPath: false,
  },
  isStated: true,
});

type Located = Pick<LocatedEntry, 'path' | 'tree' | 'source'>;

/** A key is sent in a header, so it must be visible ASCII. */
const KEY = /^[\x21-\x7e]+$/;

/** The address that an entry without api_base has; null = it must state one. @param env null = variables must not be read */
export function knownBase(
  { known }: Kind,
  upstream: string,
  env: Environment | null,
): { readonly text: string; readonly variable: string | null } | null {
  const variable = env === null ? undefined : firstSet(known.baseVariables, env);
  if (variable !== undefined) return { text: env?.[variable] ?? '', variable };
  const isKnown = known.base !== null && known.isFor?.(upstream) !== false;
  return isKnown ? { text: known.base, variable: null } : null;
}

/**
 * The address of an entry, or null when it has none or a wrong one, which is an issue.
 * @param name with whether responses is the only API that it is asked by
 */
export function addressAt(
  params: EntryParams,
  name: KnownName,
  located: Located,
  shared: SharedSettings,
): Address | null {
  const { diagnostics, dialect } = shared;
  const at = [...located.path, 'litellm_params'];
  const key = params.api_base === undefined && params.base_url !== undefined ? 'base_url' : 'api_base';
  const stated = params[key];
  if (params.api_base !== undefined && params.base_url !== undefined && params.api_base !== params.base_url)
    diagnostics.warn(
      [...at, 'base_url'],
      'is another name of api_base, which wins',
      'remove one of the two',
      'key',
    );
  if (stated !== undefined) {
    const node = nodeAt(located.tree, ['litellm_params', key]);
    const variable = node?.kind === 'scalar' ? node.reference : null;
    const base = checked(stated, variable, [...at, key], params, name, located, shared);
    return base === null ? null : { base, isStated: true };
  }
  const known = knownBase(name.kind, name.upstream, variablesFor(located, shared));
  if (known === null) {
    const { baseVariables } = name.kind.known;
    const isChained = name.kind.name === 'proxy' || name.kind.name === 'compat';
    const or = isChained ? '; there is no default provider' : `, or set ${baseVariables.join(' or ')}`;
    diagnostics.errorUnless(
      'skip_unsupported_models',
      [...at, 'api_base'],
      'is missing',
      `add it: ${name.kind.rule(dialect)}${or}`,
    );
    return null;
  }
  const base = checked(known.text, known.variable, [...at, 'api_base'], params, name, located, shared);
  if (base !== null && name.kind.name === 'compat' && name.upstream.includes('*'))
    diagnostics.warn(
      [...at, 'model'],
      `states no api_base: every name that clients ask for goes to ${base.shown}`,
      'add the api_base of your gateway, or write this one out',
    );
  return base === null ? null : { base, isStated: false };
}

function checked(
  text: string,
  variable: string | null,
  path: Path,
  params: EntryParams,
  name: KnownName,
  located: Located,
  shared: SharedSettings,
): Base | null {
  const { diagnostics } = shared;
  const { kind } = name;
  const version = versionOf(params, name, variablesFor(located, shared));
  const cacheKey = `${kind.name} ${version} ${text}`;
  const check = shared.bases.get(cacheKey) ?? baseOf(text, kind, version);
  shared.bases.set(cacheKey, check);
  if (check.ok) return check.base;
  const verb = variable === null ? 'write' : `set ${variable} to`;
  const fix = check.instead === null ? check.advice : `${verb} ${check.instead} ${check.advice}`.trim();
  if (shared.isLenient && check.asWritten !== null) {
    const message = `${check.message}; taken as it is, as LiteLLM does`;
    diagnostics.warn(path, message, `leave it where its calls succeed, else ${fix}`);
    return check.asWritten;
  }
  if (check.asWritten === null) diagnostics.error(path, check.message, fix);
  else diagnostics.errorUnless('unknown_keys', path, check.message, fix);
  return null;
}

/** What one adds to the file while the server runs may not read the environment; see runtime-models.ts. */
function variablesFor({ source }: Pick<Located, 'source'>, shared: SharedSettings): Environment | null {
  return source === 'config' || shared.allowReferences ? shared.env : null;
}

function versionOf(
  { api_version: stated }: EntryParams,
  { kind, byResponses }: KnownName,
  env: Environment | null,
): string {
  const { version } = kind.known;
  if (version === null) return '';
  return stated ?? nonEmpty(env?.[version.variable]) ?? (byResponses ? version.forResponses : version.value);
}

/** The key of an entry: its own, else that of its vendor's variable where that may go. */
export function keyFor(
  params: EntryParams,
  kind: Kind,
  address: Address | null,
  headers: StaticHeaders,
  located: Located,
  shared: SharedSettings,
): Secret | null {
  const path = [...located.path, 'litellm_params', 'api_key'];
  const { diagnostics } = shared;
  if (params.api_key !== undefined) return keyAt(params.api_key, path, diagnostics);
  if (address === null || headers.has(kind.credentialHeader) || headers.has('authorization')) return null;
  if (address.isStated && !isOwnHost(address.base.origin, kind)) return null;
  const { keyVariables, needsKey } = kind.known;
  const env = variablesFor(located, shared);
  const variable = env === null ? undefined : firstSet(keyVariables, env);
  if (variable !== undefined)
    return keyAt(env?.[variable], path, diagnostics, `the environment variable ${variable}`);
  if (!needsKey || address.isStated) return null;
  const names = keyVariables.join(' or ');
  if (env === null)
    diagnostics.error(path, 'is missing', 'add it: the variables of vendors are not read here');
  else diagnostics.error(path, `is missing, and ${names} is not set`, `set ${names}, or add api_key`);
  return null;
}

function isOwnHost(origin: string, { known }: Kind): boolean {
  if (known.hosts !== null) return origin.startsWith('https:') && known.hosts.test(new URL(origin).hostname);
  return known.base !== null && new URL(known.base).origin === origin;
}

function firstSet(names: readonly string[], env: Environment): string | undefined {
  return names.find((name) => nonEmpty(env[name]) !== undefined);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** A key as a secret, or null for none. A key that cannot be sent in a header is an issue; `origin` says where it came from. */
export function keyAt(
  text: string | undefined,
  path: Path,
  diagnostics: Diagnostics,
  origin = 'the key',
): Secret | null {
  if (text === undefined) return null;
  if (KEY.test(text)) return new Secret(text);
  const tail = /^[\x21-\x7e]+\s+$/.test(text);
  const what = tail
    ? 'ends in a space or a line break'
    : 'contains a space, a line break or a non-ASCII character';
  diagnostics.error(
    path,
    `${origin} ${what}`,
    tail ? 'write the secret without a trailing newline' : 'check the secret',
  );
  return null;
}
