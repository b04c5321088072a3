// Puts parts of a streamed answer in a row. Upstreams may mix the deltas of several tool calls; most protocols cannot. The part
// that came first is passed on as it grows, the others wait whole. The parts of every stream are counted here, those that wait, too.
import { checkParts } from './failures.ts';
import type { AnswerEvent, PartOpening, Signature } from './form.ts';

interface Waiting {
  readonly part: PartOpening;
  readonly texts: string[];
  signature: Signature | null;
  isEnded: boolean;
}

/** Of one stream. A key names one part of it, by the index that the upstream states, say. */
export class PartSequence {
  #current: string | null = null;
  /** In the order in which they came. */
  readonly #waiting = new Map<string, Waiting>();
  #events: AnswerEvent[] = [];
  #parts = 0;

  /** The events since the last call. */
  take(): readonly AnswerEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  push(event: AnswerEvent): void {
    this.#events.push(event);
  }

  has(key: string): boolean {
    return this.#current === key || this.#waiting.has(key);
  }

  /** @throws Fault for more parts than an answer has */
  start(key: string, part: PartOpening): void {
    if (this.has(key)) return;
    this.#parts++;
    checkParts(this.#parts);
    if (this.#current === null) {
      this.#current = key;
      this.#events.push({ kind: 'part-start', part });
    } else this.#waiting.set(key, { part, texts: [], signature: null, isEnded: false });
  }

  delta(key: string, text: string): void {
    if (text === '') return;
    if (this.#current === key) this.#events.push({ kind: 'part-delta', text });
    else this.#waiting.get(key)?.texts.push(text);
  }

  sign(key: string, signature: Signature): void {
    if (this.#current === key) {
      this.#events.push({ kind: 'part-signature', signature });
      return;
    }
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) waiting.signature = signature;
  }

  end(key: string): void {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) waiting.isEnded = true;
    if (this.#current !== key) return;
    this.#current = null;
    this.#events.push({ kind: 'part-end' });
    this.#next();
  }

  endAll(): void {
    for (const waiting of this.#waiting.values()) waiting.isEnded = true;
    if (this.#current !== null) this.end(this.#current);
  }

  /** Passes on what waits: those that are ended whole, then one that goes on. */
  #next(): void {
    for (const [key, { part, texts, signature, isEnded }] of this.#waiting) {
      this.#waiting.delete(key);
      this.#events.push({ kind: 'part-start', part });
      if (texts.length > 0) this.#events.push({ kind: 'part-delta', text: texts.join('') });
      if (signature !== null) this.#events.push({ kind: 'part-signature', signature });
      if (!isEnded) {
        this.#current = key;
        return;
      }
      this.#events.push({ kind: 'part-end' });
    }
  }
}
