// Signatures in Gemini's `thoughtSignature`, which SDKs decode as base64: foreign signatures are written so that they can.
import { Buffer } from 'node:buffer';
import type { Signature } from '../form.ts';
import {
  FOREIGN_BEGINNINGS,
  FOREIGN_PREFIX,
  isForeignSignature,
  readSignature,
  showSignature,
} from '../signatures.ts';

/** Base64 of the prefix of foreign signatures, whose 12 bytes are 16 characters. */
const FOREIGN_THOUGHT_SIGNATURE = Buffer.from(FOREIGN_PREFIX).toString('base64');
/** Likewise, with their origins: the characters that no byte behind them changes. */
export const FOREIGN_THOUGHT_BEGINNINGS: readonly string[] = FOREIGN_BEGINNINGS.map((text) =>
  Buffer.from(text)
    .toString('base64')
    .slice(0, Math.floor((text.length * 8) / 6)),
);
/** Stands for a signature on calls that Gemini did not make (ai.google.dev/gemini-api/docs/thought-signatures). */
export const PLACEHOLDER = 'skip_thought_signature_validator';

export function showThoughtSignature(signature: Signature): string {
  const shown = showSignature(signature, 'gemini');
  return signature.origin === 'gemini' ? shown : Buffer.from(shown).toString('base64');
}

export const isForeignThoughtSignature = (field: string): boolean =>
  field.startsWith(FOREIGN_THOUGHT_SIGNATURE) &&
  isForeignSignature(Buffer.from(field, 'base64').toString('utf8'));

export function readThoughtSignature(field: string | null): Signature | null {
  if (field === null || !field.startsWith(FOREIGN_THOUGHT_SIGNATURE)) return readSignature(field, 'gemini');
  return readSignature(Buffer.from(field, 'base64').toString('utf8'), 'gemini');
}
