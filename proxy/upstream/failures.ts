// Errors between the proxy and an upstream -> Fault, and how the codes of sockets and of undici are read.
import { errorCode } from '../../config/error-code.ts';
import { Fault, toFault } from '../errors/fault.ts';
import { errors } from 'undici';
import { BadResponse, ProxyFailure, TlsFailure, Unanswered } from './bad-response.ts';

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'its name is not known to DNS',
  EAI_AGAIN: 'DNS does not answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  EADDRNOTAVAIL: 'no local port is free',
  ERR_ADDRESS_REFUSED:
    'it leads to a link-local or metadata address, which models of /model/new must not use; see general_settings.runtime_models',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; see NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain is self-signed; see NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified; see NODE_EXTRA_CA_CERTS',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is not known; see NODE_EXTRA_CA_CERTS',
};

/** This machine has nothing left to make a socket of: every upstream would be called unreachable, and none of them is. */
const EXHAUSTED: Readonly<Record<string, string>> = {
  EMFILE: 'the process has no file descriptor left; see ulimit -n',
  ENFILE: 'the machine has no file descriptor left',
  ENOBUFS: 'the machine has no memory left for sockets',
  ENOMEM: 'the machine has no memory left',
};

/** undici's codes for requests that it does not send. */
const REFUSED_BY_UNDICI: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** Of an answer that had begun. */
export function brokenOff(error: Error, apiBase: string): Fault {
  const text = `Connection lost: the upstream ${apiBase} broke off its answer; it is not complete.`;
  return new Fault('stream_broken', text, { cause: error });
}

/** The code of the error itself; '' = it has none. */
export const ownCode = (error: Error): string => errorCode(error) ?? '';

/** The code of an error or of what caused it; '' = there is none. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const code = ownCode(error);
  if (code !== '') return code;
  // Both address families failed: Node wraps the two in an AggregateError that has no code of its own in places.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return first === undefined || first === error ? '' : codeOf(first);
}

/** What came in a handshake was no TLS: the port serves plain HTTP. `node:https` calls that EPROTO and keeps the reason in its text. */
export function meetsNoTls(error: Error): boolean {
  const reason = ownCode(error) === 'EPROTO' ? error.message : codeOf(error);
  return /wrong[ _]version[ _]number|packet[ _]length[ _]too[ _]long/i.test(reason);
}

/** What OpenSSL or Node says by its code; the port of a gateway that serves plain HTTP is the usual reason. */
function tlsTrouble(error: unknown, code: string): string {
  if (error instanceof Error && meetsNoTls(error))
    return 'TLS failed: its port speaks no TLS; api_base may have to begin with http://';
  return `TLS failed (${code})`;
}

/**
 * The fault for an error that ended an exchange before a response.
 * @param sent the request was being sent, so the upstream may have processed it, whatever the error code
 */
export function failureOf(error: unknown, apiBase: string, sent = false): Fault {
  const code = codeOf(error);
  if (isBug(error, code)) return toFault(error);
  const lacks = sent ? undefined : EXHAUSTED[code];
  if (lacks !== undefined)
    return new Fault('overloaded', `No connection to the upstream ${apiBase} can be made: ${lacks}.`, {
      cause: error,
      headers: [['retry-after', '1']],
    });
  if (error instanceof TlsFailure) {
    const text = `The upstream ${apiBase} cannot be reached: ${error.message}.`;
    return new Fault('upstream_unreachable', text, { cause: error });
  }
  if (error instanceof ProxyFailure) {
    const text = `The upstream ${apiBase} cannot be reached: ${proxyTrouble(error, code)}.`;
    return new Fault('upstream_unreachable', text, { cause: error });
  }
  if ((code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') && !sent) {
    return new Fault('connect_timeout', `No connection to the upstream ${apiBase} within connect_timeout.`, {
      cause: error,
    });
  }
  const why = sent ? undefined : UNREACHABLE[code];
  if (why !== undefined || code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) {
    return new Fault(
      'upstream_unreachable',
      `The upstream ${apiBase} cannot be reached: ${why ?? tlsTrouble(error, code)}.`,
      {
        cause: error,
      },
    );
  }
  const what = whatItDid(error, code);
  const advice = error instanceof Unanswered ? ` ${error.advice}` : '';
  return new Fault(
    'upstream_broken',
    `The upstream ${apiBase} ${what} before its answer was complete.${advice}`,
    {
      cause: error,
    },
  );
}

/** A bug of the proxy, or a request that undici does not send; not the upstream's fault. */
function isBug(error: unknown, code: string): boolean {
  if (REFUSED_BY_UNDICI.has(code)) return true;
  return code === '' && (error instanceof TypeError || error instanceof RangeError);
}

function whatItDid(error: unknown, code: string): string {
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'sent more headers than are read';
  return isMalformed(error) ? 'sent something that is not an HTTP answer' : 'closed the connection';
}

function isMalformed(error: unknown): boolean {
  if (error instanceof BadResponse) return true;
  return error instanceof errors.HTTPParserError && 'data' in error && error.data !== ''; // none: the connection ended within a message
}

/** What an operator does about it: these come from the forward proxy, not from the gateway behind it. */
const CREDENTIALS =
  '; it wants credentials: write http://USER:PASSWORD@HOST:PORT in HTTPS_PROXY or HTTP_PROXY';
const PROXY_ADVICE: Readonly<Record<number, string>> = {
  401: CREDENTIALS, // tinyproxy, for wrong ones
  403: '; have it allow this address, or name the host in NO_PROXY',
  407: CREDENTIALS,
};

function proxyTrouble({ status, message }: ProxyFailure, code: string): string {
  if (status !== null) return `${message}${PROXY_ADVICE[status] ?? ''}`;
  return `the HTTP proxy failed (${UNREACHABLE[code] ?? 'it closed the connection'})`;
}
