// The section `general_settings.capsules`. What is said in calls is kept sealed or not at all. Pure.
import { createPublicKey } from 'node:crypto';
import type { CapsuleSettings } from '../capsule-settings.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import { periodMs } from './database.ts';

const PATH = ['general_settings', 'capsules'];
const KEY_BYTES = 32;
const WEEK_MS = 7 * 24 * 3600 * 1000;

/** null = nothing can be recorded. */
export function capsulesOf(
  { general_settings: { capsules: written } }: GatewayFile,
  diagnostics: Diagnostics,
): CapsuleSettings | null {
  if (written === undefined) return null;
  const publicKey = written.public_key === undefined ? null : rawKey(written.public_key);
  if (written.public_key !== undefined && publicKey === null)
    diagnostics.error(
      [...PATH, 'public_key'],
      'is no X25519 public key',
      'make a pair with `throughline capsule keygen --out FILE` and write what it prints',
    );
  if (written.keep_bodies && written.public_key === undefined)
    diagnostics.error(
      [...PATH, 'keep_bodies'],
      'needs a key for which bodies are sealed',
      'add public_key (`throughline capsule keygen --out FILE` makes a pair), or remove keep_bodies',
      'key',
    );
  return {
    directory: written.directory ?? null,
    keepsBodies: written.keep_bodies,
    publicKey,
    capsuleBytes: Number(written.max_capsule_bytes),
    maxBytes: Number(written.max_bytes),
    maxAgeMs: periodMs(written.max_age) ?? WEEK_MS,
  };
}

/** From PEM or base64; null = it is none. */
function rawKey(text: string): string | null {
  if (!text.includes('-----BEGIN')) {
    const bytes = Buffer.from(text.trim(), 'base64');
    const isKey = bytes.length === KEY_BYTES && /^[A-Za-z0-9+/_-]{43}=?$/.test(text.trim());
    return isKey ? bytes.toString('base64') : null;
  }
  try {
    const key = createPublicKey(text);
    if (/PRIVATE/.test(text) || key.asymmetricKeyType !== 'x25519') return null;
    const { x } = key.export({ format: 'jwk' });
    return x === undefined ? null : Buffer.from(x, 'base64url').toString('base64');
  } catch {
    return null;
  }
}
