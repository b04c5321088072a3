// Signatures of thoughts in a field of another protocol. A signature that came from one protocol travels through a caller of another
// in that caller's opaque field under our own prefix, and goes back only to where it came from: a vendor refuses a
// signature that it did not make.
import type { Signature, SignatureOrigin } from './form.ts';

/** What a signature of another protocol begins with. */
export const FOREIGN_PREFIX = 'throughline.';
const ORIGINS: readonly SignatureOrigin[] = [
  'chat',
  'chat_redacted',
  'messages',
  'messages_redacted',
  'responses',
  'gemini',
];
/** Likewise, with its origin. The prefix alone may be a word of any text, such as the name of a file. */
export const FOREIGN_BEGINNINGS: readonly string[] = ORIGINS.map((origin) => `${FOREIGN_PREFIX}${origin}.`);

/** What a caller of `own` is shown: its own signatures as they are, others under the prefix. */
export function showSignature(signature: Signature, own: SignatureOrigin): string {
  return signature.origin === own ? signature.data : `${FOREIGN_PREFIX}${signature.origin}.${signature.data}`;
}

/** Whether another protocol's signature stands in a field. */
export const isForeignSignature = (field: string): boolean =>
  field.startsWith(FOREIGN_PREFIX) && FOREIGN_BEGINNINGS.some((beginning) => field.startsWith(beginning));

/** What a caller of `own` sends back; null when it is empty. */
export function readSignature(field: string | null, own: SignatureOrigin): Signature | null {
  if (field === null || field === '') return null;
  if (!field.startsWith(FOREIGN_PREFIX)) return { origin: own, data: field };
  const end = field.indexOf('.', FOREIGN_PREFIX.length);
  const origin = ORIGINS.find((name) => name === field.slice(FOREIGN_PREFIX.length, end));
  return origin === undefined ? null : { origin, data: field.slice(end + 1) };
}
