// Why an address that a command was given does not answer, in words that fit into one line.
import { asError } from '../base/as-error.ts';
import { codeOf, meetsNoTls } from '../upstream/failures.ts';

/** An error of OpenSSL has its reason in the middle, and the file of its source behind it. */
const OPENSSL = /[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]*):[^]*$/;

/** @param error of `fetch` or of a request to `url` */
export function whyNoAnswer(error: unknown, url: URL): string {
  const { message, cause } = asError(error);
  const root = cause instanceof Error ? cause : asError(error);
  if (url.protocol === 'https:' && meetsNoTls(root))
    return `the port speaks no TLS: write http://${url.host}`;
  const text = root.message || codeOf(root) || message || root.name;
  return text
    .replace(OPENSSL, 'TLS failed: $1')
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
}
