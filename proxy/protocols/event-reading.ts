// Reads the events of one stream: end, error, usage, id and model. Takes whole events, parses only
// those whose text holds a marker, and lets the parsed JSON decide, because a model may write any marker into its
// answer. Keeps no text of an answer. What differs between protocols comes from the protocol's rules.
import { identifierIn, objectIn, parseObject, textIn, type Json } from '../bodies/json.ts';
import { isError as isErrorMember } from './errors.ts';
import type { EventRules, StreamEnd, StreamSoFar } from './protocol.ts';
import { choiceBit, isDone } from './openai.ts';
import { noteToolUses, ToolUses } from './tool-uses.ts';
import { hasNoCounts, type Units } from './usage.ts';

const DATA_LINE = /(?:^|[\r\n]|^\u00ef\u00bb\u00bf)data[:\r\n]/;
/** Of a choice, or of a call in one. */
const INDEX = /"index"\s*:\s*(\d{1,3})/g;
/** Id and model stand in the first event or soon after (Azure begins with one that has neither). */
const EVENTS_WITH_IDENTITY = 8;
/** OpenAI allows 128 choices; of more, the reasons are not kept. */
const MOST_FINISHES = 256;

/** Of one stream. What it has read so far can be asked at any time. */
export class EventReading implements StreamSoFar {
  readonly #rules: EventRules;
  /** Several choices may come: those that have begun, and those that have ended, are noted. */
  readonly #isSeveral: boolean;
  #begun = 0;
  #ended = 0;
  #hasEnd = false;
  events = 0;
  /** Nothing relevant can follow: `[DONE]`, `response.completed`, `message_stop`, an error event. */
  finished = false;
  /** An error event was seen. */
  failed = false;
  /** As sent; of a messages stream, its parts merged. */
  usage: Json | null = null;
  /** The usage is that of the start of a messages stream: its output is still to come. */
  usageIsPartial = false;
  serviceTier: string | null = null;
  id: string | null = null;
  model: string | null = null;
  readonly finishes = new Set<string>();
  readonly #tools = new ToolUses();
  /** The last event, where they state numbers. */
  #last = '';

  /** @param isSeveral several choices may come */
  constructor(rules: EventRules, isSeveral = false) {
    this.#rules = rules;
    this.#isSeveral = isSeveral;
  }

  /** Uses of the upstream's own tools that were told of so far. */
  get tools(): Units {
    return this.#tools.units;
  }

  /** The event that ends the answer was seen, of several choices that of each, or an error event. */
  get terminal(): boolean {
    return this.#hasEnd && (this.finished || (this.#begun & ~this.#ended) === 0);
  }

  /**
   * Counts one event.
   * @param scan the event's bytes as latin1: cheap to make, good enough to look for markers
   * @returns whether it is to be read
   */
  count(scan: string): boolean {
    if (!DATA_LINE.test(scan)) return false;
    this.events++;
    if (this.#rules.eventNumber !== undefined) this.#last = scan;
    const lacksIdentity = this.events <= EVENTS_WITH_IDENTITY && (this.id === null || this.model === null);
    return lacksIdentity || this.#rules.markers.test(scan) || (this.#isSeveral && this.#mayBegin(scan));
  }

  #mayBegin(scan: string): boolean {
    for (const [, index] of scan.matchAll(INDEX))
      if ((choiceBit(Number(index)) & ~this.#begun) !== 0) return true;
    return false;
  }

  /** `[DONE]` came before the event that ends the answer, or before any: nothing follows, and the answer is not whole. */
  get isCutShort(): boolean {
    return this.finished && !this.terminal;
  }

  /**
   * The number of an event that would follow. Upstreams count from 0, so the count of events stands in for a number that the
   * last one does not state.
   */
  get nextNumber(): number {
    const last = this.#rules.eventNumber?.exec(this.#last)?.[1];
    return Math.max(this.events, last === undefined ? 0 : Number(last) + 1);
  }

  /** Reads an event that was counted. @returns whether it is the event that carries nothing but usage */
  read(text: string): boolean {
    const { name, data } = parseEvent(text);
    return this.#apply(name, data, parseObject(data));
  }

  /** Reads an event that was too large to be kept. */
  takeLarge({ name, json }: { readonly name: string; readonly json: Json | null }): void {
    this.events++;
    this.#apply(name, '', json);
  }

  #apply(name: string, data: string, json: Json | null): boolean {
    if (isDone(data)) this.#done();
    const type = textIn(json, 'type') ?? name;
    const isError = name === 'error' || type === 'error' || isErrorMember(json?.['error']);
    if (isError) this.#end('failed');
    if (json === null) return false;
    const answer = objectIn(json, 'response') ?? objectIn(json, 'message') ?? json;
    this.id ??= textIn(answer, 'id') ?? textIn(answer, 'responseId'); // Gemini's names
    this.model ??= textIn(answer, 'model') ?? textIn(answer, 'modelVersion');
    this.serviceTier = identifierIn(answer, 'service_tier') ?? this.serviceTier;
    noteToolUses(answer, this.#tools);
    const facts = this.#rules.read({ type, json, answer }, this);
    const { usage, usageIsPartial, end, choices = 0, finishes = [], isUsageOnly = false } = facts;
    if (usage !== null && (this.usage === null || !hasNoCounts(usage))) {
      this.usage = usage;
      this.usageIsPartial = usageIsPartial;
    }
    if (this.#isSeveral) {
      this.#begun |= choices;
      for (const one of finishes) this.#ended |= choiceBit(Number.parseInt(one, 10));
    }
    if (end !== null) this.#end(end);
    for (const one of finishes) if (this.finishes.size < MOST_FINISHES) this.finishes.add(one);
    return isUsageOnly && !isError;
  }

  #done(): void {
    const isFirst = this.events === 1;
    if (this.terminal || (this.#rules.endsWithDone && !isFirst)) this.#end('finished');
    else this.finished = true;
  }

  #end(end: StreamEnd): void {
    this.#hasEnd = true;
    if (end !== 'terminal') this.finished = true;
    if (end === 'failed') this.failed = true;
  }
}

/** The fields of an event by the WHATWG rules; `data` lines joined by LF. */
function parseEvent(text: string): { name: string; data: string } {
  let name = '';
  const data: string[] = [];
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    if (field !== 'data' && field !== 'event') continue;
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data.push(value);
    else name = value;
  }
  return { name, data: data.join('\n') };
}
