// An exchange with a gateway whose response is delayed, cut, ended, stopped or garbled on its way to the proxy. Of a stream,
// events are counted; a response that is one document is spoiled in its middle.
import { Buffer } from 'node:buffer';
import { asError } from '../base/as-error.ts';
import type { ErrorShape } from '../protocols/protocol.ts';
import type { ResponseReader, UpstreamExchange } from '../upstream/exchange.ts';
import type { ReceivedHead } from '../upstream/response-head.ts';
import { errorEvent } from './error-answers.ts';
import { EventCuts, garbled } from './event-cuts.ts';
import type { Injection } from './faults.ts';
import { LONGEST_SILENCE_MS, resetError } from './reset.ts';

type Spoils = Extract<Injection, { is: 'delay' | 'after' }>;

/** Something that the reader is to be told, in its turn. */
interface Step {
  readonly waitMs: number;
  readonly bytes: number;
  readonly tell: () => void;
}

/** More is not read from the gateway while the proxy has not got so much. */
const MOST_WAITING_BYTES = 1_048_576;

export class SpoiledExchange implements UpstreamExchange, ResponseReader {
  readonly #reader: ResponseReader;
  readonly #spoils: Spoils;
  readonly #shape: ErrorShape;
  #upstream: UpstreamExchange | null = null;
  /** null: the response is one document. */
  #cuts: EventCuts | null = null;
  #events = 0;
  readonly #steps: Step[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #isPaused = false;
  /** The gateway is not read until the proxy has got what waits. */
  #isHeldUp = false;
  /** An error of the gateway's own is passed on as it is. */
  #isError = false;
  /** Nothing of the gateway counts any more. */
  #isCut = false;
  #isOver = false;

  constructor(reader: ResponseReader, spoils: Spoils, shape: ErrorShape) {
    this.#reader = reader;
    this.#spoils = spoils;
    this.#shape = shape;
  }

  start(send: (reader: ResponseReader) => UpstreamExchange): void {
    this.#upstream = send(this);
    if (this.#isCut) this.#upstream.destroy();
  }

  pause(): void {
    this.#isPaused = true;
    this.#upstream?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#run();
    if (!this.#isHeldUp && !this.#isPaused) this.#upstream?.resume();
  }

  destroy(): void {
    this.#isOver = true;
    this.#steps.length = 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#letGo();
  }

  onSent(): void {
    this.#reader.onSent();
  }

  onResend(): void {
    this.#reader.onResend?.();
  }

  onHead(head: ReceivedHead): void {
    const isStream = /^text\/event-stream/i.test(valueOf(head, 'content-type'));
    if (isStream && valueOf(head, 'content-encoding') === '') this.#cuts = new EventCuts();
    this.#add(this.#waitFor('head'), 0, () => this.#reader.onHead(head));
    this.#isError = head.status >= 400;
    if (!this.#isError && this.#isDue(0)) this.#spoil();
  }

  onData(bytes: Buffer): void {
    if (this.#isCut) return;
    if (this.#cuts === null) this.#document(Buffer.from(bytes));
    else for (const { bytes: event, hasData } of this.#cuts.push(bytes)) this.#event(event, hasData);
  }

  onEnd(written: boolean): void {
    if (this.#isCut) return;
    this.#upstream = null;
    for (const { bytes, hasData } of this.#cuts?.rest() ?? []) this.#event(bytes, hasData);
    if (this.#isCut) return;
    this.#isCut = true;
    this.#add(0, 0, () => this.#reader.onEnd(written));
  }

  onError(error: Error): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#upstream = null;
    this.#add(0, 0, () => this.#reader.onError(error));
  }

  #event(bytes: Buffer, hasData: boolean): void {
    if (this.#isCut) return;
    if (hasData) this.#events += 1;
    const isGarbled = hasData && this.#isAfter('garble') && this.#isDue(this.#events);
    const given = isGarbled ? garbled(bytes) : bytes;
    const wait = hasData ? this.#waitFor(this.#events === 1 ? 'first event' : 'each event') : 0;
    this.#add(wait, given.length, () => this.#reader.onData(given));
    if (hasData && this.#isDue(this.#events)) this.#spoil();
  }

  /** In its middle, however many events were asked for. */
  #document(bytes: Buffer): void {
    const isFirst = this.#events === 0 && !this.#isError;
    this.#events += 1;
    if (this.#spoils.is === 'after' && isFirst && this.#spoils.does !== 'garble') {
      const half = bytes.subarray(0, Math.ceil(bytes.length / 2));
      this.#add(0, half.length, () => this.#reader.onData(half));
      this.#spoil();
      return;
    }
    const given = this.#isAfter('garble') && isFirst ? garbled(bytes) : bytes;
    const wait = this.#waitFor(isFirst ? 'first event' : 'each event');
    this.#add(wait, given.length, () => this.#reader.onData(given));
  }

  #spoil(): void {
    if (this.#spoils.is !== 'after' || this.#spoils.does === 'garble') return;
    const { does } = this.#spoils;
    this.#isCut = true;
    this.#letGo(); // whatever the gateway has still to say is not wanted
    const isStream = this.#cuts !== null;
    switch (does) {
      case 'cut':
        return this.#add(0, 0, () => this.#reader.onError(resetError()));
      case 'end':
        return this.#add(0, 0, () => this.#reader.onEnd(false));
      case 'stall':
        return this.#add(LONGEST_SILENCE_MS, 0, () => this.#reader.onError(resetError()));
      case 'error': {
        if (!isStream) return this.#add(0, 0, () => this.#reader.onError(resetError()));
        const event = errorEvent(this.#shape, this.#events);
        this.#add(0, event.length, () => this.#reader.onData(event));
        this.#add(0, 0, () => this.#reader.onEnd(false));
      }
    }
  }

  #isAfter(does: 'garble'): boolean {
    return this.#spoils.is === 'after' && this.#spoils.does === does;
  }

  #isDue(events: number): boolean {
    return this.#spoils.is === 'after' && this.#spoils.events === events;
  }

  #waitFor(what: 'head' | 'first event' | 'each event'): number {
    if (this.#spoils.is !== 'delay') return 0;
    const { of, ms } = this.#spoils;
    return of === what || (of === 'each event' && what === 'first event') ? ms : 0;
  }

  #add(waitMs: number, bytes: number, tell: () => void): void {
    if (this.#isOver) return;
    this.#steps.push({ waitMs, bytes, tell });
    this.#waitingBytes += bytes;
    this.#run();
    if (this.#waitingBytes <= MOST_WAITING_BYTES || this.#isHeldUp) return;
    this.#isHeldUp = true;
    this.#upstream?.pause();
  }

  /** Tells what is due. A step's wait begins when the one before was told. */
  #run(): void {
    while (this.#timer === null && !this.#isPaused && !this.#isOver) {
      const [step] = this.#steps;
      if (step === undefined) break;
      if (step.waitMs > 0) {
        this.#timer = setTimeout(() => this.#waited(step), step.waitMs).unref();
        return;
      }
      this.#tell(step);
    }
    if (this.#steps.length > 0 || !this.#isHeldUp || this.#isPaused) return;
    this.#isHeldUp = false;
    this.#upstream?.resume();
  }

  #waited(step: Step): void {
    this.#timer = null;
    if (this.#isOver) return;
    if (this.#isPaused) this.#steps[0] = { ...step, waitMs: 0 };
    else {
      this.#tell(step);
      this.#run();
    }
  }

  #tell(step: Step): void {
    this.#steps.shift();
    this.#waitingBytes -= step.bytes;
    try {
      step.tell();
    } catch (error) {
      this.destroy();
      this.#reader.onError(asError(error)); // a bug in its reader: that ends one exchange, not the process
    }
  }

  #letGo(): void {
    this.#upstream?.destroy();
    this.#upstream = null;
  }
}

function valueOf({ list }: ReceivedHead, name: string): string {
  const at = list.findIndex((one, i) => i % 2 === 0 && one.toLowerCase() === name);
  return at < 0 ? '' : (list[at + 1] ?? '').trim();
}
