// Whose call it is, in the headers of the gateway that it goes to. Pure; the gateway's dialect is data. What a header
// cannot carry is left out and named: it stays in the record.
import type { Gateway, Written } from '../../config/resolve/gateways/gateway.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a gateway can be told. */
export interface Told {
  readonly sessionId: string;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly metadata: Json | null;
}

/** One header that is written, or a thing that is left out, as `explain` prints it. */
export interface Telling {
  readonly name: string;
  readonly sent: boolean;
  readonly why: string;
}

// Servers take 8 KiB of one header line at most (nginx, Node); all of ours together stay below.
const LIST_CHARS = 2048;
const JSON_CHARS = 4096;
const VALUE_CHARS = 512;
const MOST_HEADERS = 32;
const FITS = /^[\x20-\x7e]+$/;
/** A tag with a key: the platform's conversation tags, `team:blue`. */
const KEYED = /^([A-Za-z0-9][\w.-]{0,63})\s*[:=]\s*(\S.*)$/;

/**
 * The headers, flat.
 * @param tell is told what is written and what is left out
 */
export function identityHeaders(gateway: Gateway, told: Told, tell?: (telling: Telling) => void): string[] {
  const list: string[] = [];
  const put = (name: string, value: string, why: string): void => {
    list.push(name, value);
    tell?.({ name, sent: true, why });
  };
  const leave = (name: string, why: string): void => tell?.({ name, sent: false, why });
  if (gateway.session !== null) put(gateway.session, told.sessionId, 'session id of the request');
  const user = told.endUser;
  if (user !== null && gateway.user !== null) {
    if (FITS.test(user)) put(gateway.user, user, 'end user of the request');
    else leave(gateway.user, 'the end user has characters that no header carries');
  }
  const { tags, metadata } = gateway;
  if (tags !== null && tags.as === 'list') putList(tags.name, told.tags, put, leave);
  if (tags?.as === 'each' || metadata?.as === 'each') putEach(gateway, told, put, leave);
  if (metadata !== null && metadata.as === 'json') {
    const object = tags?.as === 'json' ? flatObject(metadata, told) : told.metadata;
    if (object !== null && Object.keys(object).length > 0) {
      const text = asciiJson(object);
      if (text.length <= JSON_CHARS) put(metadata.name, text, 'spend metadata of the request');
      else leave(metadata.name, `longer than ${JSON_CHARS} characters`);
    }
  }
  return list;
}

type Put = (name: string, value: string, why: string) => void;
type Leave = (name: string, why: string) => void;

function putList(name: string, tags: readonly string[], put: Put, leave: Leave): void {
  let text = '';
  let left = 0;
  for (const tag of tags) {
    const longer = text === '' ? tag : `${text},${tag}`;
    if (FITS.test(tag) && !tag.includes(',') && longer.length <= LIST_CHARS) text = longer;
    else left += 1;
  }
  if (text !== '') put(name, text, 'tags of the request and of the entry');
  if (left > 0) leave(name, `${left} of the tags cannot stand in a list of ${LIST_CHARS} characters`);
}

function putEach(gateway: Gateway, told: Told, put: Put, leave: Leave): void {
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
    for (const [key, value] of scalarsOf(told.metadata)) add(metadata.name, key.slice(0, 64), value);
  }
  if (tags?.as === 'each') {
    const bare: string[] = [];
    for (const tag of told.tags) {
      const [, key, value] = KEYED.exec(tag) ?? [];
      if (key === undefined || value === undefined) bare.push(tag);
      else add(tags.name, key, value);
    }
    if (bare.length > 0) putList(`${tags.name}tags`, bare, (name, value) => headers.set(name, value), leave);
  }
  for (const [name, value] of headers) put(name, value, 'tags and spend metadata of the request');
  if (left > 0) leave(tags?.name ?? metadata?.name ?? gateway.name, `${left} values cannot stand in headers`);
}

/** One object of texts: what such gateways index. */
function flatObject(written: Written, told: Told): Json {
  const entries = scalarsOf(told.metadata).map(([key, value]) => [key, value.slice(0, 128)]);
  if (told.tags.length > 0) entries.push(['tags', told.tags.join(',').slice(0, LIST_CHARS)]);
  if (told.endUser !== null && written.userMember !== undefined)
    entries.push([written.userMember, told.endUser]);
  return Object.fromEntries(entries) as Json;
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
