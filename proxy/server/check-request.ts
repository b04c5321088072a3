// What Node's parser takes and we refuse: requests that two HTTP programs could read in two ways, or that name a version,
// method or target that is not served. One list, with the reason for each.
import { Fault } from '../errors/fault.ts';
import type { DownstreamRequest, Expectation } from '../downstream/downstream-request.ts';
import type { RequestHeaders } from '../headers/request-headers.ts';

interface Checked {
  readonly request: DownstreamRequest;
  readonly headers: RequestHeaders;
  /** Without the question mark. */
  readonly query: string;
  readonly maxHeaders: number;
}

/** @returns what is wrong, or null. */
type Check = (checked: Checked) => Fault | null;

/** Printable ASCII without space, `#` and what a URL cannot hold: the target is compared as it was sent. */
const TARGET = /^\/[!$-;=?-[\]_a-z~%]*$/;
/** RFC 9110 section 9 and PATCH; which of them a route takes is the route's to say. */
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
/** Below 2^53, whatever zeros stand before. */
const LENGTH = /^\d{1,15}$/;
/**
 * Names of keys in a query string; they would be written to every access log along the way. The SHA-256 of a key,
 * by which spend rows are filtered, is none.
 */
const QUERY_KEY = /(?:^|&)(?:key|api[-_]?key|access[-_]token|token)=(?![0-9a-f]{64}(?:&|$))/i;

/** What closes the connection comes first: a request that is also refused for less must not keep it open. */
const CHECKS: readonly Check[] = [
  // llhttp takes `GET /` as HTTP/0.9, and the numbers 0.9 and 2.0; by them it reads the same bytes in other ways.
  ({ request: { version } }) =>
    version === '1.1' || version === '1.0'
      ? null
      : new Fault('malformed_request', 'The only versions that are spoken here are HTTP/1.1 and HTTP/1.0.'),
  // llhttp knows 35 methods of WebDAV, UPnP and others; some servers read bodies by the method.
  ({ request: { method } }) =>
    METHODS.has(method) ? null : new Fault('malformed_request', 'The method is not known.'),
  // `*`, whole URLs and authorities are for other kinds of proxies; bytes outside of URLs are written in many ways.
  ({ request: { target } }) => (TARGET.test(target) ? null : oddTarget()),
  // Of two hosts, programs in front may have taken the other one (RFC 9112 section 3.2).
  ({ headers: { hostCount } }) =>
    hostCount === 1
      ? null
      : new Fault('bad_framing', `The request must have exactly one Host header; it has ${hostCount}.`),
  // llhttp takes `,chunked` and any coding before `chunked`, and chunks on HTTP/1.0 (RFC 9112 section 6.1).
  ({ request: { version }, headers: { transferEncoding } }) =>
    transferEncoding === null || (transferEncoding.toLowerCase() === 'chunked' && version === '1.1')
      ? null
      : oddCoding(),
  // Two framings: llhttp refuses them in one order of the two headers, we in both.
  ({ headers: { transferEncoding, contentLength } }) =>
    transferEncoding === null || contentLength === null
      ? null
      : new Fault('malformed_request', 'Content-Length and Transfer-Encoding exclude each other.'),
  // llhttp reads up to 2^64; a number in JavaScript is exact up to 2^53.
  ({ headers: { contentLength } }) =>
    contentLength === null || LENGTH.test(contentLength)
      ? null
      : new Fault('malformed_request', 'Content-Length is no number, or too large a one.'),
  // Programs that expect no body take it for the next request.
  ({ request: { method }, headers: { transferEncoding, contentLength } }) =>
    BODILESS.has(method) && (transferEncoding !== null || (contentLength !== null && contentLength !== '0'))
      ? new Fault('bad_framing', `A ${method} request must not have a body.`)
      : null,
  // Node takes any value that holds the words 100-continue.
  ({ request: { expectation } }) =>
    expectation === 'unknown'
      ? new Fault('bad_framing', 'The only expectation that is understood is 100-continue.')
      : null,
  // Node's own bound is 1,000 (http-server.ts); up to there the list is whole.
  ({ headers: { raw }, maxHeaders }) =>
    raw.length / 2 <= maxHeaders
      ? null
      : new Fault(
          'too_many_headers',
          `The request has ${raw.length / 2} headers; at most ${maxHeaders} are allowed.`,
        ),
  ({ query }) =>
    query !== '' && QUERY_KEY.test(query)
      ? new Fault('credentials_in_query', 'The query string carries a key; send it as a header instead.')
      : null,
];

/** @throws Fault malformed_request, bad_request_target, bad_framing, too_many_headers, credentials_in_query. */
export function checkRequest(checked: Checked): void {
  for (const check of CHECKS) {
    const fault = check(checked);
    if (fault !== null) throw fault;
  }
}

/** Also for what the parser refuses itself. */
export const oddTarget = (): Fault =>
  new Fault('bad_request_target', 'The request target must be a plain path such as /v1/chat/completions.');
export const oddCoding = (): Fault =>
  new Fault('bad_framing', 'The only Transfer-Encoding that is understood is `chunked`, on HTTP/1.1.');

/** What flat headers expect before the body is sent. */
export function expectationOf(headers: readonly string[]): Expectation {
  let expected: Expectation = 'none';
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]?.toLowerCase() !== 'expect') continue;
    const isKnown: boolean = expected === 'none' && headers[i + 1]?.toLowerCase() === '100-continue';
    expected = isKnown ? 'continue' : 'unknown';
  }
  return expected;
}
