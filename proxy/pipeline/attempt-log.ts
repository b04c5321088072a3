// The attempts of one call in the order in which they began: which of them is the answer, and what became of the others.
// Entries are values that never change; the list only grows.
import type { SelectedDeployment } from './select-deployment.ts';
import type { Attempt } from '../spend/record/record.ts';

/** When and where an attempt began. */
export interface AttemptStart {
  readonly selected: SelectedDeployment;
  /** Monotonic and epoch ms. */
  readonly sentAt: number;
  readonly sentMs: number;
  /** Retries and fallbacks of the call up to this attempt. */
  readonly retries: number;
  readonly fallbacks: number;
}

interface Replaced {
  readonly sentAt: number;
  readonly attempt: Promise<Attempt>;
}

export class AttemptLog {
  readonly #starts: AttemptStart[] = [];
  readonly #others: Replaced[] = [];
  #answering: AttemptStart | null = null;

  /** An attempt begins. It is the one that answers, until another one is. */
  begun(start: AttemptStart): void {
    this.#starts.push(start);
    this.#answering = start;
  }

  /** That attempt is the answer, although another one has begun since. */
  answers(start: AttemptStart): void {
    this.#answering = start;
  }

  /** An attempt is not the answer, or wrote its first part alone. @param attempt as the record tells of it */
  replaced({ sentAt }: AttemptStart, attempt: Attempt | Promise<Attempt>): void {
    this.#others.push({ sentAt, attempt: Promise.resolve(attempt) });
  }

  /** The attempt that answers; null when nothing was sent upstream. */
  get answering(): AttemptStart | null {
    return this.#answering;
  }

  /** How often the call was tried again so far. */
  get retries(): number {
    return this.#starts.at(-1)?.retries ?? 0;
  }

  /** How many other model groups were asked so far. */
  get fallbacks(): number {
    return this.#starts.at(-1)?.fallbacks ?? 0;
  }

  /** From the first attempt to the one that answers, ms: the attempts before it and the pauses between. */
  get replacedMs(): number {
    return (this.#answering?.sentAt ?? 0) - (this.#starts[0]?.sentAt ?? 0);
  }

  /** The attempts beside the one that answers, oldest first; null when there are none. */
  others(): Promise<readonly Attempt[]> | null {
    if (this.#others.length === 0) return null;
    // Two may have begun in the same millisecond, which is all that the record tells.
    const inOrder = this.#others.toSorted((a, b) => a.sentAt - b.sentAt);
    return Promise.all(inOrder.map(({ attempt }) => attempt));
  }
}
