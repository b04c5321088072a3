// The attempts of one call in the order in which they began: which of them gave the response, and how the others ended.
import type { SelectedDeployment } from './select-deployment.ts';
import type { Attempt } from '../spend/record/record.ts';

/** When and where an attempt began. */
export interface AttemptStart {
  readonly selected: SelectedDeployment;
  /** Monotonic and epoch ms. */
  readonly sentAt: number;
  readonly sentMs: number;
  /** The time that the upstream has for its first byte: the client's own, else the deployment's; 0 = no limit. */
  readonly firstByteMs: number;
  /** Retries and fallbacks of the call up to this attempt. */
  readonly retries: number;
  readonly fallbacks: number;
}

interface Replaced {
  readonly sentAt: number;
  readonly attempt: Promise<Attempt>;
}

/** Of one call; the record and the response headers are made from it. */
export class AttemptLog {
  #first: AttemptStart | null = null;
  #latest: AttemptStart | null = null;
  readonly #others: Replaced[] = [];
  #answering: AttemptStart | null = null;

  /** An attempt begins. It counts as the one that gives the response, until another one does. */
  begun(start: AttemptStart): void {
    this.#first ??= start;
    this.#latest = start;
    this.#answering = start;
  }

  /** That attempt gives the response, although another one has begun since. */
  answers(start: AttemptStart): void {
    this.#answering = start;
  }

  /** An attempt did not give the response, or only its first part. @param attempt as the record states it */
  replaced(start: AttemptStart, attempt: Attempt | Promise<Attempt>): void {
    this.#others.push({ sentAt: start.sentAt, attempt: Promise.resolve(attempt) });
    if (this.#answering === start) this.#answering = null; // the call may end before another one begins
  }

  /** The attempt that gives the response; null when nothing was sent upstream, or nothing since the last one was replaced. */
  get answering(): AttemptStart | null {
    return this.#answering;
  }

  /** The attempt that gives the response, else the one that began last; null when nothing was sent upstream. */
  get last(): AttemptStart | null {
    return this.#answering ?? this.#latest;
  }

  /** Retries so far. */
  get retries(): number {
    return this.#latest?.retries ?? 0;
  }

  /** Fallbacks to other model groups so far. */
  get fallbacks(): number {
    return this.#latest?.fallbacks ?? 0;
  }

  /** From the start of the first attempt to that of the responding one, ms: earlier attempts and the pauses between. */
  get replacedMs(): number {
    return (this.last?.sentAt ?? 0) - (this.#first?.sentAt ?? 0);
  }

  /** The attempts beside the responding one, oldest first; null when there are none. */
  others(): Promise<readonly Attempt[]> | null {
    if (this.#others.length === 0) return null;
    // The record has milliseconds only, and two attempts may begin in the same one.
    const inOrder = this.#others.toSorted((a, b) => a.sentAt - b.sentAt);
    return Promise.all(inOrder.map(({ attempt }) => attempt));
  }
}
