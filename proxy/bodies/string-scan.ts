// Skips the long strings of a JSON body 16 bytes at a time, in WebAssembly (string-scan.wat). Agents send hundreds of
// kilobytes of messages, and nearly all of it is inside strings. It only skips what is certainly fine; faults and the last
// bytes of a body are left to the byte loop (json-skip.ts). Its scratch memory is filled anew for each body, and a call
// never yields, so it is pure for its callers.
import type { Buffer } from 'node:buffer';
import { STRING_SCAN } from './string-scan-bytes.ts';

/** What is copied at a time; the memory does not grow with the body. Fits the module's 5 pages. */
const WINDOW_BYTES = 262_144;
/** The longest escape: `\uXXXX`. Fewer bytes than this at the end of a window may be the half of one. */
const ESCAPE_BYTES = 6;

/** The part of WebAssembly that is used here; its types come with the browser's library only. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** See string-scan.wat. */
  readonly scan: (start: number, end: number) => number;
}

export class StringScan {
  readonly #scan: Exports['scan'];
  readonly #window: Uint8Array;
  /** Offsets into the body of what lies in the window. */
  #base = 0;
  #limit = 0;

  constructor() {
    const module = new WebAssembly.Module(Uint8Array.from(atob(STRING_SCAN), (char) => char.charCodeAt(0)));
    const exports = new WebAssembly.Instance(module).exports as Exports;
    this.#scan = exports.scan;
    this.#window = new Uint8Array(exports.memory.buffer, 0, WINDOW_BYTES);
  }

  /** Forgets the body before: call it once for each body. */
  open(): void {
    this.#base = 0;
    this.#limit = 0;
  }

  /**
   * Skips on from `i`, an offset inside a string and not inside an escape.
   * @returns the offset after the closing quote; or `~offset`, up to which nothing is odd, for the byte loop to go on
   */
  skip(body: Buffer, i: number): number {
    for (;;) {
      if (i < this.#base || i + ESCAPE_BYTES > this.#limit) this.#load(body, i);
      const base = this.#base;
      const found = this.#scan(i - base, this.#limit - base);
      if (found >= 0) return base + found;
      if (found === -1) return ~i;
      i = base - found - 2;
      if (this.#limit === body.length) return ~i;
    }
  }

  #load(body: Buffer, i: number): void {
    this.#base = i;
    this.#limit = Math.min(i + WINDOW_BYTES, body.length);
    this.#window.set(body.subarray(i, this.#limit));
  }
}
