// Writes the caller's identity into the headers that the gateway reads it from. Pure; which headers is data of the gateway.
// What a header cannot carry is left out with a note; the record keeps it.
import type { Gateway, Written } from '../../config/resolve/gateways/gateway.ts';

type Json = Readonly<Record<string, unknown>>;

/** The identity of a call, as far as gateways can be sent it. */
export interface GatewayIdentity {
  readonly sessionId: string;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly metadata: Json | null;
}

/** Receives one header, and why it is written. */
type Write = (name: string, value: string, rule: string) => void;
/** Receives what is left out, and why. */
type LeaveOut = (name: string, rule: string) => void;

/**
 * Names that carry identity to this gateway: a client's or a key's own header of such a name never goes. Names under
 * the prefix of an `each` are not among them: a client may add to those.
 */
export function identityNames(gateway: Gateway): ReadonlySet<string> {
  const names = new Set(gateway.userSynonyms);
  for (const name of [gateway.session, gateway.user]) if (name !== null) names.add(name);
  for (const written of [gateway.tags, gateway.metadata])
    if (written !== null && written.as !== 'each') names.add(written.name);
  return names;
}

// Servers take 8 KiB of one header line at most (nginx, Node); all of ours together stay below.
const LIST_CHARS = 2048;
const JSON_CHARS = 4096;
const VALUE_CHARS = 512;
const MOST_HEADERS = 32;
const FITS = /^[\x20-\x7e]+$/;
/** A tag with a key: the platform's conversation tags, `team:blue`. */
const KEYED = /^([A-Za-z0-9][\w.-]{0,63})\s*[:=]\s*(\S.*)$/;

/** Writes the identity headers of `gateway`. */
export function writeIdentity(
  gateway: Gateway,
  identity: GatewayIdentity,
  write: Write,
  leaveOut: LeaveOut,
): void {
  if (gateway.session !== null) write(gateway.session, identity.sessionId, 'session id of the request');
  const user = identity.endUser;
  if (user !== null && gateway.user !== null) {
    if (FITS.test(user)) write(gateway.user, user, 'end user of the request');
    else leaveOut(gateway.user, 'the end user has characters that no header carries');
  }
  const { tags, metadata } = gateway;
  if (tags !== null && tags.as === 'list') writeList(tags.name, identity.tags, write, leaveOut);
  if (tags?.as === 'each' || metadata?.as === 'each') writeEach(gateway, identity, write, leaveOut);
  if (metadata !== null && metadata.as === 'json') {
    const object = tags?.as === 'json' ? flatObject(metadata, identity) : identity.metadata;
    if (object !== null && Object.keys(object).length > 0) {
      const text = asciiJson(object);
      if (text.length <= JSON_CHARS) write(metadata.name, text, 'spend metadata of the request');
      else leaveOut(metadata.name, `longer than ${JSON_CHARS} characters`);
    }
  }
}

function writeList(name: string, tags: readonly string[], write: Write, leaveOut: LeaveOut): void {
  let text = '';
  let left = 0;
  for (const tag of tags) {
    const longer = text === '' ? tag : `${text},${tag}`;
    if (FITS.test(tag) && !tag.includes(',') && longer.length <= LIST_CHARS) text = longer;
    else left += 1;
  }
  if (text !== '') write(name, text, 'tags of the request and of the entry');
  if (left > 0) leaveOut(name, `${left} of the tags cannot stand in a list of ${LIST_CHARS} characters`);
}

function writeEach(gateway: Gateway, identity: GatewayIdentity, write: Write, leaveOut: LeaveOut): void {
  const { tags, metadata } = gateway;
  const headers = new Map<string, string>();
  let left = 0;
  const add = (prefix: string, key: string, value: string): void => {
    const name = prefix + key.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-');
    if (value.length > VALUE_CHARS || !FITS.test(value)) left += 1;
    else if (!headers.has(name) && headers.size === MOST_HEADERS) left += 1;
    else headers.set(name, value);
  };
  if (metadata?.as === 'each') {
    for (const [key, value] of scalarsOf(identity.metadata)) add(metadata.name, key.slice(0, 64), value);
  }
  if (tags?.as === 'each') {
    const bare: string[] = [];
    for (const tag of identity.tags) {
      const [, key, value] = KEYED.exec(tag) ?? [];
      if (key === undefined || value === undefined) bare.push(tag);
      else add(tags.name, key, value);
    }
    if (bare.length > 0)
      writeList(`${tags.name}tags`, bare, (name, value) => headers.set(name, value), leaveOut);
  }
  for (const [name, value] of headers) write(name, value, 'tags and spend metadata of the request');
  if (left > 0)
    leaveOut(tags?.name ?? metadata?.name ?? gateway.name, `${left} values cannot stand in headers`);
}

/** One object of strings, which is what such gateways index. */
function flatObject(written: Written, identity: GatewayIdentity): Json {
  const entries = scalarsOf(identity.metadata).map(([key, value]): [string, string] => [
    key,
    value.slice(0, 128),
  ]);
  if (identity.tags.length > 0) entries.push(['tags', identity.tags.join(',').slice(0, LIST_CHARS)]);
  if (identity.endUser !== null && written.userMember !== undefined)
    entries.push([written.userMember, identity.endUser]);
  return Object.fromEntries(entries);
}

function scalarsOf(metadata: Json | null): [key: string, value: string][] {
  return Object.entries(metadata ?? {}).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? [[key, String(value)]]
      : [],
  );
}

/** JSON in ASCII, since a header has no agreed encoding (RFC 9110 section 5.5). */
function asciiJson(value: Json): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
