// Writes answers, streams and errors of responses. The life of every item is told in full, and one terminal event ends the
// stream: SDKs refuse deltas of items that were not added, and Codex waits for `response.completed`.
import type { Json } from '../../../bodies/json.ts';
import type { EventWriter, StreamContext } from '../dialect.ts';
import type { Answer, AnswerEvent, PartOpening, Signature } from '../form.ts';
import {
  callItem,
  callPrefix,
  contentItem,
  identityOf,
  hasContent,
  itemId,
  messageItem,
  reasoningItem,
  responseObject,
  writeItem,
  type Identity,
  type ResponseState,
} from './response.ts';

export function writeAnswer({ id, parts, end, tokens }: Answer, model: string): Json {
  const identity = identityOf(id, model);
  const output = parts.map((part, index) => writeItem(part, identity, index)).filter((item) => item !== null);
  return responseObject(identity, output, { status: 'ended', end, tokens });
}

/** The item that is being told. */
interface OpenItem {
  readonly part: PartOpening;
  /** Its events after `added` share these. */
  readonly place: { readonly item_id: string; readonly output_index: number };
  readonly texts: string[];
  signature: Signature | null;
  isShown: boolean;
}

const PREFIXES = { text: 'msg', refusal: 'msg', thinking: 'rs' } as const;

export class ResponsesEventWriter implements EventWriter {
  readonly holdsCalls = false;
  readonly #context: StreamContext;
  #identity: Identity | null = null;
  #number = 0;
  #item: OpenItem | null = null;
  readonly #output: Json[] = [];

  constructor(context: StreamContext) {
    this.#context = context;
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'start':
        return this.#start(identityOf(event.id, this.#context.model));
      case 'part-start':
        return this.#open(event.part);
      case 'part-delta':
        return this.#item === null ? '' : this.#delta(this.#item, event.text);
      case 'part-signature':
        if (this.#item !== null) this.#item.signature = event.signature;
        return '';
      case 'part-end':
        return this.#item === null ? '' : this.#close(this.#item);
      case 'end': {
        const { end, tokens } = event;
        const isWhole = !['length', 'context', 'filter'].includes(end.reason);
        return this.#last(isWhole ? 'completed' : 'incomplete', { status: 'ended', end, tokens });
      }
      case 'error':
        return this.#last('failed', { status: 'failed', error: event.error });
    }
  }

  #event(type: string, members: Json): string {
    const data = JSON.stringify({ type: `response.${type}`, sequence_number: this.#number++, ...members });
    return `event: response.${type}\ndata: ${data}\n\n`;
  }

  #start(identity: Identity): string {
    this.#identity = identity;
    const response = responseObject(identity, [], { status: 'in_progress' });
    return this.#event('created', { response }) + this.#event('in_progress', { response });
  }

  /** An answer that fails before it has begun is begun for the failure: clients take no other first event. */
  #last(type: string, state: ResponseState): string {
    const begun = this.#identity === null ? this.#start(identityOf(null, this.#context.model)) : '';
    if (this.#identity === null) return begun;
    return begun + this.#event(type, { response: responseObject(this.#identity, this.#output, state) });
  }

  #open(part: PartOpening): string {
    if (this.#identity === null) return '';
    const index = this.#output.length;
    const prefix = part.kind === 'call' ? callPrefix(part) : PREFIXES[part.kind];
    const place = { item_id: itemId(this.#identity, prefix, index), output_index: index };
    this.#item = { part, place, texts: [], signature: null, isShown: false };
    // A text without a delta, or a thought without either, is no item.
    return part.kind === 'call' ? this.#show(this.#item) : '';
  }

  #show(item: OpenItem): string {
    item.isShown = true;
    const { part, place } = item;
    const { item_id: id, output_index } = place;
    switch (part.kind) {
      case 'call':
        return this.#event('output_item.added', {
          output_index,
          item: callItem(id, 'in_progress', part, ''),
        });
      case 'thinking':
        return this.#event('output_item.added', { output_index, item: reasoningItem(id, '', null) });
      case 'text':
      case 'refusal':
        return (
          this.#event('output_item.added', { output_index, item: messageItem(id, 'in_progress', []) }) +
          this.#event('content_part.added', { ...place, content_index: 0, part: contentItem(part.kind, '') })
        );
    }
  }

  #delta(item: OpenItem, text: string): string {
    const { part, place, texts } = item;
    let shown = item.isShown ? '' : this.#show(item);
    if (part.kind === 'thinking' && texts.length === 0) {
      const summary = { type: 'summary_text', text: '' };
      shown += this.#event('reasoning_summary_part.added', { ...place, summary_index: 0, part: summary });
    }
    texts.push(text);
    const more = part.kind === 'text' ? { logprobs: [] } : {};
    return shown + this.#event(`${wordOf(part)}.delta`, { ...place, ...indexOf(part), delta: text, ...more });
  }

  #close(item: OpenItem): string {
    this.#item = null;
    const { part, place, signature, texts } = item;
    const text = texts.join('');
    if (!item.isShown) {
      if (part.kind !== 'thinking' || !hasContent(text, signature)) return '';
      return this.#show(item) + this.#done(item, reasoningItem(place.item_id, text, signature));
    }
    switch (part.kind) {
      case 'call': {
        const input = part.form === 'json' && text === '' ? '{}' : text;
        const whole = part.form === 'text' ? { input } : { name: part.name, arguments: input };
        const done = callItem(place.item_id, 'completed', part, input);
        return this.#event(`${wordOf(part)}.done`, { ...place, ...whole }) + this.#done(item, done);
      }
      case 'thinking': {
        const at = { ...place, summary_index: 0 };
        return (
          this.#event('reasoning_summary_text.done', { ...at, text }) +
          this.#event('reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } }) +
          this.#done(item, reasoningItem(place.item_id, text, signature))
        );
      }
      case 'text':
      case 'refusal': {
        const at = { ...place, content_index: 0 };
        const content = contentItem(part.kind, text);
        const whole = part.kind === 'text' ? { text, logprobs: [] } : { refusal: text };
        return (
          this.#event(`${wordOf(part)}.done`, { ...at, ...whole }) +
          this.#event('content_part.done', { ...at, part: content }) +
          this.#done(item, messageItem(place.item_id, 'completed', [content]))
        );
      }
    }
  }

  #done({ place }: OpenItem, item: Json): string {
    this.#output.push(item);
    return this.#event('output_item.done', { output_index: place.output_index, item });
  }
}

/** The name of the events that tell a part. */
function wordOf(part: PartOpening): string {
  switch (part.kind) {
    case 'text':
      return 'output_text';
    case 'refusal':
      return 'refusal';
    case 'thinking':
      return 'reasoning_summary_text';
    case 'call':
      return part.form === 'text' ? 'custom_tool_call_input' : 'function_call_arguments';
  }
}

function indexOf({ kind }: PartOpening): Json {
  if (kind === 'call') return {};
  return kind === 'thinking' ? { summary_index: 0 } : { content_index: 0 };
}
