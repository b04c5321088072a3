// The client of a call that asked for wrong usage: the same response, and other figures in the usage. What the proxy reads
// and records stays true, so that nobody can talk their budget down.
import { Buffer } from 'node:buffer';
import type { Fault } from '../errors/fault.ts';
import type { ResponseWatcher, WriteDone } from '../downstream/downstream-response.ts';
import type { ResponseSink } from '../relay/response-sink.ts';

const TOKENS =
  /("(?:prompt|completion|total|input|output|cached|reasoning)_tokens"\s*:\s*|"(?:prompt|candidates|total)TokenCount"\s*:\s*)(\d+)/g;

export class WrongUsage implements ResponseSink {
  readonly #client: ResponseSink;

  constructor(client: ResponseSink) {
    this.#client = client;
  }

  get watcher(): ResponseWatcher | null {
    return this.#client.watcher;
  }

  set watcher(watcher: ResponseWatcher | null) {
    this.#client.watcher = watcher;
  }

  get destroyed(): boolean {
    return this.#client.destroyed;
  }

  get interrupted(): Fault | null {
    return this.#client.interrupted;
  }

  get keeps(): boolean {
    return this.#client.keeps;
  }

  writeHead(status: number, headers: readonly string[], text?: string): void {
    this.#client.writeHead(status, headers, text);
  }

  flushHeaders(): void {
    this.#client.flushHeaders();
  }

  write(piece: Buffer, done?: WriteDone): boolean {
    return this.#client.write(wrong(piece), done);
  }

  end(piece?: Buffer | null): void {
    this.#client.end(piece === undefined || piece === null ? piece : wrong(piece));
  }

  destroy(): void {
    this.#client.destroy();
  }
}

/** As many bytes as before, so that a Content-Length stays true. */
function wrong(piece: Buffer): Buffer {
  const text = piece.toString('latin1');
  const changed = text.replace(TOKENS, (_, name: string, digits: string) => `${name}${otherDigits(digits)}`);
  return changed === text ? piece : Buffer.from(changed, 'latin1');
}

const otherDigits = (digits: string): string => (/^9+$/.test(digits) ? '8' : '9').repeat(digits.length);
