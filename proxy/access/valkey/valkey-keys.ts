// Idempotency keys of several servers, in Valkey or Redis. A server that claims a key asks there; what becomes of its call is
// told again and again until it is acknowledged. While Valkey is away each server knows its own calls alone, or refuses.
import { CountersUnavailable } from '../counters.ts';
import type { KeyClaim, KeyedCall, KeyedEnding, KeyWait, SharedKeys } from '../shared-keys.ts';
import { FREE_KEY, LOOK_AT_KEYS, TAKE_KEY, TELL_KEY } from './key-scripts.ts';
import { AnswerSeal } from './sealed-answers.ts';
import { BackgroundFlush } from './background-flush.ts';
import type { Generation, ValkeyLink } from './valkey-link.ts';

/** A call that waits for one of another server looks so often whether that has ended. */
const LOOK_MS = 50;
/** Keys in one look, and in one round of telling: what Valkey does meanwhile for nobody else. */
const BATCH = 200;

interface ValkeyKeysOptions {
  readonly link: ValkeyLink;
  /** This process, as the others know it. */
  readonly server: string;
  /** Monotonic milliseconds. */
  readonly mono: () => number;
  /** Longest wait of a call for an answer. */
  readonly answerMs: number;
  /** Longest wait of anything else. */
  readonly stuckMs: number;
  /** Refuse calls with a key while Valkey is away. */
  readonly failClosed: () => boolean;
}

/** For metrics. */
export interface SharedKeyFigures {
  /** Calls whose state Valkey has not acknowledged. */
  readonly keysUntold: number;
  /** Calls whose key was another server's. */
  readonly keysElsewhere: number;
  /** Calls whose key this server took without asking the others. */
  readonly keysAlone: number;
}

/** A call of this server. */
interface Own {
  readonly call: KeyedCall;
  readonly seal: AnswerSeal;
  state: { readonly is: 'running' } | { readonly is: 'ended'; readonly ending: KeyedEnding } | { is: 'gone' };
  /** Monotonic ms. */
  untilMs: number;
}

export class ValkeyKeys implements SharedKeys {
  readonly #options: ValkeyKeysOptions;
  readonly #own = new Map<string, Own>();
  /** Not acknowledged yet. */
  readonly #untold = new Set<Own>();
  readonly #waits = new Map<string, Set<() => void>>();
  #elsewhere = 0;
  #alone = 0;
  #looking: NodeJS.Timeout | null = null;
  readonly #flush: BackgroundFlush;

  constructor(options: ValkeyKeysOptions) {
    this.#options = options;
    this.#flush = new BackgroundFlush(options.link, this.#untold, (at) => this.#tellAll(at));
    options.link.follow({
      register: (generation) => this.#tellAgain(generation),
      catchUp: (generation) => this.#tellAll(generation),
      changed: ({ is }) => {
        if (is === 'shared') void this.#flush.soon();
        else this.#wakeAll();
      },
    });
  }

  get figures(): SharedKeyFigures {
    return { keysUntold: this.#untold.size, keysElsewhere: this.#elsewhere, keysAlone: this.#alone };
  }

  async claim(key: string, call: KeyedCall): Promise<KeyClaim | null> {
    const own: Own = { call, seal: new AnswerSeal(key), state: { is: 'running' }, untilMs: Infinity };
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const { link } = this.#options;
      if (link.state.is !== 'shared') break;
      try {
        const claim = await this.#take(link.state, own);
        if (claim?.kind === 'first') this.#own.set(key, own);
        else if (claim !== null) this.#elsewhere += 1;
        if (claim !== null) return claim;
      } catch (error) {
        link.suspect(error);
        break;
      }
      await link.rejoin();
    }
    // It may have been taken there, or be taken later: as if it had been told.
    if (this.#options.failClosed()) {
      own.state = { is: 'gone' };
      this.#untold.add(own);
      throw new CountersUnavailable('the shared idempotency keys do not answer');
    }
    this.#alone += 1;
    this.#own.set(key, own);
    this.#untold.add(own);
    return null;
  }

  wait(key: string): KeyWait {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const waits = this.#waits.get(key) ?? new Set<() => void>();
    this.#waits.set(key, waits.add(resolve));
    this.#looking ??= setTimeout(() => void this.#look(), LOOK_MS);
    const abandon = (): void => {
      waits.delete(resolve);
      if (waits.size === 0 && this.#waits.get(key) === waits) this.#waits.delete(key);
    };
    return { done, abandon };
  }

  end(key: string, ending: KeyedEnding | null, windowMs: number): void {
    const own = this.#own.get(key);
    if (own === undefined) return;
    own.untilMs = this.#options.mono() + windowMs;
    own.state = ending === null ? { is: 'gone' } : { is: 'ended', ending };
    if (ending === null) this.#own.delete(key);
    this.#untold.add(own);
    void this.#flush.soon();
  }

  forget(key: string): void {
    const own = this.#own.get(key);
    if (own === undefined) return;
    this.#own.delete(key);
    this.#untold.delete(own);
    if (own.untilMs <= this.#options.mono()) return; // it is forgotten there as well
    own.state = { is: 'gone' };
    this.#untold.add(own);
    void this.#flush.soon();
  }

  /** Tells what is left to tell. */
  async close(): Promise<void> {
    if (this.#looking !== null) clearTimeout(this.#looking);
    await this.#flush.soon();
  }

  /** @returns null: the generation is over */
  async #take(at: Generation, { call, seal }: Own): Promise<KeyClaim | null> {
    const keys = [at.key, `${at.prefix}i:${seal.name}`];
    const args = [at.generation, at.prefix, this.#options.server, ...wordsOf(call)];
    const reply = await at.connection.runForBytes(TAKE_KEY, keys, args, this.#options.answerMs);
    const [kind, id, digest, stream, head, body] = reply as readonly (Buffer | number)[];
    const said = String(kind);
    if (said === 'first') return { kind: said };
    const other = { id: String(id), digest: String(digest), stream: String(stream) === '1' };
    if (said === 'running') return { kind: said, call: other };
    if (said !== 'ended' || !Buffer.isBuffer(head)) return null;
    return { kind: said, call: other, ending: openedEnding(seal, head, Buffer.isBuffer(body) ? body : null) };
  }

  /** Another generation: nobody there knows of the calls of this server. Running ones first. */
  async #tellAgain(generation: Generation): Promise<void> {
    const now = this.#options.mono();
    const all = [...this.#own.values()].filter(({ untilMs }) => untilMs > now);
    for (const own of this.#untold) if (own.state.is === 'gone') this.#untold.delete(own);
    for (const own of all.toSorted((a, b) => b.untilMs - a.untilMs)) this.#untold.add(own);
    await this.#tellAll(generation);
  }

  /** @throws Error when not all could be told; what another generation is asked for stays untold */
  async #tellAll(generation: Generation): Promise<void> {
    for (;;) {
      const batch = [...this.#untold].slice(0, BATCH);
      if (batch.length === 0) return;
      const replies = await Promise.all(batch.map((own) => this.#tell(generation, own)));
      if (replies.includes('generation')) return;
    }
  }

  async #tell(at: Generation, own: Own): Promise<unknown> {
    const { call, seal, state } = own;
    const keys = [at.key, `${at.prefix}i:${seal.name}`];
    const { server, mono, stuckMs } = this.#options;
    const leftMs = Math.ceil(own.untilMs - mono());
    const isOver = state.is === 'gone' || leftMs <= 0;
    const script = isOver ? FREE_KEY : TELL_KEY;
    const args: (string | Buffer)[] = isOver
      ? [at.generation, call.id]
      : [at.generation, at.prefix, server, ...wordsOf(call)];
    if (!isOver && state.is === 'ended') {
      const { head, body } = state.ending;
      args.push(String(leftMs), seal.seal(Buffer.from(head)), ...(body === null ? [] : [seal.seal(body)]));
    }
    const reply = await at.connection.run(script, keys, args, stuckMs);
    if (reply !== 'generation' && own.state === state) this.#untold.delete(own);
    return reply;
  }

  async #look(): Promise<void> {
    this.#looking = null;
    const { link, answerMs } = this.#options;
    const names = [...this.#waits.keys()];
    for (let from = 0; from < names.length; from += BATCH) {
      const { state } = link;
      if (state.is !== 'shared') break;
      const some = names.slice(from, from + BATCH);
      const args = [state.generation, state.prefix, ...some.map((key) => new AnswerSeal(key).name)];
      const reply = await state.connection
        .run(LOOK_AT_KEYS, [state.key], args, answerMs)
        .catch((error: unknown) => link.suspect(error));
      const running = Array.isArray(reply) ? reply : [];
      for (const [i, key] of some.entries()) if (running[i] !== 1) this.#wake(key);
    }
    if (this.#waits.size > 0) this.#looking ??= setTimeout(() => void this.#look(), LOOK_MS);
  }

  #wake(key: string): void {
    const waits = this.#waits.get(key);
    this.#waits.delete(key);
    for (const resolve of waits ?? []) resolve();
  }

  #wakeAll(): void {
    for (const key of this.#waits.keys()) this.#wake(key);
  }
}

/** What was not sealed under this key is no answer to it, and cannot be given. */
function openedEnding(seal: AnswerSeal, head: Buffer, body: Buffer | null): KeyedEnding {
  try {
    return { head: String(seal.open(head)), body: body === null ? null : seal.open(body) };
  } catch {
    return { head: JSON.stringify({ reason: 'unreadable', httpStatus: null }), body: null };
  }
}

function wordsOf({ id, digest, stream }: KeyedCall): string[] {
  return [id, digest, stream ? '1' : ''];
}
