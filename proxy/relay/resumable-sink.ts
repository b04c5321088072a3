// Stands between the relay and the client where a stream may be continued by another upstream: the first attempt's scribe
// keeps what is told, a later one's fits its events to what was told. It holds nothing back and passes the end on; what
// is no answer breaks the attempt off.
import { Buffer } from 'node:buffer';
import { Fault } from '../errors/fault.ts';
import type { ResponseWatcher } from '../downstream/downstream-response.ts';
import type { Transcript } from '../protocols/protocol.ts';
import type { ResponseSink } from './response-sink.ts';

/** How an attempt goes on with a stream. */
export interface Resumption {
  /** A comment that marks the seam; clients skip it. */
  readonly mark: string;
  /** Told when its first bytes go out. */
  readonly joined: () => void;
}

export class ResumableSink implements ResponseSink {
  readonly transcript: Transcript;
  readonly #outlet: ResponseSink;
  readonly #joining: Resumption | null;
  #isReadable = false;
  #hasSpoken = false;
  /** The relay has ended: what it still says is its last word. */
  #isOver = false;
  /** Ends the attempt; set when it has been started. */
  breakOff: (fault: Fault) => void = () => undefined;

  /** @param joining null for the attempt that begins the stream */
  constructor(outlet: ResponseSink, transcript: Transcript, joining: Resumption | null = null) {
    this.#outlet = outlet;
    this.transcript = transcript;
    this.#joining = joining;
  }

  /** Something of this attempt went to the client. */
  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  get watcher(): ResponseWatcher | null {
    return this.#outlet.watcher;
  }

  set watcher(watcher: ResponseWatcher | null) {
    this.#isOver = watcher === null;
    this.#outlet.watcher = watcher;
  }

  get destroyed(): boolean {
    return this.#outlet.destroyed;
  }

  get interrupted(): Fault | null {
    return this.#outlet.interrupted;
  }

  get keeps(): boolean {
    return this.#outlet.keeps;
  }

  writeHead(status: number, headers: readonly string[], text?: string): void {
    this.#isReadable = status < 400 && isPlainStream(headers);
    if (this.#joining === null) {
      if (!this.#isReadable) this.transcript.close();
      this.#outlet.writeHead(status, headers, text);
    } else if (!this.#isReadable) this.#break('is no stream that can be read');
  }

  flushHeaders(): void {
    if (this.#joining === null) this.#outlet.flushHeaders();
  }

  write(piece: Buffer, done?: () => void): boolean {
    // After its end a relay has last words, which it waits for, and perhaps pieces that it had held back.
    if (this.#isOver) return done === undefined || this.#outlet.write(piece, done);
    if (this.#joining !== null && !this.#isReadable) return true;
    const { bytes, broken } =
      this.#joining === null ? this.transcript.noteSent(piece) : this.transcript.rewrite(piece);
    const isFast = bytes === null || this.#say(bytes);
    if (broken !== null) this.#break(`holds ${broken}`);
    return isFast;
  }

  end(piece?: Buffer | null): void {
    this.#outlet.end(piece);
  }

  destroy(): void {
    this.#outlet.destroy();
  }

  #say(bytes: Buffer): boolean {
    const isSeam = this.#joining !== null && !this.#hasSpoken;
    this.#hasSpoken = true;
    if (!isSeam) return this.#outlet.write(bytes);
    this.#joining?.joined();
    return this.#outlet.write(Buffer.concat([Buffer.from(`: ${this.#joining?.mark}\n\n`), bytes]));
  }

  #break(why: string): void {
    this.breakOff(new Fault('stream_broken', `The answer of the upstream ${why}; it is not complete.`));
  }
}

/** An event stream that is not compressed. */
function isPlainStream(headers: readonly string[]): boolean {
  const value = (name: string): string => {
    const at = headers.findIndex((one, i) => i % 2 === 0 && one === name);
    return at < 0 ? '' : (headers[at + 1] ?? '').trim().toLowerCase();
  };
  return (
    value('content-type').startsWith('text/event-stream') && /^(?:identity)?$/.test(value('content-encoding'))
  );
}
