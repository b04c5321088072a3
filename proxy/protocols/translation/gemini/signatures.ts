// Proofs in Gemini's `thoughtSignature`, which SDKs decode as base64: foreign proofs are written so that they can.
import { Buffer } from 'node:buffer';
import type { Proof } from '../form.ts';
import { FOREIGN_PROOF, readProof, showProof } from '../proofs.ts';

/** Base64 of the prefix of foreign proofs, whose 12 bytes are 16 characters. */
export const FOREIGN_SIGNATURE = Buffer.from(FOREIGN_PROOF).toString('base64');
/** Stands for a signature on calls that Gemini did not make (ai.google.dev/gemini-api/docs/thought-signatures). */
export const PLACEHOLDER = 'skip_thought_signature_validator';

export function showSignature(proof: Proof): string {
  const shown = showProof(proof, 'gemini');
  return proof.origin === 'gemini' ? shown : Buffer.from(shown).toString('base64');
}

export function readSignature(field: string | null): Proof | null {
  if (field === null || !field.startsWith(FOREIGN_SIGNATURE)) return readProof(field, 'gemini');
  return readProof(Buffer.from(field, 'base64').toString('utf8'), 'gemini');
}
