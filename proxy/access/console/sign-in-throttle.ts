// How often one address may try to sign in: keys cannot be guessed, but a flood of tries costs log lines and hides a real one.
import { isIP } from 'node:net';
import { Fault } from '../../errors/fault.ts';

/** Tries that fail before an address has to wait. */
const MOST_FAILED = 5;
/** One more try after so long. */
const REFILL_MS = 12_000;
/** The one that was seen longest ago is forgotten. */
const MOST_ADDRESSES = 10_000;

interface Tries {
  /** Failed ones, less what has been given back. */
  failed: number;
  atMs: number;
}

export class SignInThrottle {
  readonly #mono: () => number;
  readonly #tries = new Map<string, Tries>();

  /** @param mono monotonic ms */
  constructor(mono: () => number) {
    this.#mono = mono;
  }

  /** A try begins; it counts as failed until `succeeded`. @param address null = not known. @throws Fault too_many_sign_ins */
  begin(address: string | null): void {
    const now = this.#mono();
    const name = networkOf(address);
    const before = this.#tries.get(name);
    const failed = before === undefined ? 0 : Math.max(0, before.failed - (now - before.atMs) / REFILL_MS);
    this.#tries.delete(name);
    if (failed > MOST_FAILED - 1) {
      this.#tries.set(name, { failed, atMs: now });
      const seconds = Math.max(1, Math.ceil(((failed - MOST_FAILED + 1) * REFILL_MS) / 1000));
      throw new Fault(
        'too_many_sign_ins',
        `Too many attempts to sign in from this address. Try again in ${seconds} s.`,
        { headers: [['retry-after', String(seconds)]] },
      );
    }
    const [oldest] = this.#tries.keys();
    if (this.#tries.size >= MOST_ADDRESSES && oldest !== undefined) this.#tries.delete(oldest);
    this.#tries.set(name, { failed: failed + 1, atMs: now });
  }

  succeeded(address: string | null): void {
    this.#tries.delete(networkOf(address));
  }
}

/** One subscriber has a whole /64 of IPv6. */
function networkOf(address: string | null): string {
  const plain = (address ?? '').split('%', 1)[0] ?? '';
  if (isIP(plain) !== 6 || plain.toLowerCase().startsWith('::ffff:')) return plain;
  const [head = '', tail] = plain.toLowerCase().split('::');
  const groups = head.split(':').filter((group) => group !== '');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const after = tail.split(':').filter((group) => group !== '');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => '0');
  return [...groups, ...zeros, ...after].slice(0, 4).join(':');
}
