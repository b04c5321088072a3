// Reads the stream of responses. Deltas are passed on as they come; what a server states only in its `.done` events, or only in
// the last one, is taken from there.
import { asObject, identifierIn, objectIn, textIn, type Json } from '../../../bodies/json.ts';
import type { EventReader } from '../dialect.ts';
import { eventObject, readFailure } from '../failures.ts';
import type { AnswerError, AnswerEvent, PartOpening } from '../form.ts';
import { PartSequence } from '../sequence.ts';
import { callOf, contentOf, contentPart, endOf, partsOf, thoughtOf, tokensOf } from './answer-reader.ts';

/** Which channel of a reasoning item carries its text: only the first one that occurs is passed on. */
type ReasoningChannel = 'summary' | 'text';

interface OpenItem {
  /** Its parts that have begun. */
  readonly keys: Set<string>;
  /** Those with text. */
  readonly written: Set<string>;
  channel: ReasoningChannel | null;
  summaries: number;
  isDone: boolean;
}

export class ResponsesEventReader implements EventReader {
  readonly #sequence = new PartSequence();
  readonly #items = new Map<number, OpenItem>();

  read(name: string, data: string): readonly AnswerEvent[] {
    const event = eventObject(data);
    if (event !== null) this.#take(event, textIn(event, 'type') ?? name);
    return this.#sequence.take();
  }

  /** Without a terminal event the answer was cut. */
  end(): readonly AnswerEvent[] {
    return [];
  }

  #take(event: Json, type: string): void {
    switch (type) {
      case 'response.created': {
        const response = objectIn(event, 'response');
        this.#sequence.push({ kind: 'start', id: textIn(response, 'id'), tokens: tokensOf(response) });
        return;
      }
      case 'response.output_item.added':
        return this.#added(indexOf(event), objectIn(event, 'item'));
      case 'response.output_text.delta':
        return this.#write(indexOf(event), contentKey(event), { kind: 'text' }, textIn(event, 'delta'));
      case 'response.refusal.delta':
        return this.#write(indexOf(event), contentKey(event), { kind: 'refusal' }, textIn(event, 'delta'));
      case 'response.reasoning_summary_text.delta':
        return this.#think(event, 'summary');
      case 'response.reasoning_text.delta':
        return this.#think(event, 'text');
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#write(indexOf(event), 'call', null, textIn(event, 'delta'));
      case 'response.output_item.done':
        return this.#done(indexOf(event), objectIn(event, 'item'));
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(objectIn(event, 'response'));
      case 'response.failed':
      case 'response.cancelled':
      case 'error':
        this.#sequence.push({ kind: 'error', error: failureOf(event) });
        return;
      default: {
        const error = readFailure(event);
        if (error !== null) this.#sequence.push({ kind: 'error', error });
      }
    }
  }

  #item(index: number): OpenItem {
    const found = this.#items.get(index);
    if (found !== undefined) return found;
    const item = {
      keys: new Set<string>(),
      written: new Set<string>(),
      channel: null,
      summaries: 0,
      isDone: false,
    };
    this.#items.set(index, item);
    return item;
  }

  #open(index: number, key: string, part: PartOpening): void {
    const { keys } = this.#item(index);
    if (keys.has(key)) return;
    keys.add(key);
    this.#sequence.start(`${index} ${key}`, part);
  }

  #added(index: number, item: Json | null): void {
    const call = item !== null && isCallItem(item) ? callOf(item) : null;
    if (call === null) return;
    const { kind, id, name, namespace, form } = call;
    this.#open(index, 'call', { kind, id, name, namespace, form });
  }

  /** @param part opens the part if it has not begun; null: only its item can open it */
  #write(index: number, key: string, part: PartOpening | null, text: string | null): void {
    if (text === null) return;
    if (part !== null) this.#open(index, key, part);
    this.#item(index).written.add(key);
    this.#sequence.delta(`${index} ${key}`, text);
  }

  #think(event: Json, channel: ReasoningChannel): void {
    const index = indexOf(event);
    const item = this.#item(index);
    item.channel ??= channel;
    if (item.channel !== channel) return;
    const summary = event['summary_index'];
    if (typeof summary === 'number' && summary > item.summaries) {
      item.summaries = summary;
      this.#write(index, 'thought', { kind: 'thinking' }, '\n\n');
    }
    this.#write(index, 'thought', { kind: 'thinking' }, textIn(event, 'delta'));
  }

  /** The whole item: what no delta has told is told now. */
  #done(index: number, item: Json | null): void {
    const open = this.#item(index);
    if (open.isDone || item === null) return;
    open.isDone = true;
    const { written } = open;
    if (item['type'] === 'message') {
      for (const [at, content] of contentOf(item).entries()) {
        const part = contentPart(content);
        const key = String(at);
        if (part !== null && part.kind !== 'call' && !written.has(key))
          this.#write(index, key, { kind: part.kind }, part.text);
      }
    }
    if (item['type'] === 'reasoning') {
      const { text, signature } = thoughtOf(item);
      if (text !== '' && !written.has('thought')) this.#write(index, 'thought', { kind: 'thinking' }, text);
      if (signature !== null) {
        this.#open(index, 'thought', { kind: 'thinking' });
        this.#sequence.sign(`${index} thought`, signature);
      }
    }
    if (isCallItem(item)) {
      this.#added(index, item);
      if (!written.has('call')) this.#write(index, 'call', null, callOf(item)?.input ?? null);
    }
    for (const key of open.keys) this.#sequence.end(`${index} ${key}`);
  }

  #finish(response: Json | null): void {
    if (this.#items.size === 0 && Array.isArray(response?.['output'])) {
      for (const [index, item] of response['output'].entries()) {
        const json = asObject(item);
        if (partsOf(json).length > 0) this.#done(index, json);
      }
    }
    this.#sequence.endAll();
    this.#sequence.push({ kind: 'end', end: endOf(response), tokens: tokensOf(response) });
  }
}

function isCallItem({ type }: Json): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function indexOf(event: Json): number {
  const index = event['output_index'];
  return typeof index === 'number' ? index : 0;
}

function contentKey(event: Json): string {
  const index = event['content_index'];
  return typeof index === 'number' ? String(index) : '0';
}

/** An `error` event has its members at the top; a failed response has an `error`. */
function failureOf(event: Json): AnswerError {
  const stated = readFailure(objectIn(event, 'response')) ?? readFailure(event);
  if (stated !== null) return stated;
  const message = textIn(event, 'message') ?? 'The upstream failed.';
  return { message, type: null, code: identifierIn(event, 'code'), param: textIn(event, 'param') };
}
