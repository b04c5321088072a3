// Proofs of thoughts in a field of another protocol. A proof that came from one protocol travels through a caller of another
// in that caller's opaque field under our own prefix, and goes back only to where it came from: a vendor refuses a
// signature that it did not make.
import type { Proof, ProofOrigin } from './form.ts';

/** What a proof of another protocol begins with. */
export const FOREIGN_PROOF = 'throughline.';
const ORIGINS: readonly ProofOrigin[] = ['chat', 'messages', 'messages_redacted', 'responses', 'gemini'];

/** What a caller of `own` is shown: its own proofs as they are, others under the prefix. */
export function showProof(proof: Proof, own: ProofOrigin): string {
  return proof.origin === own ? proof.data : `${FOREIGN_PROOF}${proof.origin}.${proof.data}`;
}

/** What a caller of `own` sends back; null when it is empty. */
export function readProof(field: string | null, own: ProofOrigin): Proof | null {
  if (field === null || field === '') return null;
  if (!field.startsWith(FOREIGN_PROOF)) return { origin: own, data: field };
  const end = field.indexOf('.', FOREIGN_PROOF.length);
  const origin = ORIGINS.find((name) => name === field.slice(FOREIGN_PROOF.length, end));
  return origin === undefined ? null : { origin, data: field.slice(end + 1) };
}
