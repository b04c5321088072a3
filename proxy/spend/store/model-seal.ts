// The seal of runtime models: which key, and the proof that it is the one the store was begun with. The key is proved
// against a stored sample before anything is written, so one database never holds models under two keys.
import { randomBytes } from 'node:crypto';
import type { Secret } from '../../../config/secret.ts';
import { SALT_BYTES, sealerOf, type Sealer } from './seal.ts';
import { StoreUnavailable, type StoredModel } from './store.ts';

const SAMPLE = 'throughline';
const SAMPLE_PLACE = 'meta/sample';

/** What a store keeps to prove a key by. */
interface SealProof {
  readonly salt: Uint8Array;
  readonly sample: Uint8Array;
}

/** Seals and opens runtime models. */
export class ModelSeal {
  readonly #sealer: Sealer;

  private constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** A proof for a store that has none: to be kept before anything is sealed. Costs about 60 ms. */
  static begin(saltKey: Secret | null): SealProof {
    const salt = randomBytes(SALT_BYTES);
    return { salt, sample: sealerOf(given(saltKey), salt).seal(SAMPLE, SAMPLE_PLACE) };
  }

  /** @throws StoreUnavailable when there is no key, or another one than the proof's */
  static prove(saltKey: Secret | null, { salt, sample }: SealProof): ModelSeal {
    const sealer = sealerOf(given(saltKey), salt);
    if (sealer.open(sample, SAMPLE_PLACE) !== SAMPLE) {
      throw wrongKey('the stored models were encrypted with another key');
    }
    return new ModelSeal(sealer);
  }

  seal(id: string, entry: StoredModel['entry']): Uint8Array {
    return this.#sealer.seal(JSON.stringify(entry), placeOf(id));
  }

  /** @throws StoreUnavailable when the bytes were changed or belong to another id */
  open(id: string, sealed: Uint8Array): StoredModel {
    const text = this.#sealer.open(sealed, placeOf(id));
    if (text === null) throw wrongKey(`the stored model ${id} cannot be decrypted`);
    return { id, entry: JSON.parse(text) as StoredModel['entry'] };
  }
}

function given(saltKey: Secret | null): Secret {
  if (saltKey !== null) return saltKey;
  throw new StoreUnavailable(
    'no_salt_key',
    'models can only be stored encrypted, and no key is configured - set LITELLM_SALT_KEY or a master key',
  );
}

function placeOf(id: string): string {
  return `models/${id}`;
}

function wrongKey(what: string): StoreUnavailable {
  return new StoreUnavailable(
    'wrong_salt_key',
    `${what} - set LITELLM_SALT_KEY to the key it was stored with (without LITELLM_SALT_KEY: the master key of that time), ` +
      `or delete the stored models and add them again`,
  );
}
