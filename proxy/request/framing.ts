// Refuses well-formed requests that two HTTP programs could take in two ways: two Host headers, absolute targets,
// `Transfer-Encoding: ,chunked` (Node's own parser takes it for chunked), TE on HTTP/1.0, HTTP/2.0 in a request line, a
// body on GET, header floods.
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';

/** Printable ASCII without space, `#` and what a URL cannot hold: the target is compared as it was sent. */
const TARGET = /^\/[!$-;=?-[\]_a-z~%]*$/;
/**
 * Names of keys in a query string; they would be written to every access log along the way. The SHA-256 of a key,
 * by which spend rows are filtered, is none.
 */
const QUERY_KEY = /(?:^|&)(?:key|api[-_]?key|access[-_]token|token)=(?![0-9a-f]{64}(?:&|$))/i;

/**
 * What closes the connection is looked at first: a request that is also refused for something else must not keep open
 * one whose next request begins who knows where.
 * @throws Fault malformed_request, bad_request_target, bad_framing, too_many_headers, credentials_in_query.
 */
export function checkFraming(x: Exchange): void {
  const { req, headers } = x;
  const { limits } = x.live.snapshot;
  if (req.version !== '1.1' && req.version !== '1.0') {
    throw new Fault('malformed_request', 'The only versions that are spoken here are HTTP/1.1 and HTTP/1.0.');
  }
  if (!TARGET.test(req.target)) {
    throw new Fault(
      'bad_request_target',
      'The request target must be a plain path such as /v1/chat/completions.',
    );
  }
  if (headers.hostCount !== 1) {
    throw new Fault(
      'bad_framing',
      `The request must have exactly one Host header; it has ${headers.hostCount}.`,
    );
  }
  const te = headers.transferEncoding;
  if (te !== null && (te.toLowerCase() !== 'chunked' || req.version !== '1.1')) {
    throw new Fault(
      'bad_framing',
      'The only Transfer-Encoding that is understood is `chunked`, on HTTP/1.1.',
    );
  }
  const bodiless = req.method === 'GET' || req.method === 'HEAD' || req.method === 'OPTIONS';
  if (bodiless && (te !== null || (headers.contentLength !== null && headers.contentLength !== '0'))) {
    throw new Fault('bad_framing', `A ${req.method} request must not have a body.`);
  }
  const count = headers.raw.length / 2;
  if (count > limits.headerCount) {
    throw new Fault(
      'too_many_headers',
      `The request has ${count} headers; at most ${limits.headerCount} are allowed.`,
    );
  }
  if (x.query !== '' && QUERY_KEY.test(x.query)) {
    throw new Fault('credentials_in_query', 'The query string carries a key; send it as a header instead.');
  }
}
