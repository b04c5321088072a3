// Checks the headers of a configuration at load: the operator's static headers, so that no name or value can break HTTP
// framing, and lists of header names, so that none asks for something impossible. Pure; returns values as secrets.
import type { Dialect } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import { dashed, isSetByProxy, neverPassed } from '../header-names.ts';
import { Secret } from '../secret.ts';
import type { Path } from '../tree.ts';
import { steeringOf } from './gateways/steering.ts';

/** Lower-case name -> value. */
export type StaticHeaders = ReadonlyMap<string, Secret>;

type Written = Readonly<Record<string, string | number | boolean>>;

/** A valid header name (RFC 9110 section 5.6.2). */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * A valid header value: visible characters, spaces, tabs and Latin-1. Node would truncate a character above 255 to its low
 * byte, which may be a line break.
 */
export const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The checked headers of one key (`extra_headers`, or its alias `headers`); invalid ones become issues. */
export function headersAt(
  written: Written | undefined,
  path: Path,
  dialect: Dialect,
  diagnostics: Diagnostics,
): StaticHeaders {
  const checked = new Map<string, Secret>();
  for (const [rawName, raw] of Object.entries(written ?? {})) {
    const name = rawName.toLowerCase();
    const at = [...path, rawName];
    const value = String(raw).trim();
    if (isSetByProxy(name))
      diagnostics.error(
        at,
        `'${name}' is set by the proxy itself and cannot be an extra header`,
        'remove it',
        'key',
      );
    else if (!FIELD_VALUE.test(value)) diagnostics.error(at, ...valueProblem(value));
    else if (checked.has(name))
      diagnostics.error(
        at,
        `'${name}' appears twice; header names are case-insensitive`,
        'keep one of the two',
        'key',
      );
    else {
      if (dashed(name) === dialect.sessionHeader)
        diagnostics.warn(at, 'is set on every request; this value is overwritten', 'remove it', 'key');
      checked.set(name, new Secret(value));
    }
  }
  return checked;
}

function valueProblem(value: string): [message: string, fix: string] {
  if (Array.from(value).some((letter) => letter < ' ' || letter === '\x7f'))
    return [
      'the value contains a line break or another control character',
      'a header value is one line; remove it',
    ];
  return ['the value contains a character outside Latin-1', 'write it in ASCII, for example percent-encoded'];
}

/** `over` wins name by name. Sorted, so that equal configurations give equal snapshots. */
export function joinHeaders(base: StaticHeaders, over: StaticHeaders): StaticHeaders {
  return new Map([...base, ...over].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether a header of this name can be forwarded at all; reports why not. */
function canPass(written: string, path: Path, dialect: Dialect, diagnostics: Diagnostics): boolean {
  const name = written.toLowerCase();
  const reason = neverPassed(name, dialect.headerPrefix);
  if (reason !== null)
    diagnostics.error(path, `'${name}' is a header that is never forwarded: ${reason}`, 'remove it');
  else if (name === dialect.sessionHeader || name.startsWith(dialect.sdkHeaderPrefix))
    diagnostics.warn(path, 'is a header that is never forwarded, so this line does nothing', 'remove it');
  else return true;
  return false;
}

/** The operator's own header for keys. One that says something else already cannot be it. */
export function keyHeaderOf(
  { litellm_key_header_name: written }: GatewayFile['general_settings'],
  { headerPrefix }: Dialect,
  diagnostics: Diagnostics,
): { keyHeader?: string } {
  if (written === undefined) return {};
  const name = written.toLowerCase();
  const reason = neverPassed(name, headerPrefix);
  const isTaken = isRead(name, headerPrefix) || (reason !== null && reason !== 'a credential of the caller');
  if (!isTaken) return { keyHeader: name };
  const path = ['general_settings', 'litellm_key_header_name'];
  diagnostics.error(path, 'has another meaning, so it cannot carry a key', 'name a header of your own');
  return {};
}

const isRead = (name: string, headerPrefix: string): boolean =>
  ['content-type', 'accept', 'user-agent', 'cookie'].includes(name) ||
  (name.startsWith(headerPrefix) && name !== `${headerPrefix}api-key`) ||
  name.endsWith('session-id');

interface StatedHeader {
  readonly path: Path;
  readonly name: string;
}

/** The header that names the end user; in a file of LiteLLM's by its role. */
function statedUserHeader(general: GatewayFile['general_settings']): StatedHeader | null {
  const own = general.user_header_name;
  if (own !== undefined) return { path: ['general_settings', 'user_header_name'], name: own };
  const mappings = general.user_header_mappings ?? [];
  const index = mappings.findIndex(({ litellm_user_role: role }) => role === 'customer');
  const mapping = mappings[index];
  if (mapping === undefined) return null;
  return { path: ['general_settings', 'user_header_mappings', index], name: mapping.header_name };
}

/** Lower-case; null = none. */
export const userHeaderOf = (general: GatewayFile['general_settings']): string | null =>
  statedUserHeader(general)?.name.toLowerCase() ?? null;

/** Reports header names in lists where they cannot have an effect. */
export function checkHeaderLists(
  general: GatewayFile['general_settings'],
  litellm: GatewayFile['litellm_settings'],
  dialect: Dialect,
  diagnostics: Diagnostics,
): void {
  const steering = steeringOf(dialect);
  general.forward_header_prefixes.forEach((prefix, index) => {
    const path = ['general_settings', 'forward_header_prefixes', index];
    if (!canPass(prefix, path, dialect, diagnostics)) return;
    const rule = steering(dashed(prefix.toLowerCase()));
    if (rule !== null)
      diagnostics.warn(
        path,
        `headers that steer ${rule.kind} (${rule.pattern}) are not forwarded by a prefix`,
        'name those that shall pass in general_settings.allow_headers',
      );
  });
  general.allow_headers.forEach((name, index) => {
    canPass(name, ['general_settings', 'allow_headers', index], dialect, diagnostics);
  });
  const recorded: [path: Path, name: string][] = litellm.extra_spend_tag_headers.map((name, index) => [
    ['litellm_settings', 'extra_spend_tag_headers', index],
    name,
  ]);
  const userHeader = statedUserHeader(general);
  if (userHeader !== null) recorded.push([userHeader.path, userHeader.name]);
  general.user_header_mappings?.forEach(({ litellm_user_role: role }, index) => {
    const path = ['general_settings', 'user_header_mappings', index];
    if (role !== 'customer')
      diagnostics.warn(
        path,
        `a header does not name who a call is from by the role ${role}`,
        'give each user a key',
      );
    else if (userHeader?.path[2] !== index)
      diagnostics.warn(path, 'another header names the end user, so this line does nothing', 'remove it');
  });
  for (const [path, written] of recorded) {
    const name = written.toLowerCase();
    const isCredential =
      neverPassed(name, dialect.headerPrefix) === 'a credential of the caller' ||
      dashed(name) === 'proxy-authorization';
    if (isCredential)
      diagnostics.error(
        path,
        `'${name}' carries a credential, which must not be recorded`,
        'name another header',
      );
  }
}
