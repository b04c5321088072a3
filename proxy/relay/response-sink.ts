// Where a relay writes a response: to the client itself, or to what stands before it and looks the same. The relay never
// knows which.
import type { Buffer } from 'node:buffer';
import type { DownstreamResponse, ResponseWatcher, WriteDone } from '../downstream/downstream-response.ts';
import type { Fault } from '../errors/fault.ts';

/** What the relay needs of the client's side. */
export type ResponseSink = Pick<
  DownstreamResponse,
  | 'watcher'
  | 'destroyed'
  | 'interrupted'
  | 'keeps'
  | 'writeHead'
  | 'flushHeaders'
  | 'write'
  | 'end'
  | 'destroy'
>;

/** Passes everything on to another sink; what stands before a client extends it and overrides what it changes. */
export class ForwardingSink implements ResponseSink {
  protected readonly client: ResponseSink;

  constructor(client: ResponseSink) {
    this.client = client;
  }

  get watcher(): ResponseWatcher | null {
    return this.client.watcher;
  }

  set watcher(watcher: ResponseWatcher | null) {
    this.client.watcher = watcher;
  }

  get destroyed(): boolean {
    return this.client.destroyed;
  }

  get interrupted(): Fault | null {
    return this.client.interrupted;
  }

  get keeps(): boolean {
    return this.client.keeps;
  }

  writeHead(status: number, headers: readonly string[], text?: string): void {
    this.client.writeHead(status, headers, text);
  }

  flushHeaders(): void {
    this.client.flushHeaders();
  }

  write(piece: Buffer, done?: WriteDone): boolean {
    return this.client.write(piece, done);
  }

  end(piece?: Buffer | null): void {
    this.client.end(piece);
  }

  destroy(): void {
    this.client.destroy();
  }
}
