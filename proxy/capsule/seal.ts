// Seals what a capsule holds for the operator's public key, which can be done on the server, and opens it with the private key,
// which is never there: X25519 (RFC 7748) with a fresh key for each capsule, HKDF-SHA256 (RFC 5869), AES-256-GCM. The content is
// cut into chunks (the STREAM construction, eprint.iacr.org/2015/189): their order, their number and the metadata of the
// capsule are part of what is authenticated, so a capsule that was edited by hand does not open.
import { Buffer } from 'node:buffer';
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

/** Of the content, in one chunk. */
export const CHUNK_BYTES = 65_536;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const INFO = 'throughline capsule 1';
const CIPHER = 'aes-256-gcm';

/** A capsule that does not open: a sentence that says why. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

/** Which key a capsule is sealed for: the first 16 hex digits of its SHA-256. */
export const fingerprint = (publicKey: string): string =>
  hash('sha256', Buffer.from(publicKey, 'base64'), 'hex').slice(0, 16);

/** Seals the chunks of one capsule. */
export class Sealer {
  /** Goes into the metadata; base64. */
  readonly ephemeral: string;
  readonly #key: Buffer;

  /** @param publicKey its 32 bytes in base64 */
  constructor(publicKey: string) {
    const own = generateKeyPairSync('x25519');
    this.ephemeral = rawOf(own.publicKey);
    this.#key = keyFrom(own.privateKey, publicKey, this.ephemeral, publicKey);
  }

  /** @param bound SHA-256 of the metadata */
  chunk(content: Buffer, index: number, isLast: boolean, bound: Buffer): Buffer {
    const cipher = createCipheriv(CIPHER, this.#key, nonceOf(index, isLast));
    cipher.setAAD(bound);
    return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  }
}

/** Opens the chunks of one capsule. */
export class Opener {
  readonly #key: Buffer;

  /** @param sealedFor the fingerprint in the metadata. @throws CannotOpen for another key */
  constructor(privateKey: KeyObject, ephemeral: string, sealedFor: string) {
    const own = rawOf(createPublicKey(privateKey));
    if (fingerprint(own) !== sealedFor)
      throw new CannotOpen(
        `the capsule is sealed for the key ${sealedFor}, and this private key is of ${fingerprint(own)}`,
      );
    this.#key = keyFrom(privateKey, ephemeral, ephemeral, own);
  }

  /** @throws CannotOpen when the chunk or the metadata were changed */
  chunk(sealed: Buffer, index: number, isLast: boolean, bound: Buffer): Buffer {
    const at = sealed.length - TAG_BYTES;
    if (at < 0) throw damaged();
    const decipher = createDecipheriv(CIPHER, this.#key, nonceOf(index, isLast));
    decipher.setAAD(bound);
    decipher.setAuthTag(sealed.subarray(at));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(0, at)), decipher.final()]);
    } catch {
      throw damaged();
    }
  }
}

const damaged = (): CannotOpen =>
  new CannotOpen('the capsule was changed after it was written, or it is torn');

/** A private key from PEM (PKCS #8) or the base64 of its 32 bytes. @throws CannotOpen */
export function privateKeyOf(text: string): KeyObject {
  try {
    const key = text.includes('-----BEGIN')
      ? createPrivateKey(text)
      : createPrivateKey({ key: pkcs8(text), format: 'der', type: 'pkcs8' });
    if (key.asymmetricKeyType === 'x25519') return key;
  } catch {
    // said below
  }
  throw new CannotOpen('this is no X25519 private key (PEM, or the base64 of 32 bytes)');
}

/** A new pair: the private key as PEM, the public one in base64. */
export function newKeyPair(): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('x25519');
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: rawOf(publicKey),
  };
}

function keyFrom(own: KeyObject, other: string, ephemeral: string, operator: string): Buffer {
  const shared = diffieHellman({ privateKey: own, publicKey: publicKeyOf(other) });
  const salt = Buffer.concat([Buffer.from(ephemeral, 'base64'), Buffer.from(operator, 'base64')]);
  return Buffer.from(hkdfSync('sha256', shared, salt, INFO, KEY_BYTES));
}

/** @throws CannotOpen */
function publicKeyOf(raw: string): KeyObject {
  const bytes = Buffer.from(raw, 'base64');
  if (bytes.length !== KEY_BYTES) throw damaged();
  const jwk = { kty: 'OKP', crv: 'X25519', x: bytes.toString('base64url') };
  return createPublicKey({ key: jwk, format: 'jwk' });
}

const rawOf = (key: KeyObject): string =>
  Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64');

/** RFC 8410 section 7: what stands before the 32 bytes of an X25519 key. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex');

function pkcs8(text: string): Buffer {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== KEY_BYTES) throw new CannotOpen('not 32 bytes');
  return Buffer.concat([PKCS8_HEAD, bytes]);
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(index, 5, 6);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}
