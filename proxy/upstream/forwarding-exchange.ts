// An exchange that stands before another one: all that is told goes to its reader, all that is asked to the exchange behind
// it. What may send a request a second time extends it and overrides where it does.
import type { Buffer } from 'node:buffer';
import type { ResponseReader, UpstreamExchange } from './exchange.ts';
import type { ReceivedHead } from './response-head.ts';

export abstract class ForwardingExchange implements UpstreamExchange, ResponseReader {
  protected readonly reader: ResponseReader;
  /** null: the request has not been sent yet. */
  protected exchange: UpstreamExchange | null = null;

  constructor(reader: ResponseReader) {
    this.reader = reader;
  }

  abstract onError(error: Error): void;

  pause(): void {
    this.exchange?.pause();
  }

  resume(): void {
    this.exchange?.resume();
  }

  destroy(): void {
    this.exchange?.destroy();
  }

  onSent(): void {
    this.reader.onSent();
  }

  onResend(): void {
    this.reader.onResend?.();
  }

  onHead(head: ReceivedHead): void {
    this.reader.onHead(head);
  }

  onData(bytes: Buffer): void {
    this.reader.onData(bytes);
  }

  onEnd(written: boolean): void {
    this.reader.onEnd(written);
  }
}
