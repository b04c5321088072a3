// One client and the attempts that would answer it at the same time: the first with a valid response wins, and the others
// are cancelled at that moment, so that bytes of two responses can never meet. Decides nothing else;
// pipeline/hedge.ts starts the attempts and judges them.
import type { Fault } from '../errors/fault.ts';
import type { ResponseWatcher } from '../downstream/downstream-response.ts';
import { ForwardingSink, type ResponseSink } from './response-sink.ts';

/** Of one call. Watches the client for all attempts that run. */
export class FirstWins implements ResponseWatcher {
  readonly #client: ResponseSink;
  /** Oldest first. */
  readonly #attempts: HedgeSink[] = [];

  constructor(client: ResponseSink) {
    this.#client = client;
  }

  /** The sink of a further attempt. @param stop ends the attempt; called when it has been started */
  open(stop: () => void): HedgeSink {
    const sink = new HedgeSink(this.#client, () => this.#watch(), stop);
    this.#attempts.push(sink);
    return sink;
  }

  /** It has a valid response: the others are cancelled. */
  choose(winner: HedgeSink): void {
    for (const other of this.#attempts) if (other !== winner) other.cancel();
  }

  /** What was asked for twice is read on once: by the oldest, if its deployment says so. */
  onClose(): void {
    const [oldest, ...others] = this.#running();
    for (const other of others) other.cancel();
    oldest?.watcher?.onClose();
  }

  onDrain(): void {
    for (const { watcher } of this.#running()) watcher?.onDrain();
  }

  onInterrupt(fault: Fault): void {
    for (const { watcher } of this.#running()) watcher?.onInterrupt(fault);
  }

  /** An attempt begins to watch the client, or ends. */
  #watch(): void {
    this.#client.watcher = this.#running().length > 0 ? this : null;
  }

  #running(): readonly HedgeSink[] {
    return this.#attempts.filter(({ watcher }) => watcher !== null);
  }
}

/** The client as one of the attempts sees it. */
export class HedgeSink extends ForwardingSink {
  readonly #onWatcher: () => void;
  #watcher: ResponseWatcher | null = null;
  #isCancelled = false;
  readonly #stop: () => void;

  /**
   * @param onWatcher called when the attempt begins to watch the client, or ends
   * @param stop ends the attempt
   */
  constructor(client: ResponseSink, onWatcher: () => void, stop: () => void) {
    super(client);
    this.#onWatcher = onWatcher;
    this.#stop = stop;
  }

  /** Another attempt has won, or the client left. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  cancel(): void {
    if (this.#watcher === null) return; // it has ended by itself
    this.#isCancelled = true;
    this.#stop();
  }

  override get watcher(): ResponseWatcher | null {
    return this.#watcher;
  }

  override set watcher(watcher: ResponseWatcher | null) {
    this.#watcher = watcher;
    this.#onWatcher();
  }
}
