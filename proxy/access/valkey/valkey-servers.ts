// Which servers share the counters, for people: each process says every ten seconds who it is, and learns who else is there. Nothing
// depends on it: while Valkey is away the list is what it was.
import type { Log } from '../../observability/logger.ts';
import { heartbeatOf, heartbeatText, serverOf, type KnownProcess } from '../../items/replicas.ts';
import { PRESENT } from './server-scripts.ts';
import type { Generation, ValkeyLink } from './valkey-link.ts';

interface ValkeyServersOptions {
  readonly link: ValkeyLink;
  /** Of this process: that of its data directory, with its number where there are several. */
  readonly id: string;
  readonly version: string;
  readonly nowMs: () => number;
  readonly stuckMs: number;
  readonly log: Log;
}

const EVERY_MS = 10_000;

export class ValkeyServers {
  readonly #options: ValkeyServersOptions;
  readonly #timer: NodeJS.Timeout;
  #others: readonly KnownProcess[] = [];
  #asking: Promise<void> | null = null;

  constructor(options: ValkeyServersOptions) {
    this.#options = options;
    const { link } = options;
    this.#timer = setInterval(() => this.#sayNow(), EVERY_MS).unref();
    link.follow({ changed: ({ is }) => void (is === 'shared' && this.#sayNow()) });
    this.#sayNow();
  }

  /** The processes that were there at the last sign of life, this one left out. */
  get others(): readonly KnownProcess[] {
    return this.#others;
  }

  /** Tells the others that this process ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#asking;
    await this.#present('');
  }

  #sayNow(): void {
    this.#asking ??= this.#present(heartbeatText(this.#options.version)).finally(() => (this.#asking = null));
  }

  async #present(text: string): Promise<void> {
    const { link, log } = this.#options;
    const { state } = link;
    if (state.is !== 'shared') return;
    try {
      await this.#ask(state, text);
    } catch (err) {
      log.debug({ err }, 'the servers that share the counters cannot be listed');
    }
  }

  async #ask({ connection, generation, key, prefix }: Generation, text: string): Promise<void> {
    const { id, nowMs, stuckMs } = this.#options;
    const reply = await connection.run(PRESENT, [key], [generation, prefix, id, text], stuckMs);
    const [said, ...all] = (Array.isArray(reply) ? reply : []).map(String);
    if (said !== 'ok') return; // the next one comes in ten seconds
    const now = nowMs();
    const others: KnownProcess[] = [];
    for (let i = 0; i + 2 < all.length; i += 3) {
      const [since = '', process = '', about = ''] = all.slice(i, i + 3);
      if (process !== id)
        others.push({ server: serverOf(process), ...heartbeatOf(about), seenMs: now - Number(since) });
    }
    this.#others = others;
  }
}
