// Cuts an event stream after whole events while it is relayed, so that a broken stream never leaves half an event with
// the client, and has each event read on the side. It delays only what is unfinished, and changes no byte, but for a cost
// or a model's name where they are asked for; the events it may leave out are the usage event that a client did not ask
// for, and a `[DONE]` behind half an answer, with which SDKs would take it for the whole. Events end as the WHATWG specification says
// (html.spec.whatwg.org/multipage/server-sent-events.html): at a blank line, lines ending in LF, CRLF or CR.
import { Buffer } from 'node:buffer';
import type { Json } from '../bodies/json.ts';
import { AskedModel } from '../protocols/asked-model.ts';
import { EventReading } from '../protocols/event-reading.ts';
import { LargeEvent } from '../protocols/large-event.ts';
import type { EventRules } from '../protocols/protocol.ts';
import type { Delivered } from '../protocols/text.ts';
import type { Units } from '../protocols/usage.ts';
import { withCost } from '../protocols/usage-cost.ts';
import { Sample } from './sample.ts';

interface SseTapOptions {
  /** Leave out the event whose JSON has empty `choices` and a `usage`. */
  readonly stripUsage: boolean;
  /** Hold the beginning of the stream, for a count of its tokens. */
  readonly keepText?: boolean;
  /** What a usage object costs, US dollars as a JSON number: it is then written into the event. null = unknown. */
  readonly priceUsage?: PriceUsage | null;
  /** The model that events state towards the client; null: the one that the upstream states. */
  readonly askedModel?: string | null;
  /** `done`: several choices may come, each with an end. */
  readonly lastEvent?: LastEvent;
  /** Bytes of one event that are held back at most; a larger event is passed on as it comes, and its outline read. */
  readonly maxHeldBytes?: number;
}

/**
 * The last event that the client needs: a finish reason, where one choice was asked for; the usage, where the client asked
 * for it; else the one after which nothing follows. Streams of other protocols end with one event, which is each of these.
 */
export type LastEvent = 'finish' | 'usage' | 'done';

/** US dollars as a JSON number, or null when they are not known. */
export type PriceUsage = (usage: Json, serviceTier: string | null, tools: Units) => string | null;

const MAX_HELD_BYTES = 262_144;
const FIRST_HELD_BYTES = 4_096;
const EMPTY = Buffer.alloc(0);
const LF = '\n';
const CR = '\r';
const BLANK_LINE = '\n\n';

/** Observes one event stream. Time is linear in its bytes, memory bounded by `maxHeldBytes`. */
export class SseTap {
  readonly #reading: EventReading;
  readonly #rules: EventRules;
  readonly #stripUsage: boolean;
  readonly #priceUsage: PriceUsage | null;
  /** null: the events state the model of the upstream, or none that follows is to be changed. */
  #askedModel: AskedModel | null;
  readonly #sample: Sample | null;
  readonly #maxHeldBytes: number;
  /** A copy of the unfinished event: chunks of the socket are not kept, a short one could pin 64 KiB. */
  #held: Buffer = EMPTY;
  #heldBytes = 0;
  /** Set while an event is passed on that outgrew the bound. */
  #large: LargeEvent | null = null;
  /** The stream ended within an event. */
  #torn = false;
  /** No byte of the current line has come yet. */
  #lineIsEmpty = true;
  /** The last byte was a CR: an LF that follows belongs to it. */
  #afterCr = false;
  /** The event before was left out, so that LF is left out too. */
  #afterStripped = false;

  constructor(rules: EventRules, options: SseTapOptions) {
    this.#reading = new EventReading(rules, options.lastEvent === 'done');
    this.#rules = rules;
    this.#stripUsage = options.stripUsage;
    this.#priceUsage = options.priceUsage ?? null;
    const { askedModel = null } = options;
    this.#askedModel = askedModel === null ? null : new AskedModel(rules, askedModel);
    this.#sample = options.keepText === true ? new Sample() : null;
    this.#maxHeldBytes = options.maxHeldBytes ?? MAX_HELD_BYTES;
  }

  /** Takes a chunk; returns the bytes to pass on now: whole events. The chunk itself where it ends with one. */
  push(chunk: Buffer): Buffer | null {
    if (chunk.length === 0) return null;
    this.#sample?.push(chunk);
    const text = chunk.toString('latin1');
    const isTrailingLf = this.#afterCr && !this.midEvent && text.startsWith(LF);
    const ends = this.#eventEnds(text);
    const from = isTrailingLf && this.#afterStripped ? 1 : 0;
    const start = isTrailingLf ? 1 : 0;
    const cut = ends.at(-1) ?? start;
    const passed = cut === 0 ? null : this.#takeEvents(chunk, text, from, start, ends, cut);
    const overflow = cut === chunk.length ? null : this.#hold(chunk.subarray(cut));
    return join(passed, overflow);
  }

  /** The upstream ended cleanly: returns what is held, and reads it, since some upstreams leave out the last blank line. */
  end(): Buffer | null {
    this.#torn = this.#large !== null;
    this.#large = null;
    if (this.#heldBytes === 0) return null;
    const rest = this.#held.subarray(0, this.#heldBytes);
    this.#heldBytes = 0;
    const scan = rest.toString('latin1');
    if (this.#reading.count(`${scan}\n`)) this.#reading.read(rest.toString('utf8'));
    return this.#askedModel?.in(rest, scan) ?? rest;
  }

  /** Events with data so far. */
  get events(): number {
    return this.#reading.events;
  }

  get nextNumber(): number {
    return this.#reading.nextNumber;
  }

  /** The event that ends the answer was seen, or an error event. */
  get terminal(): boolean {
    return this.#reading.terminal;
  }

  /** Nothing of worth can follow: `[DONE]`, `response.completed`, `message_stop`, an error event. */
  get finished(): boolean {
    return this.#reading.finished;
  }

  /** An error event was seen. */
  get failed(): boolean {
    return this.#reading.failed;
  }

  /** Usage as sent; of a messages stream its parts put together. */
  get usage(): Json | null {
    return this.#reading.usage;
  }

  get usageIsPartial(): boolean {
    return this.#reading.usageIsPartial;
  }

  get serviceTier(): string | null {
    return this.#reading.serviceTier;
  }

  get tools(): Units {
    return this.#reading.tools;
  }

  /** What was relayed, when `keepText` was asked for. */
  get delivered(): Delivered | null {
    return this.#sample?.delivered() ?? null;
  }

  get id(): string | null {
    return this.#reading.id;
  }

  get model(): string | null {
    return this.#reading.model;
  }

  /** Bytes of an unfinished event have come; they are held back unless `torn`. */
  get midEvent(): boolean {
    return this.#heldBytes > 0 || this.#large !== null;
  }

  /** The client has got the first part of an unfinished event: nothing else can be sent on this stream. */
  get torn(): boolean {
    return this.#torn || this.#large !== null;
  }

  /** Offsets just after each blank line. Looks for line ends with the engine's own search: 10 times a byte loop. */
  #eventEnds(text: string): readonly number[] {
    if (isOneEvent(text)) {
      this.#lineIsEmpty = true;
      this.#afterCr = false;
      return [text.length];
    }
    const ends: number[] = [];
    let lineStart = this.#afterCr && text.startsWith(LF) ? 1 : 0;
    let isEmpty = this.#lineIsEmpty;
    let lf = text.indexOf(LF, lineStart);
    let cr = text.indexOf(CR, lineStart);
    while (lf !== -1 || cr !== -1) {
      const isCr = lf === -1 || (cr !== -1 && cr < lf);
      const end = isCr ? cr : lf;
      const next = isCr && lf === cr + 1 ? end + 2 : end + 1;
      if (isEmpty && end === lineStart) ends.push(next);
      isEmpty = true;
      lineStart = next;
      if (lf !== -1 && lf < next) lf = text.indexOf(LF, next);
      if (cr !== -1 && cr < next) cr = text.indexOf(CR, next);
    }
    this.#lineIsEmpty = isEmpty && lineStart === text.length;
    this.#afterCr = text.endsWith(CR);
    return ends;
  }

  /** Reads the events that end in `chunk`; returns them, without those that are left out. */
  #takeEvents(
    chunk: Buffer,
    text: string,
    from: number,
    start: number,
    ends: readonly number[],
    cut: number,
  ): Buffer | null {
    let source = chunk;
    let scan = text;
    const shift = this.#heldBytes;
    if (shift > 0) {
      source = Buffer.concat([this.#held.subarray(0, shift), chunk.subarray(0, cut)]);
      scan = source.toString('latin1');
      this.#heldBytes = 0;
    }
    let kept: Buffer[] | null = null;
    for (const chunkEnd of ends) {
      const end = chunkEnd + shift;
      const usageBefore = this.#reading.usage;
      const isLarge = this.#large !== null || end - start > this.#maxHeldBytes;
      const isUsageOnly = this.#takeEvent(isLarge, source, scan, start, end);
      const isStripped = (isUsageOnly && this.#stripUsage) || this.#reading.isCutShort;
      const priced = usageBefore === this.#reading.usage ? null : this.#priced(source.subarray(start, end));
      const changed =
        this.#askedModel === null || isLarge
          ? priced
          : this.#named(this.#askedModel, priced, source, scan, start, end);
      if (isStripped || changed !== null) {
        kept ??= [];
        if (start > from) kept.push(source.subarray(from, start));
        if (!isStripped && changed !== null) kept.push(changed);
        from = end;
      }
      this.#afterStripped = isStripped;
      start = end;
    }
    const last = cut + shift;
    if (from === 0 && last === source.length) return source;
    const rest = from < last ? source.subarray(from, last) : null;
    if (kept === null) return rest;
    if (rest !== null) kept.push(rest);
    return kept.length > 1 ? Buffer.concat(kept) : (kept[0] ?? null);
  }

  /** The event with the cost in its usage; null when it stays as it is. */
  #priced(event: Buffer): Buffer | null {
    const { usage, usageIsPartial, serviceTier, tools } = this.#reading;
    if (this.#priceUsage === null || usage === null || usageIsPartial) return null;
    const usd = this.#priceUsage(usage, serviceTier, tools);
    return usd === null ? null : withCost(event, this.#rules, usd);
  }

  /** The event with the asked model, else as it is. @param priced the event with its cost; null: it has none */
  #named(
    askedModel: AskedModel,
    priced: Buffer | null,
    source: Buffer,
    scan: string,
    start: number,
    end: number,
  ): Buffer | null {
    const event = priced ?? source.subarray(start, end);
    const text = priced?.toString('latin1') ?? scan.slice(start, end);
    const named = askedModel.in(event, text) ?? priced;
    if (askedModel.isDone) this.#askedModel = null;
    return named;
  }

  #takeEvent(isLarge: boolean, source: Buffer, scan: string, start: number, end: number): boolean {
    if (!isLarge) {
      return (
        this.#reading.count(scan.slice(start, end)) && this.#reading.read(source.toString('utf8', start, end))
      );
    }
    // Also an event that came whole is read as a large one: how it was cut up must not matter.
    const large = this.#large ?? new LargeEvent(this.#rules);
    large.push(source.subarray(start, end));
    this.#reading.takeLarge(large);
    this.#large = null;
    return false;
  }

  /** Holds the start or a further part of an unfinished event; returns what must be passed on because it is too large. */
  #hold(part: Buffer): Buffer | null {
    if (this.#large !== null) {
      this.#large.push(part);
      return part;
    }
    const size = this.#heldBytes + part.length;
    if (size > this.#maxHeldBytes) {
      const outgrown =
        this.#heldBytes === 0 ? part : Buffer.concat([this.#held.subarray(0, this.#heldBytes), part]);
      this.#large = new LargeEvent(this.#rules);
      this.#large.push(outgrown);
      this.#held = EMPTY;
      this.#heldBytes = 0;
      return outgrown;
    }
    if (size > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_HELD_BYTES, 2 * size));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    part.copy(this.#held, this.#heldBytes);
    this.#heldBytes = size;
    return null;
  }
}

/** What most chunks are: lines, none of them blank, and a blank one at the end. */
function isOneEvent(text: string): boolean {
  const blankLineAt = text.indexOf(BLANK_LINE);
  return blankLineAt > 0 && blankLineAt === text.length - 2 && !text.startsWith(LF) && !text.includes(CR);
}

function join(first: Buffer | null, second: Buffer | null): Buffer | null {
  if (first === null || second === null) return first ?? second;
  return Buffer.concat([first, second]);
}
