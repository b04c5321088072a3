// What went wrong between us and an upstream -> a Fault. The only place that reads error codes of sockets.
import { Fault, toFault } from '../errors/fault.ts';
import { BadMessage } from '../wire/head.ts';

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'its name is not known to DNS',
  EAI_AGAIN: 'DNS does not answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  EADDRNOTAVAIL: 'no local port is free',
  EMFILE: 'the process has no file descriptor left',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; see NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain is self-signed; see NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified; see NODE_EXTRA_CA_CERTS',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is not known; see NODE_EXTRA_CA_CERTS',
};

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && code !== '') return code;
  // Both address families failed: Node wraps the two in an AggregateError that has no code of its own in places.
  const first = error instanceof AggregateError ? (error.errors as unknown[])[0] : error.cause;
  return first === undefined || first === error ? '' : codeOf(first);
}

/**
 * The fault for an error that ended an exchange before an answer was there.
 * @param sent the request was on its way: whatever the system calls it, the upstream may have done its work
 */
export function failureOf(error: unknown, apiBase: string, sent = false): Fault {
  const code = codeOf(error);
  if (code === '' && (error instanceof TypeError || error instanceof RangeError)) return toFault(error);
  if (code === 'ETIMEDOUT' && !sent) {
    return new Fault('connect_timeout', `No connection to the upstream ${apiBase} within connect_timeout.`, {
      cause: error,
    });
  }
  const why = sent ? undefined : UNREACHABLE[code];
  if (why !== undefined || code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) {
    return new Fault(
      'upstream_unreachable',
      `The upstream ${apiBase} cannot be reached: ${why ?? 'TLS failed'}.`,
      {
        cause: error,
      },
    );
  }
  const what =
    error instanceof BadMessage ? 'sent something that is not an HTTP answer' : 'closed the connection';
  return new Fault('upstream_broken', `The upstream ${apiBase} ${what} before it had answered.`, {
    cause: error,
  });
}
