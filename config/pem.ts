// Certificates and keys in PEM text (RFC 7468): whether Node can use them, and until when they are valid.
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorCode } from './error-code.ts';

/** What is wrong with it, as the end of a sentence about the file, and what to do. */
interface PemProblem {
  readonly message: string;
  readonly fix: string;
}

type Parsed =
  | { readonly ok: true; readonly certificates: readonly X509Certificate[] }
  | ({ readonly ok: false } & PemProblem);

const BLOCK =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;
const KEY = /-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----/;

function certificatesIn(pem: string): Parsed {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0)
    return {
      ok: false,
      message: 'holds no certificate in PEM',
      fix: 'it begins with -----BEGIN CERTIFICATE-----; convert another format with openssl x509',
    };
  const certificates: X509Certificate[] = [];
  for (const block of blocks)
    try {
      certificates.push(new X509Certificate(block));
    } catch {
      return {
        ok: false,
        message: `holds a certificate that cannot be read, number ${certificates.length + 1} of ${blocks.length}`,
        fix: 'copy the file again',
      };
    }
  return { ok: true, certificates };
}

/** Why Node cannot use authorities. */
export function authoritiesProblem(pem: string): PemProblem | null {
  const parsed = certificatesIn(pem);
  return parsed.ok ? null : parsed;
}

/** Why Node cannot use a certificate with this key. @param where of the key, for the message */
export function pairProblem(certificate: string, key: string, where: string): PemProblem | null {
  const parsed = certificatesIn(certificate);
  if (!parsed.ok) return parsed;
  const kind = KEY.exec(key);
  if (kind === null)
    return { message: `has no key: ${where} holds no private key in PEM`, fix: 'name the file of the key' };
  if (kind[1]?.includes('ENCRYPTED') === true || /^Proc-Type: 4,ENCRYPTED/m.test(key))
    return {
      message: `has a key that is encrypted: ${where}`,
      fix: 'write it without a passphrase (openssl pkey), and protect the file by its permissions',
    };
  try {
    createSecureContext({ cert: certificate, key });
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' || code === 'ERR_OSSL_X509_KEY_TYPE_MISMATCH')
      return {
        message: `does not belong to the key of ${where}`,
        fix: 'name the key that the certificate was made for; after a renewal both files change',
      };
    return {
      message: `cannot be used with the key of ${where} (${code ?? 'unknown'})`,
      fix: 'check both files with openssl; OpenSSL refuses RSA keys below 2048 bits',
    };
  }
}

/** When the first certificate of a text is valid, or null when it is now. */
export function validityProblem(pem: string, nowMs: number): string | null {
  const parsed = certificatesIn(pem);
  const first = parsed.ok ? parsed.certificates[0] : undefined;
  if (first === undefined) return null;
  const day = (text: string): string => new Date(text).toISOString().slice(0, 10);
  if (Date.parse(first.validTo) < nowMs) return `expired on ${day(first.validTo)}`;
  return Date.parse(first.validFrom) > nowMs ? `is not valid before ${day(first.validFrom)}` : null;
}
