// Reads answers and streams of Anthropic's messages.
import { asObject, objectIn, textIn, withExactNumbers, type Json } from '../../../bodies/json.ts';
import { mergedUsage } from '../../messages.ts';
import { NO_TOKENS, readTokens, type Tokens } from '../../usage.ts';
import type { EventReader } from '../dialect.ts';
import { badAnswer, checkParts, eventObject, readFailure } from '../failures.ts';
import type { Answer, AnswerEvent, AnswerPart, End, EndReason } from '../form.ts';
import { PartSequence } from '../sequence.ts';

export function readAnswer(answer: Json): Answer {
  const { content } = answer;
  if (!Array.isArray(content)) throw badAnswer(readFailure(answer)?.message ?? 'it has no content.');
  checkParts(content.length);
  return {
    id: textIn(answer, 'id'),
    parts: content.flatMap((block) => partOf(asObject(block)) ?? []),
    end: endOf(answer),
    tokens: readTokens(objectIn(answer, 'usage')).tokens,
  };
}

/** null: a block of one of Anthropic's own tools, or an empty text. */
function partOf(block: Json | null): AnswerPart | null {
  switch (block?.['type']) {
    case 'text': {
      const text = textIn(block, 'text');
      return text === null ? null : { kind: 'text', text };
    }
    case 'thinking': {
      const data = textIn(block, 'signature');
      const signature = data === null ? null : ({ origin: 'messages', data } as const);
      return { kind: 'thinking', text: textIn(block, 'thinking') ?? '', signature };
    }
    case 'redacted_thinking':
      return {
        kind: 'thinking',
        text: '',
        signature: { origin: 'messages_redacted', data: textIn(block, 'data') ?? '' },
      };
    case 'tool_use': {
      const name = textIn(block, 'name');
      const id = textIn(block, 'id');
      if (name === null || id === null) throw badAnswer('a tool call has no name or no id.');
      const input = JSON.stringify(objectIn(block, 'input') ?? {});
      return { kind: 'call', id, name, namespace: null, form: 'json', input };
    }
    default:
      return null;
  }
}

function endOf(holder: Json | null): End {
  return { reason: endReason(textIn(holder, 'stop_reason')), sequence: textIn(holder, 'stop_sequence') };
}

function endReason(word: string | null): EndReason {
  switch (word) {
    case 'max_tokens':
      return 'length';
    case 'stop_sequence':
      return 'stop_sequence';
    case 'tool_use':
      return 'tool';
    case 'pause_turn':
      return 'pause';
    case 'refusal':
      return 'filter';
    case 'model_context_window_exceeded':
      return 'context';
    case null:
    default:
      return 'stop';
  }
}

export class MessagesEventReader implements EventReader {
  readonly #sequence = new PartSequence();
  #usage: Json | null = null;
  #end: End | null = null;
  /** The input of a block that came whole with its start; deltas replace it. */
  #wholeInput: string | null = null;

  read(name: string, data: string): readonly AnswerEvent[] {
    const event = eventObject(data);
    if (event === null) return [];
    this.#take(event, textIn(event, 'type') ?? name, data);
    return this.#sequence.take();
  }

  /** Without `message_stop` the answer was cut. */
  end(): readonly AnswerEvent[] {
    return [];
  }

  #take(event: Json, type: string, data: string): void {
    switch (type) {
      case 'message_start': {
        const message = objectIn(event, 'message');
        const tokens = this.#read(objectIn(message, 'usage'));
        this.#sequence.push({ kind: 'start', id: textIn(message, 'id'), tokens });
        return;
      }
      case 'content_block_start':
        return this.#start(keyOf(event), objectIn(withExactNumbers(event, data), 'content_block'));
      case 'content_block_delta':
        return this.#delta(keyOf(event), objectIn(event, 'delta'));
      case 'content_block_stop': {
        const key = keyOf(event);
        if (this.#wholeInput !== null) this.#sequence.delta(key, this.#wholeInput);
        this.#wholeInput = null;
        this.#sequence.end(key);
        return;
      }
      case 'message_delta': {
        const delta = objectIn(event, 'delta');
        if (textIn(delta, 'stop_reason') !== null) this.#end = endOf(delta);
        this.#read(objectIn(event, 'usage'));
        return;
      }
      case 'message_stop':
        this.#sequence.endAll();
        this.#sequence.push({
          kind: 'end',
          end: this.#end ?? { reason: 'stop', sequence: null },
          tokens: this.#read(null),
        });
        return;
      default: {
        const error = readFailure(event);
        if (error !== null) this.#sequence.push({ kind: 'error', error });
      }
    }
  }

  #read(usage: Json | null): Tokens {
    if (usage !== null) this.#usage = mergedUsage(this.#usage, usage);
    return this.#usage === null ? NO_TOKENS : readTokens(this.#usage).tokens;
  }

  #start(key: string, block: Json | null): void {
    const part = partOf(block) ?? (block?.['type'] === 'text' ? { kind: 'text' as const, text: '' } : null);
    if (part === null) return;
    if (part.kind === 'call') {
      const { kind, id, name, namespace, form, input } = part;
      this.#sequence.start(key, { kind, id, name, namespace, form });
      this.#wholeInput = input === '{}' ? null : input;
      return;
    }
    this.#sequence.start(key, { kind: part.kind });
    this.#sequence.delta(key, part.text);
    if (part.kind === 'thinking' && part.signature !== null) this.#sequence.sign(key, part.signature);
  }

  #delta(key: string, delta: Json | null): void {
    switch (delta?.['type']) {
      case 'text_delta':
        return this.#sequence.delta(key, textIn(delta, 'text') ?? '');
      case 'thinking_delta':
        return this.#sequence.delta(key, textIn(delta, 'thinking') ?? '');
      case 'input_json_delta': {
        const text = textIn(delta, 'partial_json');
        if (text === null) return;
        this.#wholeInput = null;
        return this.#sequence.delta(key, text);
      }
      case 'signature_delta': {
        const data = textIn(delta, 'signature');
        if (data !== null) this.#sequence.sign(key, { origin: 'messages', data });
      }
    }
  }
}

function keyOf(event: Json): string {
  const { index } = event;
  return typeof index === 'number' ? String(index) : '0';
}
