// TLS of our own ports as Node takes it.
import type { ServerOptions } from 'node:https';
import type { ListenerTls } from '../../config/tls-settings.ts';

/** A client that opens a connection and does not finish the handshake holds memory; Node's default is 120 s. */
const HANDSHAKE_MS = 10_000;

export function tlsOptions({ certificate, clientAuthorities }: ListenerTls): ServerOptions {
  return {
    cert: certificate.pem.reveal(),
    key: certificate.key.reveal(),
    minVersion: 'TLSv1.2',
    handshakeTimeout: HANDSHAKE_MS,
    ...(clientAuthorities === null
      ? {}
      : { ca: clientAuthorities.pem.reveal(), requestCert: true, rejectUnauthorized: true }),
  };
}

/** Whether `next` can take the place of `now` on open ports: Node reads whether clients need a certificate only at the start. */
export function isReplaceable(now: ListenerTls | null, next: ListenerTls | null): boolean {
  if (now === null || next === null) return now === next;
  return (now.clientAuthorities === null) === (next.clientAuthorities === null);
}

/**
 * Why a handshake failed, for the log: the client is told by an alert at most, and of a certificate that is not accepted nothing.
 * null: it left, as probes do.
 * @param refused Node's reason for not accepting the client's certificate; null = that was not it
 */
export function handshakeTrouble({ code = '' }: NodeJS.ErrnoException, refused: unknown): string | null {
  if (typeof refused === 'string')
    return `The certificate of the client is not accepted (${refused}); client_ca_file names the authorities.`;
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE')
    return 'The client showed no certificate, and client_ca_file asks for one.';
  if (code === 'ERR_SSL_HTTP_REQUEST')
    return 'The client sent HTTP without TLS; its URL must begin with https://.';
  return code.startsWith('ERR_SSL_') ? `The client and the proxy did not agree (${code}).` : null;
}
