// Signatures of thoughts in a field of another protocol. A signature that came from one protocol travels through a caller of another
// in that caller's opaque field under our own prefix, and goes back only to where it came from: a vendor refuses a
// signature that it did not make.
import type { Signature, SignatureOrigin } from './form.ts';

/** What a signature of another protocol begins with. */
export const FOREIGN_PREFIX = 'throughline.';
const ORIGINS: readonly SignatureOrigin[] = ['chat', 'messages', 'messages_redacted', 'responses', 'gemini'];

/** What a caller of `own` is shown: its own signatures as they are, others under the prefix. */
export function showSignature(signature: Signature, own: SignatureOrigin): string {
  return signature.origin === own ? signature.data : `${FOREIGN_PREFIX}${signature.origin}.${signature.data}`;
}

/** What a caller of `own` sends back; null when it is empty. */
export function readSignature(field: string | null, own: SignatureOrigin): Signature | null {
  if (field === null || field === '') return null;
  if (!field.startsWith(FOREIGN_PREFIX)) return { origin: own, data: field };
  const end = field.indexOf('.', FOREIGN_PREFIX.length);
  const origin = ORIGINS.find((name) => name === field.slice(FOREIGN_PREFIX.length, end));
  return origin === undefined ? null : { origin, data: field.slice(end + 1) };
}
