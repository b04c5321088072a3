// The body of one request and the only owner of its memory: edits, leases, and when the memory may be reused for another
// request. Everything that could show one caller the body of another is decided here.
//
// Two rules, which hold whatever the callers do:
// - Memory is written only until it is leased. A socket that still sends it (of a failed attempt, or of a hedge that lost)
//   never sees it change: further attempts get a copy.
// - Memory goes back for the next request only after `release`, and only when every lease on it was returned. A lease that
//   is never returned costs the reuse and nothing else: the collector takes the memory.
import type { Buffer } from 'node:buffer';
import { headroomOf } from './body-memory.ts';
import { copyWithCuts, cutInPlace, undoing, type Cut } from './splice.ts';

/** The bytes of one attempt. They stay as they are until `giveBack`. */
export interface BodyLease {
  readonly bytes: Buffer;
  /** The kernel has all of the bytes, or will never read them. Calling it again does nothing. */
  readonly giveBack: () => void;
}

type State =
  /** As the client sent it. */
  | { readonly kind: 'unchanged'; readonly bytes: Buffer }
  /** Changed in the client's memory. `undo` makes the client's bytes of it. */
  | { readonly kind: 'changed in place'; readonly bytes: Buffer; readonly undo: readonly Cut[] }
  /** Changed in a copy. */
  | { readonly kind: 'changed copy'; readonly bytes: Buffer; readonly original: Buffer };

/** Edit, lease, send; then restore for another attempt; release at the end of the request. */
export class RequestBody {
  #state: State;
  /** Gives the memory back to its pool; null: it is not reused. */
  #return: (() => void) | null;
  /** Set by the first lease: from then on nothing is written into the client's memory. */
  #isFrozen = false;
  /** Leases on the client's memory that are still out. */
  #leases = 0;
  #isReleased = false;

  /**
   * @param bytes as the client sent them; with headroom (body-memory.ts) they are changed in place
   * @param giveBack takes the memory of `bytes` back for another request
   */
  constructor(bytes: Buffer, giveBack: (() => void) | null = null) {
    this.#state = { kind: 'unchanged', bytes };
    this.#return = giveBack;
  }

  /** The bytes as they stand: the client's, or after `edit` those that go upstream. Read them before `release`. */
  get bytes(): Buffer {
    return this.#state.bytes;
  }

  /**
   * Makes `cuts` in the client's bytes: in place where there is headroom and no lease, else in a copy.
   * @throws Error when it was changed already: `restore` first. RangeError when two cuts overlap
   */
  edit(cuts: readonly Cut[]): void {
    const state = this.#state;
    if (state.kind !== 'unchanged') throw new Error('the body was changed already');
    if (cuts.length === 0) return;
    const { bytes } = state;
    const headroom = this.#isFrozen ? 0 : headroomOf(bytes);
    const undo = headroom === 0 ? [] : undoing(bytes, cuts);
    const changed = headroom === 0 ? null : cutInPlace(bytes, cuts, headroom);
    if (changed !== null) this.#state = { kind: 'changed in place', bytes: changed, undo };
    else this.#state = { kind: 'changed copy', bytes: copyWithCuts(bytes, cuts), original: bytes };
  }

  /** Gives `bytes` as the client sent them again, for another attempt. Leases keep what they have. */
  restore(): void {
    const state = this.#state;
    switch (state.kind) {
      case 'unchanged':
        return;
      case 'changed copy':
        this.#state = { kind: 'unchanged', bytes: state.original };
        return;
      case 'changed in place':
        this.#state = { kind: 'unchanged', bytes: this.#undone(state.bytes, state.undo) };
    }
  }

  /** The bytes for one attempt. Take it after `edit`. */
  lease(): BodyLease {
    const { kind, bytes } = this.#state;
    // Only the first lease gets the headroom: an attempt may write its head there, and no other may overwrite it.
    const leased = this.#isFrozen ? bytes.subarray() : bytes;
    this.#isFrozen = true;
    if (kind === 'changed copy') return { bytes: leased, giveBack: () => undefined };
    this.#leases += 1;
    let isOut = true;
    return {
      bytes: leased,
      giveBack: () => {
        if (!isOut) return;
        isOut = false;
        this.#leases -= 1;
        this.#returnWhenUnread();
      },
    };
  }

  /** The request is over: no step reads the bytes any more. */
  release(): void {
    this.#isReleased = true;
    this.#returnWhenUnread();
  }

  #undone(bytes: Buffer, undo: readonly Cut[]): Buffer {
    const inPlace = this.#isFrozen ? null : cutInPlace(bytes, undo, headroomOf(bytes));
    return inPlace ?? copyWithCuts(bytes, undo);
  }

  #returnWhenUnread(): void {
    if (!this.#isReleased || this.#leases > 0) return;
    const giveBack = this.#return;
    this.#return = null;
    giveBack?.();
  }
}
