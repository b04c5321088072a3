// TLS to upstreams with authorities and a client certificate of their own: what Node needs for it, and what its errors
// mean in the words of the configuration.
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { ownCode } from './failures.ts';
import type { UpstreamTls } from '../../config/tls-settings.ts';
import { TlsFailure, Unanswered } from './bad-response.ts';

/** With the authorities of a machine it costs 10 ms and 1 MB, so the connections of a pool share one. */
export function secureContextOf(tls: UpstreamTls): SecureContext {
  const { authorities, isExclusive, certificate } = tls;
  const own = authorities === null ? [] : [authorities.pem.reveal()];
  return createSecureContext({
    ...(authorities === null ? {} : { ca: isExclusive ? own : [...getCACertificates('default'), ...own] }),
    ...(certificate === null ? {} : { cert: certificate.pem.reveal(), key: certificate.key.reveal() }),
  });
}

/** Node's codes for a certificate whose authority is not known. */
export const UNKNOWN_CA: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** What an upstream says about our certificate (RFC 8446 section 6.2). With TLS 1.2, `handshake_failure` says that there is none. */
const ALERT =
  /^ERR_SSL_[A-Z\d/_]*ALERT_(CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED|CERTIFICATE_REVOKED|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED|DECRYPT_ERROR)$/;

/** The error in the words of the configuration, or as it was. @param tls null = nothing is configured */
export function explained(error: Error, tls: UpstreamTls | null): Error {
  const code = ownCode(error);
  const text = troubleOf(code, tls);
  return text === null ? error : new TlsFailure(text, code, error);
}

/**
 * The error of a new TLS connection that the upstream closed without a byte. With TLS 1.3 that is how a missing or refused
 * client certificate ends: the handshake is over for us before the upstream has looked at it (RFC 8446 section 4.4.2.4).
 */
export function unanswered(error: Error, tls: UpstreamTls | null): Error {
  const certificate = tls?.certificate ?? null;
  return new Unanswered(
    certificate === null
      ? 'If it asks for a client certificate, set ssl_certificate and ssl_certificate_key.'
      : `Check that it accepts the client certificate of ${certificate.file}.`,
    error,
  );
}

function troubleOf(code: string, tls: UpstreamTls | null): string | null {
  if (UNKNOWN_CA.has(code)) {
    const authorities = tls?.authorities ?? null;
    if (tls === null || authorities === null)
      return `the authority of its certificate is not known (${code}); name its file in ssl_verify, SSL_CERT_FILE or NODE_EXTRA_CA_CERTS`;
    const others = tls.isExclusive ? '' : ' nor among those of Node';
    return `the authority of its certificate is not in ${authorities.file}${others} (${code}); add it to the file`;
  }
  const alert = ALERT.exec(code)?.[1];
  if (alert === undefined) return null;
  const said = alert.toLowerCase();
  const certificate = tls?.certificate ?? null;
  if (certificate !== null)
    return `it does not accept the client certificate of ${certificate.file} (${said}); check that it is the right one and has not expired`;
  return said === 'certificate_required'
    ? 'it asks for a client certificate, and none is configured; set ssl_certificate and ssl_certificate_key'
    : `it refused the TLS handshake (${said}); if it asks for a client certificate, set ssl_certificate and ssl_certificate_key`;
}
