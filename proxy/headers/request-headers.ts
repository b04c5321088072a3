// One pass over a request's raw headers: what the proxy itself reads, and the rule of each. Node's own `req.headers` is
// not used: it joins and drops headers, and a lost header is lost attribution.
import { KEY_SUBPROTOCOL, SUBPROTOCOL_HEADER } from '../../config/header-names.ts';
import type { HeaderRule, HeaderRules } from './header-rules.ts';

/** Everything the steps need from the headers; absent ones are null. Values are as sent. */
export interface RequestHeaders {
  readonly raw: readonly string[];
  /** The rule of each header, in the order of `raw`: half as many. */
  readonly rules: readonly HeaderRule[];
  /** Lower-case names that `Connection` lists; null = none that matters. */
  readonly nominated: ReadonlySet<string> | null;
  readonly hostCount: number;
  /** The first one. */
  readonly host: string | null;
  readonly contentType: string | null;
  readonly contentLength: string | null;
  readonly contentEncoding: string | null;
  readonly transferEncoding: string | null;
  readonly userAgent: string | null;
  /** The caller's key, `Bearer ` removed, from the first header of the dialect's order that has one. */
  readonly credential: string | null;
  /** Every value found in a credential header: none of them may go upstream under another name. */
  readonly credentials: readonly string[];
  readonly session: string | null;
  readonly trace: string | null;
  readonly vendorSession: { readonly name: string; readonly value: string } | null;
  readonly tags: string | null;
  /** `name: value` of the headers that the operator listed as tags. */
  readonly headerTags: readonly string[];
  readonly spendMetadata: string | null;
  readonly callId: string | null;
  readonly timeout: string | null;
  readonly streamTimeout: string | null;
  readonly endUser: string | null;
  /** Read while tracing is on. Two of them are joined, and then mean nothing. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
}

const NONE: readonly string[] = Object.freeze([]);
/** Without a vendor, the better one first. Codex sends `session-id`, Pi `session_id`. */
const BARE_SESSIONS: readonly string[] = ['x-session-id', 'session-id', 'session_id'];

function bearer(name: string, value: string): string {
  if (name !== 'authorization') return value.startsWith('Bearer ') ? value.slice(7) : value;
  const space = value.indexOf(' ');
  return space > 0 && /^(bearer|basic)$/i.test(value.slice(0, space)) ? value.slice(space + 1).trim() : '';
}

/** What a credential header holds; an empty text where it is of no scheme that is read. */
function keysIn(name: string, value: string): readonly string[] {
  return name === SUBPROTOCOL_HEADER ? offeredKeys(value) : [bearer(name, value)];
}

/** The keys among the subprotocols that a browser offers. */
export function offeredKeys(subprotocols: string): readonly string[] {
  const offered = subprotocols.split(',').map((one) => one.trim());
  return offered
    .filter((one) => one.startsWith(KEY_SUBPROTOCOL))
    .map((one) => one.slice(KEY_SUBPROTOCOL.length));
}

/** Names in the Connection header are hop-by-hop for this message (RFC 9110 section 7.6.1). */
export function nominatedBy(connection: string | null): ReadonlySet<string> | null {
  if (connection === null || /^(keep-alive|close)$/i.test(connection)) return null;
  return new Set(connection.split(',').map((token) => token.trim().toLowerCase()));
}

/**
 * Reads `rawHeaders` (name, value, name, value, ...). Of several session headers the last wins. What is found stands in
 * variables until the end: written into the object one by one, it would cost 0.1 us more of each request (15 %).
 */
export function readHeaders(rules: HeaderRules, raw: readonly string[]): RequestHeaders {
  let hostCount = 0;
  let host: string | null = null;
  let contentType: string | null = null;
  let contentLength: string | null = null;
  let contentEncoding: string | null = null;
  let transferEncoding: string | null = null;
  let connection: string | null = null;
  let userAgent: string | null = null;
  let rank = Infinity;
  let credential: string | null = null;
  let credentials: readonly string[] | null = null;
  let session: string | null = null;
  let trace: string | null = null;
  let vendorSession: { name: string; value: string } | null = null;
  let tags: string | null = null;
  let headerTags: string[] | null = null;
  let spendMetadata: string | null = null;
  let callId: string | null = null;
  let timeout: string | null = null;
  let streamTimeout: string | null = null;
  let endUser: string | null = null;
  let traceparent: string | null = null;
  let tracestate: string | null = null;
  const found: HeaderRule[] = [];
  found.length = raw.length / 2; // growing it would cost a tenth of the pass
  for (let i = 0; i < raw.length; i += 2) {
    const rule = rules.ruleOf(raw[i] as string);
    const value = raw[i + 1] as string;
    found[i / 2] = rule;
    if (rule.isTag) (headerTags ??= []).push(`${rule.name}: ${value}`);
    switch (rule.role) {
      case 'none':
      case 'accept':
        break;
      case 'host':
        hostCount += 1;
        host ??= value;
        break;
      case 'content-type':
        contentType = value;
        break;
      case 'content-length':
        contentLength = value;
        break;
      case 'content-encoding':
        contentEncoding = joined(contentEncoding, value);
        break;
      case 'transfer-encoding':
        transferEncoding = joined(transferEncoding, value);
        break;
      case 'connection':
        connection = joined(connection, value);
        break;
      case 'user-agent':
        userAgent = value;
        break;
      case 'credential': {
        const keys = keysIn(rule.name, value);
        credentials = credentials === null ? keys : [...credentials, ...keys];
        if (rule.credentialRank < rank && value !== '' && keys[0] !== undefined) {
          rank = rule.credentialRank;
          credential = keys[0];
        }
        break;
      }
      case 'session':
        session = value;
        break;
      case 'trace':
        trace = value;
        break;
      case 'vendor-session': // a name without a vendor counts where there is no other, as in LiteLLM
        if (vendorSession === null || bareness(rule.name) <= bareness(vendorSession.name))
          vendorSession = { name: rule.name, value };
        break;
      case 'tags':
        tags = joined(tags, value);
        break;
      case 'spend-metadata':
        spendMetadata = value;
        break;
      case 'call-id':
        callId = value;
        break;
      case 'timeout':
        timeout = value;
        break;
      case 'stream-timeout':
        streamTimeout = value;
        break;
      case 'end-user':
        endUser = value;
        break;
      case 'traceparent':
        traceparent = joined(traceparent, value);
        break;
      case 'tracestate':
        tracestate = joined(tracestate, value);
        break;
      default:
        rule.role satisfies never;
    }
  }
  return {
    raw,
    rules: found,
    nominated: nominatedBy(connection),
    hostCount,
    host,
    contentType,
    contentLength,
    contentEncoding,
    transferEncoding,
    userAgent,
    credential,
    credentials: credentials ?? NONE,
    session,
    trace,
    vendorSession,
    tags,
    headerTags: headerTags ?? NONE,
    spendMetadata,
    callId,
    timeout,
    streamTimeout,
    endUser,
    traceparent,
    tracestate,
  };
}

/** -1: the name has a vendor. */
const bareness = (name: string): number => BARE_SESSIONS.indexOf(name);

/** Lines of one field make one list (RFC 9110 section 5.3). */
function joined(before: string | null, value: string): string {
  return before === null ? value : `${before},${value}`;
}

/** Whether a value holds one of the caller's keys: a key that was copied into another header is still a key. */
export function carriesCredential(value: string, credentials: readonly string[]): boolean {
  for (const credential of credentials) {
    if (credential.length >= 8 && value.includes(credential)) return true;
  }
  return false;
}

/** A text without the caller's keys: one that was pasted into the wrong field must not be kept by rows and logs. */
export function withoutCredentials(text: string, credentials: readonly string[]): string {
  if (!carriesCredential(text, credentials)) return text;
  return credentials
    .filter((credential) => credential.length >= 8)
    .reduce((kept, credential) => kept.replaceAll(credential, '[key]'), text);
}
