// The one list of headers that never go from a client to an upstream, each with the reason. It filters requests, and it
// rejects a configuration that names such a header where it cannot have an effect. Pure.

/** `explain` prints the text. */
type NeverPassed =
  | 'hop-by-hop'
  | 'belongs to this hop'
  | 'the body goes uncompressed and may be changed'
  | 'a credential of the caller';

/** RFC 9110 section 7.6.1 plus the names of RFC 2616; clients still send `keep-alive` and `proxy-connection`. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Headers that may hold a caller's key, in lookup order. `x-<brand>-api-key` comes before all of them. */
export const KEY_HEADERS: readonly string[] = [
  'authorization',
  'api-key',
  'x-api-key',
  'x-goog-api-key',
  'ocp-apim-subscription-key',
];

/** Where browsers, which cannot set headers of a WebSocket, put the key: looked at after all others. */
export const SUBPROTOCOL_HEADER = 'sec-websocket-protocol';
/** As OpenAI's clients spell it there. */
export const KEY_SUBPROTOCOL = 'openai-insecure-api-key.';

/** Credentials for other systems that agents and browsers send along. */
const FOREIGN_CREDENTIALS = [
  'cookie',
  'cookie2',
  'set-cookie',
  'x-session-api-key',
  'x-access-token',
  'x-mcp-auth',
];

/** Headers that describe the body's bytes: coding and checksums (RFC 9110 section 8.4, RFC 9530, RFC 3230, RFC 1864). */
const OF_THE_BYTES = ['content-encoding', 'content-digest', 'repr-digest', 'digest', 'content-md5'];

/** Of the opening handshake (RFC 6455 section 11.3); browsers put a key into the subprotocol. */
const OF_A_WEBSOCKET = ['accept', 'extensions', 'key', 'protocol', 'version'].map(
  (one) => `sec-websocket-${one}`,
);

const NEVER_PASSED: ReadonlyMap<string, NeverPassed> = new Map([
  ...[...HOP_BY_HOP].map((name) => [name, 'hop-by-hop'] as const),
  ...['host', 'content-length', 'expect', 'accept-encoding'].map(
    (name) => [name, 'belongs to this hop'] as const,
  ),
  ...OF_A_WEBSOCKET.map((name) => [name, 'belongs to this hop'] as const),
  ...OF_THE_BYTES.map((name) => [name, 'the body goes uncompressed and may be changed'] as const),
  ...[...KEY_HEADERS, ...FOREIGN_CREDENTIALS].map((name) => [name, 'a credential of the caller'] as const),
]);

/** A name as a CGI-style server reads it: `x_team` and `x-team` are the same. Lower-case in, lower-case out. */
export function dashed(name: string): string {
  return name.replaceAll('_', '-');
}

/**
 * Why a client's header is never forwarded; null = it may be. Underscores count as dashes.
 * @param name lower-case
 * @param headerPrefix `x-<brand>-`, for the brand's own key header
 */
export function neverPassed(name: string, headerPrefix: string): NeverPassed | null {
  const plain = dashed(name);
  if (plain === `${headerPrefix}api-key`) return 'a credential of the caller';
  return NEVER_PASSED.get(plain) ?? null;
}

/**
 * Whether only the proxy may set this header on upstream requests: framing, hop-by-hop and body description. Settings
 * may not change these; they may set credentials.
 * @param name lower-case
 */
export function isSetByProxy(name: string): boolean {
  const plain = dashed(name);
  const reason = NEVER_PASSED.get(plain) ?? 'a credential of the caller';
  return plain === 'content-type' || reason !== 'a credential of the caller';
}
