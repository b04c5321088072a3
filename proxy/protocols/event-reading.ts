// What one server-sent event means: is it the last, is it an error, what did it cost. Reads whole events only, parses
// only those whose text holds a marker, and lets the parsed JSON decide, because a model may write any marker into its
// answer. Keeps no text of an answer. The reading half of sse.ts.
import type { Family } from './errors.ts';
import {
  asObject,
  type Edges,
  identifierIn,
  membersOfHead,
  objectIn,
  parseObject,
  textIn,
  usageInTail,
} from '../bodies/edges.ts';

/** An error event, without its message, which may quote a prompt. */
export interface StreamFailure {
  readonly type: string | null;
  readonly code: string | null;
}

type Json = Readonly<Record<string, unknown>>;

/** Texts without which an event of the family says nothing of interest. */
const MARKERS: Readonly<Record<Family, RegExp>> = (() => {
  // Ordinary chunks carry `"usage":null` and `"finish_reason":null`; these are no markers, else all would be parsed.
  const usage = 'usage"(?!\\s*:\\s*null)';
  const finish = 'finish_reason"(?!\\s*:\\s*(?:null|""))';
  const error = 'error"(?!\\s*:\\s*null)|event: ?error';
  const done = '\\[DONE\\]';
  const chat = new RegExp([usage, finish, error, done].join('|'));
  return {
    chat,
    completions: chat,
    responses: new RegExp(['response\\.(?:completed|failed|incomplete)', error, done].join('|')),
    messages: new RegExp([usage, 'message_stop', error, done].join('|')),
    other: new RegExp([usage, '\\.(?:completed|done|failed)', error, done].join('|')),
  };
})();

const DATA_LINE = /(?:^|[\r\n]|^\u00ef\u00bb\u00bf)data[:\r\n]/;
const RESPONSE_ENDS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.failed',
  'response.incomplete',
]);
/** Id and model stand in the first event or soon after (Azure begins with one that has neither). */
const EVENTS_WITH_IDENTITY = 8;
const HEAD_MEMBERS = { names: new Set(['type', 'id', 'model', 'error', 'service_tier']), prefixes: [] };

/** What the events so far have told. */
export class EventReading {
  readonly #family: Family;
  events = 0;
  terminal = false;
  finished = false;
  failed: StreamFailure | null = null;
  usage: Json | null = null;
  /** The usage is that of the start of a messages stream: its output is still to come. */
  usageIsPartial = false;
  serviceTier: string | null = null;
  id: string | null = null;
  model: string | null = null;

  constructor(family: Family) {
    this.#family = family;
  }

  /**
   * Reads one event.
   * @param scan the event's bytes as latin1: cheap to make, good enough to look for markers
   * @param read gives the event as text
   * @returns whether it is the event that carries nothing but usage
   */
  take(scan: string, read: () => string): boolean {
    if (!DATA_LINE.test(scan)) return false;
    this.events++;
    const lacksIdentity = this.events <= EVENTS_WITH_IDENTITY && (this.id === null || this.model === null);
    if (!lacksIdentity && !MARKERS[this.#family].test(scan)) return false;
    const { name, data } = parseEvent(read());
    return this.#apply(name, data, parseObject(data));
  }

  /** Reads an event that is known by its edges only: its type, and its usage if it stands near the end. */
  takeLarge(edges: Edges): void {
    this.events++;
    const { name, data } = parseEvent(edges.head());
    const json = membersOfHead(data, HEAD_MEMBERS);
    const tail = edges.tail();
    const usage = usageInTail(tail, this.#family === 'responses' ? '{"response":{' : '{');
    this.#apply(
      name,
      data,
      this.#family === 'responses' ? { ...json, response: { usage } } : { ...json, usage },
    );
  }

  #apply(name: string, data: string, json: Json | null): boolean {
    if (data.trim() === '[DONE]') this.#finish();
    const type = textIn(json, 'type') ?? name;
    const error = objectIn(json, 'error');
    const isError = name === 'error' || type === 'error' || error !== null || textIn(json, 'error') !== null;
    if (isError) this.#fail(error ?? json);
    if (json === null) return false;
    const inner = objectIn(json, 'response') ?? objectIn(json, 'message') ?? json;
    this.id ??= textIn(inner, 'id');
    this.model ??= textIn(inner, 'model');
    this.serviceTier = identifierIn(inner, 'service_tier') ?? this.serviceTier;
    switch (this.#family) {
      case 'chat':
      case 'completions':
        this.usage = objectIn(json, 'usage') ?? usageElsewhere(json) ?? this.usage;
        if (hasFinishReason(json)) this.terminal = true;
        break;
      case 'responses':
        if (!RESPONSE_ENDS.has(type)) break;
        this.usage = objectIn(inner, 'usage') ?? this.usage;
        if (type === 'response.failed') this.#fail(objectIn(inner, 'error'));
        this.#finish();
        break;
      case 'messages':
        this.#merge(objectIn(inner, 'usage'), type !== 'message_delta');
        if (type === 'message_stop') this.#finish();
        break;
      case 'other':
        this.usage = objectIn(inner, 'usage') ?? objectIn(json, 'usage') ?? this.usage;
        if (/\.(?:completed|done|failed)$/.test(type)) this.terminal = true;
        if (type.endsWith('.failed')) this.#fail(objectIn(inner, 'error'));
    }
    return (
      !isError && Array.isArray(json['choices']) && json['choices'].length === 0 && isStated(json['usage'])
    );
  }

  #finish(): void {
    this.terminal = true;
    this.finished = true;
  }

  #fail(error: Json | null): void {
    this.failed ??= { type: identifierIn(error, 'type'), code: identifierIn(error, 'code') };
    this.#finish();
  }

  /** message_start states the input, message_delta the output and sometimes all again: the later value counts. */
  #merge(usage: Json | null, atStart: boolean): void {
    if (usage === null) return;
    this.usageIsPartial = atStart;
    const stated = Object.entries(usage).filter(([, value]) => isStated(value));
    this.usage = { ...(this.usage ?? usage), ...Object.fromEntries(stated) };
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

/** Groq states it in a member of its own, Moonshot in the last choice. */
function usageElsewhere(json: Json): Json | null {
  const choices: unknown = json['choices'];
  const last = Array.isArray(choices) ? asObject(choices.at(-1)) : null;
  return objectIn(objectIn(json, 'x_groq'), 'usage') ?? objectIn(last, 'usage');
}

function hasFinishReason(json: Json): boolean {
  const choices: unknown = json['choices'];
  if (!Array.isArray(choices)) return false;
  return choices.some((choice: unknown) => textIn(choice as Json | null, 'finish_reason') !== null);
}

function isStated(value: unknown): boolean {
  return value !== undefined && value !== null;
}
