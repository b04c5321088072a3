// Writes log lines to a file descriptor that may be full, closed, or a pipe that nobody reads. Never blocks the event loop
// and never throws: lines wait in bounded memory, further ones are dropped and counted, and one line says how many when
// there is room again. pino's own destination ends the process when a write fails, and its flush at the exit tries
// ENOSPC again for ever (sonic-boom 4.2.1, `flushSync`).
import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';
import { errorCode } from '../../config/error-code.ts';
import { atMost } from '../base/within.ts';

/** Of lines that wait: some 12,000. */
const MOST_BYTES = 4 << 20;
/** Once lines were dropped, further ones are taken when so much is left: one notice for many lines. */
const RESUME_BYTES = MOST_BYTES / 2;
/** Lines wait for others for so long: a write per line would cost more than the line. */
const GATHER_MS = 1_000;
/** For a reader that is slow (EAGAIN). */
const READER_MS = 50;
/** For space on a disk, or a reader that comes back. */
const RETRY_MS = 1_000;
/** At the end of the process, for a reader that is slow. */
const FLUSH_MS = 2_000;
const NEWLINE = 0x0a;

interface LogOutputOptions {
  readonly fd: number;
  /** Bytes that are waited for before a write. */
  readonly gatherBytes: number;
  /** Whole lines up to so many bytes share a write. */
  readonly writeBytes: number;
  /**
   * A non-blocking pipe: a write ends at once (some 5 us), so it needs no thread, and many small ones may follow each other
   * within one turn of the event loop. Writes to a file wait for its disk, in a thread.
   */
  readonly isPipe: boolean;
  /** Other processes write to the same file: after half a line, theirs may have come. */
  readonly isShared: boolean;
  /** The line that says how many were dropped. */
  readonly notice: (dropped: number) => string;
}

interface Piece {
  text: string;
  bytes: number;
}

type State =
  | { readonly is: 'idle'; readonly timer: NodeJS.Timeout | null }
  | { readonly is: 'writing'; readonly bytes: Buffer; readonly done: number }
  /** The last write failed; `rest` is tried again. */
  | { readonly is: 'failed'; readonly rest: Buffer; readonly timer: NodeJS.Timeout };

const IDLE: State = { is: 'idle', timer: null };

export class LogOutput implements DestinationStream {
  readonly #options: LogOutputOptions;
  readonly #pieces: Piece[] = [];
  /** Of all that is not written. */
  #bytes = 0;
  #state: State = IDLE;
  /** Everything is to be written, however little it is. */
  #isDue = false;
  #dropped = 0;
  /** Dropped, and not told yet; while there are such, further lines are dropped too. */
  #untold = 0;
  /** Called when all is written, or the next attempt has to wait. */
  #onRest: (() => void) | null = null;

  constructor(options: LogOutputOptions) {
    this.#options = options;
    process.once('exit', () => this.#writeAtExit());
  }

  /** Lines so far. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#untold > 0 || this.#bytes + bytes > MOST_BYTES) {
      this.#dropped += 1;
      this.#untold += 1;
      return;
    }
    this.#add(line, bytes);
    if (this.#state.is !== 'idle') return;
    if (this.#bytes >= this.#options.gatherBytes) this.#writeNext();
    else if (this.#state.timer === null) {
      this.#state = { is: 'idle', timer: setTimeout(() => this.#writeAll(), GATHER_MS).unref() };
    }
  }

  /** Writes what waits; resolves when that is done, cannot be done now, or takes too long. */
  async flush(): Promise<void> {
    const rested = new Promise<void>((resolve) => {
      this.#onRest = resolve;
    });
    this.#writeAll();
    if (this.#bytes === 0) return;
    await atMost(FLUSH_MS, rested);
  }

  #add(line: string, bytes: number): void {
    const last = this.#pieces.at(-1);
    this.#bytes += bytes;
    if (last === undefined || last.bytes + bytes > this.#options.writeBytes) {
      this.#pieces.push({ text: line, bytes });
    } else {
      last.text += line;
      last.bytes += bytes;
    }
  }

  #writeAll(): void {
    const state = this.#state;
    this.#isDue = true;
    if (state.is === 'idle') this.#writeNext();
    else if (state.is === 'failed') this.#retry(state);
  }

  #retry({ rest, timer }: State & { is: 'failed' }): void {
    clearTimeout(timer);
    if (!this.#options.isPipe) this.#write(rest, 0);
    else if (this.#writeNow(rest)) this.#writeNext();
  }

  #writeNext(): void {
    if (this.#state.is === 'idle' && this.#state.timer !== null) clearTimeout(this.#state.timer);
    this.#state = IDLE;
    for (let piece = this.#nextPiece(); piece !== null; piece = this.#nextPiece()) {
      const bytes = Buffer.from(piece.text);
      if (!this.#options.isPipe) {
        this.#write(bytes, 0);
        return;
      }
      if (!this.#writeNow(bytes)) return;
    }
    if (this.#bytes > 0) {
      this.#state = { is: 'idle', timer: setTimeout(() => this.#writeAll(), GATHER_MS).unref() };
      return;
    }
    this.#isDue = false;
    this.#rest();
  }

  /** null: there is none, or too little for a write. */
  #nextPiece(): Piece | null {
    const isWanted = this.#isDue || this.#bytes >= this.#options.gatherBytes;
    return (isWanted ? this.#pieces.shift() : undefined) ?? null;
  }

  /** @returns whether all was written */
  #writeNow(bytes: Buffer): boolean {
    let done = 0;
    try {
      while (done < bytes.length) {
        const count = writeSync(this.#options.fd, bytes, done);
        done += count;
        this.#count(count);
      }
      return true;
    } catch (error) {
      this.#failed(error, bytes, done);
      return false;
    }
  }

  #write(bytes: Buffer, done: number): void {
    this.#state = { is: 'writing', bytes, done };
    write(this.#options.fd, bytes, done, bytes.length - done, null, (error, count) => {
      if (error === null) this.#written(bytes, done, count);
      else this.#failed(error, bytes, done);
    });
  }

  #written(bytes: Buffer, before: number, count: number): void {
    const done = before + count;
    this.#count(count);
    if (done < bytes.length) this.#write(bytes, done);
    else this.#writeNext();
  }

  #count(written: number): void {
    this.#bytes -= written;
    if (this.#untold === 0 || this.#bytes > RESUME_BYTES) return;
    const line = this.#options.notice(this.#untold);
    this.#untold = 0;
    this.#add(line, Buffer.byteLength(line));
  }

  #failed(error: unknown, bytes: Buffer, done: number): void {
    const code = errorCode(error);
    const isSlow = code === 'EAGAIN' || code === 'EBUSY';
    const rest = this.#restOf(bytes, done);
    this.#bytes += rest.length - (bytes.length - done);
    this.#isDue = true; // when it works again, everything is late
    const again = (): void => {
      if (this.#state.is === 'failed') this.#retry(this.#state);
    };
    this.#state = { is: 'failed', rest, timer: setTimeout(again, isSlow ? READER_MS : RETRY_MS).unref() };
    if (!isSlow) this.#rest();
  }

  /** Half a line that stands in the file is completed; where another process may have written behind it, it comes again. */
  #restOf(bytes: Buffer, done: number): Buffer {
    const isTorn = done > 0 && bytes[done - 1] !== NEWLINE;
    if (!isTorn || !this.#options.isShared) return bytes.subarray(done);
    const lineStart = bytes.lastIndexOf(NEWLINE, done - 1) + 1;
    return Buffer.concat([Buffer.of(NEWLINE), bytes.subarray(lineStart)]);
  }

  #rest(): void {
    this.#onRest?.();
    this.#onRest = null;
  }

  /** After an uncaught error, without waiting for anybody: what fails is lost. A write under way is completed by Node. */
  #writeAtExit(): void {
    if (this.#state.is === 'failed') return;
    try {
      for (const { text } of this.#pieces) writeSync(this.#options.fd, text);
    } catch {
      // the process is over
    }
    this.#pieces.length = 0;
  }
}
