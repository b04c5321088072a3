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
