// Requests that Node's parser accepts and we reject: those that two HTTP implementations could read differently, and
// versions, methods or targets that are not served. One list, with the reason for each.
import { unescape } from 'node:querystring';
import { Fault } from '../errors/fault.ts';
import type { DownstreamRequest, Expectation } from '../downstream/downstream-request.ts';
import { offeredKeys, type RequestHeaders } from '../headers/request-headers.ts';
import { SUBPROTOCOL_HEADER } from '../../config/header-names.ts';
import type { Secret } from '../../config/secret.ts';
import {
  hostName,
  isAllowedHost,
  isCrossOrigin,
  needsNoPreflight,
  type BoundAddress,
} from './allowed-hosts.ts';
import { carriesCredentials } from './query-credentials.ts';

interface Checked {
  readonly request: DownstreamRequest;
  readonly headers: RequestHeaders;
  /** Without the question mark. */
  readonly query: string;
  readonly bound: BoundAddress;
  readonly rules: RequestRules;
}

/** The part of a configuration that decides here. */
interface RequestRules {
  readonly masterKey: Secret | null;
  readonly limits: { readonly headerCount: number };
  readonly allowedHosts: readonly string[] | null;
  readonly cors: { readonly allowOrigins: readonly string[] } | null;
  readonly platform: { readonly publicBaseUrl: string | null } | null;
  readonly console: { readonly publicUrl: string | null } | null;
}

/** @returns what is wrong, or null. */
type Check = (checked: Checked) => Fault | null;

/** Printable ASCII without space, `#` and characters that URLs exclude: routes compare the target as it was sent. */
const TARGET = /^\/[!$-;=?-[\]_a-z~%]*$/;
/** RFC 9110 section 9 and PATCH (RFC 5789); each route decides which of them it serves. */
const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'POST',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PUT',
  'PATCH',
  'TRACE',
]);
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Below 2^53, even with leading zeros. */
const LENGTH = /^\d{1,15}$/;

/** Each of them is looked at. */
const MOST_PARAMETERS = 1_000;
const SEPARATOR = /&|;|%26|%3b/i;

/** Checks that close the connection come first, so that a lesser error in the same request cannot keep it open. */
const CHECKS: readonly Check[] = [
  // llhttp accepts `GET /` as HTTP/0.9, and the versions 0.9 and 2.0; it then parses the same bytes differently.
  ({ request: { version } }) =>
    version === '1.1' || version === '1.0'
      ? null
      : new Fault('malformed_request', 'The only supported versions are HTTP/1.1 and HTTP/1.0.'),
  // llhttp knows 35 methods (WebDAV, UPnP and others); some servers decide by the method whether there is a body.
  ({ request: { method } }) =>
    METHODS.has(method) ? null : new Fault('malformed_request', 'The method is not known.'),
  // `*`, absolute URLs and authorities are for forward proxies; bytes that URLs exclude have several encodings.
  ({ request: { target } }) => (TARGET.test(target) ? null : oddTarget()),
  // With two Host headers, a proxy in front may have used the other one (RFC 9112 section 3.2).
  ({ headers: { hostCount } }) =>
    hostCount === 1
      ? null
      : new Fault('bad_framing', `The request must have exactly one Host header; it has ${hostCount}.`),
  // llhttp takes any text; `a b` and `a,b` name one host to us and another to what stands in front.
  ({ headers: { host } }) =>
    hostName(host ?? '') === null
      ? new Fault('malformed_request', 'The Host header is not a name or an address with an optional port.')
      : null,
  // llhttp accepts `,chunked`, any coding before `chunked`, and chunks on HTTP/1.0 (RFC 9112 section 6.1).
  ({ request: { version }, headers: { transferEncoding } }) =>
    transferEncoding === null || (transferEncoding.toLowerCase() === 'chunked' && version === '1.1')
      ? null
      : oddCoding(),
  // Two framings: llhttp rejects them only in one order of the two headers.
  ({ headers: { transferEncoding, contentLength } }) =>
    transferEncoding === null || contentLength === null
      ? null
      : new Fault('malformed_request', 'Content-Length and Transfer-Encoding exclude each other.'),
  // llhttp reads up to 2^64; a number in JavaScript is exact up to 2^53.
  ({ headers: { contentLength } }) =>
    contentLength === null || LENGTH.test(contentLength)
      ? null
      : new Fault('malformed_request', 'Content-Length is no number, or too large a one.'),
  // An implementation that expects no body would read it as the next request.
  ({ request: { method }, headers: { transferEncoding, contentLength } }) =>
    BODILESS.has(method) && (transferEncoding !== null || (contentLength !== null && contentLength !== '0'))
      ? new Fault('bad_framing', `A ${method} request must not have a body.`)
      : null,
  // Node accepts any value that contains 100-continue.
  ({ request: { expectation } }) =>
    expectation === 'unknown'
      ? new Fault('bad_framing', 'The only expectation that is understood is 100-continue.')
      : null,
  // Node's own limit is 1,000 (http-server.ts); up to that number the list is complete.
  ({ headers: { raw }, rules: { limits } }) =>
    raw.length / 2 <= limits.headerCount
      ? null
      : new Fault(
          'too_many_headers',
          `The request has ${raw.length / 2} headers; at most ${limits.headerCount} are allowed.`,
        ),
  ({ headers: { host }, bound, rules }) =>
    isOurHost(hostName(host ?? '') ?? '', bound, rules)
      ? null
      : new Fault(
          'host_not_allowed',
          `The proxy does not serve the host ${(host ?? '').slice(0, 200)}. Call it as localhost, or have the operator list the name in general_settings.allowed_hosts.`,
        ),
  ({ query }) =>
    query.length > MOST_PARAMETERS && query.split(SEPARATOR).length > MOST_PARAMETERS
      ? new Fault('bad_request_target', `The query has more than ${MOST_PARAMETERS} parameters.`)
      : null,
  // Of two keys we take the first, another server may take the last.
  ({ headers }) => (headers.credentials.length > 1 ? repeatedCredential(headers) : null),
  ({ request: { target }, query, headers, rules: { masterKey } }) =>
    query !== '' && carriesCredentials(queryToCheck(target, query, masterKey), keysOf(headers, masterKey))
      ? new Fault('credentials_in_query', 'The query string carries a key; send it as a header instead.')
      : null,
  // Browsers ask nobody before they open a WebSocket to another origin; one that carries a key was given it.
  (checked) =>
    !checked.request.asksUpgrade || checked.headers.credential !== null || !isOfOtherPage(checked)
      ? null
      : new Fault(
          'cross_origin_request',
          'A web page of another origin may not open a WebSocket here without a key; the operator can allow origins in general_settings.cors.',
          { status: 403 },
        ),
  // A header with a key makes a browser ask first, so such a request was allowed.
  (checked) =>
    BODILESS.has(checked.request.method) || checked.headers.credential !== null || !isByOtherPage(checked)
      ? null
      : new Fault(
          'cross_origin_request',
          'A web page of another origin may not send this. Send `content-type: application/json` or a key; the operator can allow origins in general_settings.cors.',
        ),
];

function isOurHost(name: string, bound: BoundAddress, rules: RequestRules): boolean {
  if (isAllowedHost(name, bound, rules.allowedHosts)) return true;
  const own = [rules.platform?.publicBaseUrl, rules.console?.publicUrl];
  return own.some((url) => URL.parse(url ?? '')?.hostname === name);
}

/** `GET /key/info?key=` asks about a key, by its value or its hash. Any other parameter of it, and the master key, are refused. */
const ABOUT_A_KEY = /^\/key\/info\?/;

function queryToCheck(target: string, query: string, masterKey: Secret | null): string {
  if (!ABOUT_A_KEY.test(target)) return query;
  const isAsked = (part: string): boolean => {
    const [, value] = /^key=([^;?]*)$/.exec(part) ?? [];
    return value !== undefined && masterKey?.equals(unescape(value)) !== true;
  };
  return query
    .split('&')
    .filter((part) => !isAsked(part))
    .join('&');
}

function keysOf({ credentials }: RequestHeaders, masterKey: Secret | null): (value: string) => boolean {
  const known = credentials.filter((key) => key.length >= 8);
  return (value) => known.includes(value) || masterKey?.equals(value) === true;
}

function repeatedCredential({ raw, rules }: RequestHeaders): Fault | null {
  const values = new Map<string, string>();
  for (const [index, { name, role }] of rules.entries()) {
    if (role !== 'credential') continue;
    const header = raw[2 * index + 1] ?? '';
    // Only keys count among subprotocols: the header is a list, and may stand more than once (RFC 6455 section 11.3.4).
    for (const value of name === SUBPROTOCOL_HEADER ? offeredKeys(header) : [header]) {
      const before = values.get(name);
      if (before !== undefined && (name === 'authorization' || before !== value)) {
        const what = name === SUBPROTOCOL_HEADER ? `A key in ${name}` : `The header ${name}`;
        const text = `${what} stands more than once; two servers could read different keys.`;
        return new Fault('duplicate_credentials', text, { param: name });
      }
      values.set(name, value);
    }
  }
  return null;
}

function isByOtherPage(checked: Checked): boolean {
  return needsNoPreflight(checked.headers.contentType) && isOfOtherPage(checked);
}

function isOfOtherPage({ request, headers: { host }, rules: { cors } }: Checked): boolean {
  const origin = request.header('origin');
  if (!isCrossOrigin(origin, request.header('sec-fetch-site'), host ?? '')) return false;
  return cors === null || !cors.allowOrigins.some((one) => one === '*' || one === origin);
}

/**
 * @throws Fault malformed_request, bad_request_target, bad_framing, too_many_headers, host_not_allowed,
 *   duplicate_credentials, credentials_in_query, cross_origin_request
 */
export function checkRequest(checked: Checked): void {
  for (const check of CHECKS) {
    const fault = check(checked);
    if (fault !== null) throw fault;
  }
}

/** These two also serve requests that the parser itself rejects. */
export const oddTarget = (): Fault =>
  new Fault('bad_request_target', 'The request target must be a plain path such as /v1/chat/completions.');
export const oddCoding = (): Fault =>
  new Fault('bad_framing', 'The only Transfer-Encoding that is understood is `chunked`, on HTTP/1.1.');

/** What the client expects before it sends the body, from flat headers. */
export function expectationOf(headers: readonly string[]): Expectation {
  let expected: Expectation = 'none';
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]?.toLowerCase() !== 'expect') continue;
    const isKnown: boolean = expected === 'none' && headers[i + 1]?.toLowerCase() === '100-continue';
    expected = isKnown ? 'continue' : 'unknown';
  }
  return expected;
}
