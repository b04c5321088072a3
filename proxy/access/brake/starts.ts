// How often a conversation has begun anew within an hour: the same prompt again and again, and agents of few calls one after
// another. Neither shows in a thread, and a rate that is high from the beginning is usual for its conversation.

const WINDOW_MS = 3_600_000;
/** Prompts that are told apart. */
const MOST = 8;
const NONE: readonly Start[] = Object.freeze([]);

interface Start {
  /** Digest of the request. */
  readonly body: number;
  readonly count: number;
}

export class Starts {
  #sinceMs = -Infinity;
  #agents = 0;
  #starts: readonly Start[] = NONE;

  /** A request without words of an assistant. */
  add(body: number, atMs: number): void {
    this.#moveTo(atMs);
    this.#set(body, this.same(body) + 1);
  }

  /** Nobody has answered it: it is right to send it again. */
  takeBack(body: number): void {
    const count = this.same(body);
    if (count > 0) this.#set(body, count - 1);
  }

  /** A thread is a dialogue from now on. */
  addAgent(atMs: number): void {
    this.#moveTo(atMs);
    this.#agents += 1;
  }

  /** Starts with this request. */
  same(body: number): number {
    return this.#starts.find((one) => one.body === body)?.count ?? 0;
  }

  get agents(): number {
    return this.#agents;
  }

  rearm(): void {
    this.#sinceMs = -Infinity;
    this.#agents = 0;
    this.#starts = NONE;
  }

  #set(body: number, count: number): void {
    this.#starts = [...this.#starts.filter((one) => one.body !== body), { body, count }].slice(-MOST);
  }

  #moveTo(atMs: number): void {
    if (atMs - this.#sinceMs <= WINDOW_MS) return;
    this.rearm();
    this.#sinceMs = atMs;
  }
}
