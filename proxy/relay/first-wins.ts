// One reply and the attempts that would answer on it at the same time: the first that has something valid to say gets the
// floor, and the others are cancelled in the same instant, so that bytes of two answers can never meet. Decides nothing
// else; request/hedge.ts starts the attempts and judges them.
import type { Buffer } from 'node:buffer';
import type { Fault } from '../errors/fault.ts';
import type { ResponseWatcher } from '../downstream/downstream-response.ts';
import type { ResponseSink } from './response-sink.ts';

export class FirstWins implements ResponseWatcher {
  readonly reply: ResponseSink;
  /** Oldest first. */
  readonly #speakers: HedgeSink[] = [];

  constructor(reply: ResponseSink) {
    this.reply = reply;
  }

  /** A further attempt that would answer. */
  enter(): HedgeSink {
    const speaker = new HedgeSink(this);
    this.#speakers.push(speaker);
    return speaker;
  }

  /** It has something to say: nobody else will. */
  give(speaker: HedgeSink): void {
    for (const other of this.#speakers) if (other !== speaker) other.cancel();
  }

  /** Somebody begins to listen to the client, or ends. */
  heed(): void {
    this.reply.watcher = this.#listening().length > 0 ? this : null;
  }

  /** What was asked for twice is read on once: by the oldest, if its entry says so. */
  onClose(): void {
    const [oldest, ...others] = this.#listening();
    for (const other of others) other.cancel();
    oldest?.watcher?.onClose();
  }

  onDrain(): void {
    for (const { watcher } of this.#listening()) watcher?.onDrain();
  }

  onInterrupt(fault: Fault): void {
    for (const { watcher } of this.#listening()) watcher?.onInterrupt(fault);
  }

  #listening(): readonly HedgeSink[] {
    return this.#speakers.filter(({ watcher }) => watcher !== null);
  }
}

/** The reply as one of the attempts sees it. */
export class HedgeSink implements ResponseSink {
  readonly #floor: FirstWins;
  #watcher: ResponseWatcher | null = null;
  #cancelled = false;
  /** How its attempt is ended; set when it has been started. */
  stop: () => void = () => undefined;

  constructor(floor: FirstWins) {
    this.#floor = floor;
  }

  /** Another attempt got the floor, or the client left. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  cancel(): void {
    if (this.#watcher === null) return; // it has ended by itself
    this.#cancelled = true;
    this.stop();
  }

  get watcher(): ResponseWatcher | null {
    return this.#watcher;
  }

  set watcher(watcher: ResponseWatcher | null) {
    this.#watcher = watcher;
    this.#floor.heed();
  }

  get destroyed(): boolean {
    return this.#floor.reply.destroyed;
  }

  get interrupted(): Fault | null {
    return this.#floor.reply.interrupted;
  }

  get keeps(): boolean {
    return this.#floor.reply.keeps;
  }

  writeHead(status: number, headers: readonly string[], text?: string): void {
    this.#floor.reply.writeHead(status, headers, text);
  }

  flushHeaders(): void {
    this.#floor.reply.flushHeaders();
  }

  write(piece: Buffer, done?: () => void): boolean {
    return this.#floor.reply.write(piece, done);
  }

  end(piece?: Buffer | null): void {
    this.#floor.reply.end(piece);
  }

  destroy(): void {
    this.#floor.reply.destroy();
  }
}
