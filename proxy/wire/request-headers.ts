// One pass over a request's raw headers: what the proxy itself reads, and which ones may go upstream. Node's own
// `req.headers` is not used: it joins, drops and truncates, and a lost header is a hole in attribution.
import type { HeaderClass, HeaderRules } from './header-rules.ts';

/** Everything the steps need from the headers; absent ones are null. Values are as sent. */
export interface RequestHeaders {
  readonly raw: readonly string[];
  readonly hostCount: number;
  readonly contentType: string | null;
  readonly contentLength: string | null;
  readonly contentEncoding: string | null;
  readonly transferEncoding: string | null;
  readonly accept: string | null;
  readonly userAgent: string | null;
  /** The caller's key, `Bearer ` removed, from the first place of the dialect's order that has one. */
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
  readonly endUser: string | null;
  /** Read while tracing is on. Two of them are joined, and then mean nothing. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** Indexes into `raw` of the names that may be forwarded; names listed in Connection are already left out. */
  readonly forwardable: readonly number[];
}

const NONE: readonly string[] = Object.freeze([]);

function bearer(name: string, value: string): string {
  if (name !== 'authorization') return value.startsWith('Bearer ') ? value.slice(7) : value;
  const space = value.indexOf(' ');
  return space > 0 && /^(bearer|basic)$/i.test(value.slice(0, space)) ? value.slice(space + 1).trim() : '';
}

/** Names in the Connection header are hop-by-hop for this request (RFC 9110 section 7.6.1). */
function nominated(connection: string | null): ReadonlySet<string> | null {
  if (connection === null || /^(keep-alive|close)$/i.test(connection)) return null;
  return new Set(connection.split(',').map((token) => token.trim().toLowerCase()));
}

/** Reads `rawHeaders` (name, value, name, value, ...). Of several session headers the last wins. */
export function readHeaders(rules: HeaderRules, raw: readonly string[]): RequestHeaders {
  const found: Partial<Record<HeaderClass['role'], string>> = {};
  let hostCount = 0;
  let rank = Infinity;
  let credential: string | null = null;
  let credentials: string[] | null = null;
  let headerTags: string[] | null = null;
  let vendorSession: { name: string; value: string } | null = null;
  let forwardable: number[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const header = rules.classOf(raw[i] as string);
    const value = raw[i + 1] as string;
    if (header.forward) forwardable.push(i);
    switch (header.role) {
      case 'none':
        break;
      case 'host':
        hostCount += 1;
        break;
      case 'credential': {
        const key = bearer(header.name, value);
        (credentials ??= []).push(key);
        if (header.credentialRank < rank && value !== '') {
          rank = header.credentialRank;
          credential = key;
        }
        break;
      }
      case 'vendor-session':
        vendorSession = { name: header.name, value };
        break;
      case 'tag-header':
        (headerTags ??= []).push(`${header.name}: ${value}`);
        break;
      case 'transfer-encoding':
      case 'connection':
      case 'tags':
      case 'traceparent':
      case 'tracestate':
        found[header.role] = found[header.role] === undefined ? value : `${found[header.role]},${value}`;
        break;
      default:
        found[header.role] = value;
    }
  }
  const listed = nominated(found.connection ?? null);
  if (listed !== null) forwardable = forwardable.filter((i) => !listed.has((raw[i] as string).toLowerCase()));
  return {
    raw,
    hostCount,
    contentType: found['content-type'] ?? null,
    contentLength: found['content-length'] ?? null,
    contentEncoding: found['content-encoding'] ?? null,
    transferEncoding: found['transfer-encoding'] ?? null,
    accept: found.accept ?? null,
    userAgent: found['user-agent'] ?? null,
    credential,
    credentials: credentials ?? NONE,
    session: found.session ?? null,
    trace: found.trace ?? null,
    vendorSession,
    tags: found.tags ?? null,
    headerTags: headerTags ?? NONE,
    spendMetadata: found['spend-metadata'] ?? null,
    callId: found['call-id'] ?? null,
    timeout: found.timeout ?? null,
    endUser: found['end-user'] ?? null,
    traceparent: found.traceparent ?? null,
    tracestate: found.tracestate ?? null,
    forwardable,
  };
}
