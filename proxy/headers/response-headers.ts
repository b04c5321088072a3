// Upstream's response headers -> the client's: all of them, minus hop-by-hop and what acts on more than the call. What a
// gateway of our dialect says of itself, its key, its spend, its deployment, would read as ours under its own name: it is handed
// on renamed.
import type { Gateway } from '../../config/resolve/gateways/gateway.ts';
import { dashed } from '../../config/header-names.ts';
import { addHeaders, hasHeader, setHeader } from './flat-list.ts';
import { isHeldBack } from './held-back.ts';
import { nominatedBy } from './request-headers.ts';

/** What the relay reads of an upstream's response head, and the flat list that goes on to the client. */
export interface ResponseHead {
  /** Flat name, value list for the client, without hop-by-hop names, content-length and names that could be ours. */
  readonly pass: string[];
  readonly contentType: string;
  readonly contentLength: string | null;
  readonly contentEncoding: string | null;
  /** The gateway's cost header as sent. */
  readonly cost: string | null;
  /** The gateway's own id of the call. */
  readonly callId: string | null;
  /** Its own, else that of the provider behind it. */
  readonly retryAfter: string | null;
}

/** Which headers state cost and call id; lower-case names, best first. */
export type ResponseNames = Pick<Gateway, 'cost' | 'callId'>;

/**
 * Reads a flat header list (name, value, ...) as it came.
 * @param names where this gateway states its cost and its call id.
 * @param ownPrefix what names of the proxy's own headers begin with: such a header comes back as `llm_provider-<name>`,
 * once, of several the last.
 */
export function readResponseHead(
  raw: readonly string[],
  names: ResponseNames,
  ownPrefix: string,
): ResponseHead {
  let renamed: string[] | null = null;
  let ofProvider: string[] | null = null;
  const pass: string[] = [];
  let contentType = '';
  let contentLength: string | null = null;
  let contentEncoding: string | null = null;
  let cost: string | null = null;
  let costRank = Infinity;
  let callId: string | null = null;
  let callIdRank = Infinity;
  let retryAfter: string | null = null;
  let listed: string | null = null;
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    const value = raw[i + 1] as string;
    switch (name) {
      case 'connection':
        listed = listed === null ? value : `${listed},${value}`;
        continue;
      case 'content-length':
        contentLength = value;
        continue;
      case 'content-type':
        contentType = value;
        break;
      case 'content-encoding':
        contentEncoding = contentEncoding === null ? value : `${contentEncoding},${value}`;
        break;
      case 'retry-after':
        retryAfter = value;
        break;
      case 'idempotent-replayed': // we say it of our own replays
        setHeader((renamed ??= []), name, value);
        continue;
      default:
        if (isHeldBack(name)) continue;
    }
    const statesCost = names.cost.indexOf(name);
    if (statesCost >= 0 && statesCost <= costRank) [cost, costRank] = [value, statesCost];
    const statesCall = names.callId.indexOf(name);
    if (statesCall >= 0 && statesCall <= callIdRank) [callId, callIdRank] = [value, statesCall];
    const first = name.charCodeAt(0); // most names begin with neither, and a comparison of texts is dearer
    if (first === LETTER_X && looksOurs(name, ownPrefix)) setHeader((renamed ??= []), plainOf(name), value);
    else if (first === LETTER_L && name.startsWith(PROVIDER_PREFIX)) (ofProvider ??= []).push(name, value);
    else pass.push(name, value);
  }
  if (ofProvider !== null) addProviderHeaders(pass, ofProvider, renamed);
  if (renamed !== null)
    for (let i = 0; i < renamed.length; i += 2)
      pass.push(PROVIDER_PREFIX + renamed[i], renamed[i + 1] as string);
  dropListed(pass, nominatedBy(listed));
  if (ofProvider !== null && retryAfter === null) retryAfter = takeProviderRetryAfter(pass);
  return { pass, contentType, contentLength, contentEncoding, cost, callId, retryAfter };
}

const LIMITS = 'x-ratelimit-';

/**
 * The headers of an upstream, then our own, then `more`. Where we tell of limits, those of the upstream go on under another name. All
 * lists are flat.
 */
export function withOwnHeaders(
  upstreams: string[],
  own: readonly string[],
  more: readonly string[],
): string[] {
  if (tellsOfLimits(own))
    for (let i = 0; i < upstreams.length; i += 2) {
      const name = upstreams[i] ?? '';
      if (name.startsWith(LIMITS)) upstreams[i] = PROVIDER_PREFIX + name;
    }
  addHeaders(upstreams, own);
  addHeaders(upstreams, more);
  return upstreams;
}

function tellsOfLimits(list: readonly string[]): boolean {
  for (let i = 0; i < list.length; i += 2) if (list[i]?.startsWith(LIMITS) === true) return true;
  return false;
}

/** How LiteLLM hands on headers of what it has called. */
const PROVIDER_PREFIX = 'llm_provider-';
const PROVIDER_RETRY_AFTER = `${PROVIDER_PREFIX}retry-after`;
const LETTER_L = 0x6c;
const LETTER_X = 0x78;

function looksOurs(name: string, ownPrefix: string): boolean {
  return name.startsWith(ownPrefix) || plainOf(name).startsWith(ownPrefix);
}

const plainOf = (name: string): string => (name.includes('_') ? dashed(name) : name);

/** What the gateway got from the one behind it gives way to its own header of that name. */
function addProviderHeaders(
  pass: string[],
  ofProvider: readonly string[],
  renamed: readonly string[] | null,
): void {
  for (let i = 0; i < ofProvider.length; i += 2) {
    const name = ofProvider[i] as string;
    const plain = plainOf(name.slice(PROVIDER_PREFIX.length));
    if (renamed !== null && hasHeader(renamed, plain)) continue;
    pass.push(name, ofProvider[i + 1] as string);
  }
}

/** LiteLLM hands a provider's `retry-after` on under another name alone: without one of its own, clients get that one. */
function takeProviderRetryAfter(pass: string[]): string | null {
  const at = pass.findLastIndex((name, i) => i % 2 === 0 && name === PROVIDER_RETRY_AFTER);
  if (at === -1) return null;
  const value = pass[at + 1] as string;
  pass.push('retry-after', value);
  return value;
}

function dropListed(pass: string[], names: ReadonlySet<string> | null): void {
  if (names === null) return;
  for (let i = pass.length - 2; i >= 0; i -= 2) {
    if (names.has(pass[i] as string)) pass.splice(i, 2);
  }
}
