// Requests that Node's parser accepts and we reject: those that two HTTP implementations could read differently, and
// versions, methods or targets that are not served. One list, with the reason for each.
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
/**
 * Credentials in a query string, which every access log on the way would record. The SHA-256 of a key, which filters
 * spend rows, is not a credential.
 */
const QUERY_KEY = /(?:^|&)(?:key|api[-_]?key|access[-_]token|token)=(?![0-9a-f]{64}(?:&|$))/i;

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
