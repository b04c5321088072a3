// Finds credentials in a query string, which every log on the way would record: by name or by value, in whatever spelling
// some server would decode.
import { unescape } from 'node:querystring';

/** Whole names, compared without case and punctuation. */
const NAMES: ReadonlySet<string> = new Set([
  'key',
  'token',
  'auth',
  'jwt',
  'sig',
  'xbfvk',
  'pwd',
  'passwd',
  'passphrase',
  'credential',
  'credentials',
]);
/** Ends of names: `x-api-key`, `Ocp-Apim-Subscription-Key`, `X-Amz-Security-Token`, `client_secret`. */
const ENDS =
  /(?:(?:api|access|auth|subscription|virtual|master|private|secret|session|litellm|account)key|(?:api|access|auth|bearer|id|refresh|session|security)token|authorization|bearer|secret|password|signature)$/;
const LONGEST_END = 20;
/** No parameter of any API is longer; a name of 60 KB would cost 20 ms. */
const LONGEST_NAME = 256;
/** The beginning of a key, or of the value of an Authorization header. */
const KEY_VALUE = /^\s*(?:(?:bearer|basic)\s+\S|sk-[\w-]{6})/i;
/** The SHA-256 of a key, which filters spend rows, is not a credential. */
const DIGEST = /^[0-9a-f]{64}$/;
/** A text may be encoded more than once: proxies on the way decode. */
const MOST_DECODINGS = 3;

/**
 * Whether a query string carries a credential.
 * @param query as sent, without the question mark
 * @param isKey tells the keys that this request or this proxy has, wherever they stand
 */
export function carriesCredentials(query: string, isKey: (value: string) => boolean): boolean {
  let text = query;
  for (let n = 0; n <= MOST_DECODINGS; n += 1) {
    // Some servers separate by `;` (HTML 4.01 appendix B.2.2), and a second `?` may be what a rewrite leaves.
    if (text.split(/[&;?]/).some((part) => isCredential(part, isKey))) return true;
    if (!text.includes('%')) return false;
    text = unescape(text);
  }
  return false;
}

function isCredential(part: string, isKey: (value: string) => boolean): boolean {
  const equals = part.indexOf('=');
  const name = equals < 0 ? part : part.slice(0, equals);
  const value = equals < 0 ? '' : part.slice(equals + 1).replaceAll('+', ' ');
  if (KEY_VALUE.test(value) || KEY_VALUE.test(name) || isKey(value) || isKey(name)) return true;
  if (value === '' || DIGEST.test(value) || name.length > LONGEST_NAME) return false;
  return [name, ...name.split(/[.[\]]/)].some(isCredentialName);
}

function isCredentialName(name: string): boolean {
  const plain = name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
  return NAMES.has(plain) || ENDS.test(plain.slice(-LONGEST_END));
}
