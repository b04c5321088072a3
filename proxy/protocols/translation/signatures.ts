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
/** A thought of a chat server that was signed and not shown, which is not one that was redacted. */
const UNSHOWN = `${FOREIGN_PREFIX}chat_unshown.`;
/** Likewise, with its origin. The prefix alone may be a word of any text, such as the name of a file. */
export const FOREIGN_BEGINNINGS: readonly string[] = [
  ...ORIGINS.map((origin) => `${FOREIGN_PREFIX}${origin}.`),
  UNSHOWN,
];

/** What a caller of `own` is shown: its own signatures as they are, others under the prefix. */
export function showSignature(signature: Signature, own: SignatureOrigin): string {
  return signature.origin === own ? signature.data : `${FOREIGN_PREFIX}${signature.origin}.${signature.data}`;
}

/** Likewise, of a thought without a text, in a field that stands for one. */
export function showTextless(signature: Signature, own: SignatureOrigin): string {
  return signature.origin === 'chat' && signature.data !== ''
    ? UNSHOWN + signature.data
    : showSignature(signature, own);
}

/** Whether another protocol's signature stands in a field. */
export const isForeignSignature = (field: string): boolean =>
  field.startsWith(FOREIGN_PREFIX) && FOREIGN_BEGINNINGS.some((beginning) => field.startsWith(beginning));

/** What a caller of `own` sends back; null when it is empty. */
export function readSignature(field: string | null, own: SignatureOrigin): Signature | null {
  if (field === null || field === '') return null;
  if (!field.startsWith(FOREIGN_PREFIX)) return { origin: own, data: field };
  if (field.startsWith(UNSHOWN)) return { origin: 'chat', data: field.slice(UNSHOWN.length) };
  const end = field.indexOf('.', FOREIGN_PREFIX.length);
  const origin = ORIGINS.find((name) => name === field.slice(FOREIGN_PREFIX.length, end));
  return origin === undefined ? null : { origin, data: field.slice(end + 1) };
}

/**
 * What `showTextless` has written. Version 0.1.0 wrote `chat` for what was redacted, too; of the histories that it has kept only those
 * could go on, since it sent all of them back as redacted.
 */
export function readTextless(field: string | null, own: SignatureOrigin): Signature | null {
  const signature = readSignature(field, own);
  const isOld = signature?.origin === 'chat' && signature.data !== '' && field?.startsWith(UNSHOWN) !== true;
  return isOld ? { origin: 'chat_redacted', data: signature.data } : signature;
}
