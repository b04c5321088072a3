// Writes answers, streams and errors of Anthropic's messages. Its clients are strict: every block is opened before its deltas,
// indexes count up, exactly one `message_delta` and `message_stop` end the stream.
import type { Json } from '../../../bodies/json.ts';
import { anthropicType } from '../../messages.ts';
import { statedStatus } from '../../upstream-error.ts';
import type { Tokens } from '../../usage.ts';
import { anthropicCallId } from '../call-ids.ts';
import type { EventWriter, StreamContext } from '../dialect.ts';
import type { Answer, AnswerError, AnswerEvent, AnswerPart, End, PartOpening, Signature } from '../form.ts';
import { hasRefusal, toldByEnd } from '../refusals.ts';
import { showSignature, showTextless } from '../signatures.ts';
import { isUnknown, writeMessagesUsage } from '../tokens.ts';
import { inputObject } from '../turns.ts';

function messageId(id: string | null): string {
  if (id === null) return `msg_${crypto.randomUUID().replaceAll('-', '')}`;
  return id.startsWith('msg_') ? id : `msg_${id}`;
}

function stopReason({ reason, sequence }: End): string {
  switch (reason) {
    case 'stop':
      return 'end_turn';
    case 'stop_sequence':
      return sequence === null ? 'end_turn' : 'stop_sequence';
    case 'tool':
      return 'tool_use';
    case 'length':
      return 'max_tokens';
    case 'context':
      return 'model_context_window_exceeded';
    case 'filter':
      return 'refusal';
    case 'pause':
      return 'pause_turn';
  }
}

export function writeAnswer({ id, parts, end, tokens }: Answer, model: string): Json {
  return {
    id: messageId(id),
    type: 'message',
    role: 'assistant',
    model,
    content: parts.flatMap((part) => writePart(part) ?? []),
    stop_reason: stopReason(toldByEnd(end, hasRefusal(parts))),
    stop_sequence: end.reason === 'stop_sequence' ? end.sequence : null,
    usage: writeMessagesUsage(tokens),
  };
}

function writePart(part: AnswerPart): Json | null {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? null : { type: 'text', text: part.text };
    case 'thinking':
      if (part.text === '') return part.signature === null ? null : redactedBlock(part.signature);
      return { type: 'thinking', thinking: part.text, signature: signatureOf(part.signature) };
    case 'call':
      return { type: 'tool_use', id: anthropicCallId(part.id), name: part.name, input: inputObject(part) };
  }
}

function signatureOf(signature: Signature | null): string {
  return signature === null ? '' : showSignature(signature, 'messages');
}

/** A signature without a text has its place here alone. One of `chat` says only that a text came from there. */
function redactedBlock(signature: Signature): Json | null {
  if (signature.data === '') return null;
  return { type: 'redacted_thinking', data: showTextless(signature, 'messages_redacted') };
}

export function writeError(status: number, { message }: AnswerError): Json {
  return { type: 'error', error: { type: anthropicType(status), message } };
}

function event(type: string, members: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

export class MessagesEventWriter implements EventWriter {
  readonly holdsCalls = false;
  readonly #context: StreamContext;
  #index = -1;
  #part: PartOpening | null = null;
  /** The client has been told of the open part. */
  #isShown = false;
  #isRefused = false;

  constructor(context: StreamContext) {
    this.#context = context;
  }

  write(one: AnswerEvent): string {
    switch (one.kind) {
      case 'start':
        return this.#start(one.id, one.tokens);
      case 'part-start':
        this.#part = one.part;
        this.#isShown = false;
        if (one.part.kind === 'refusal') this.#isRefused = true;
        return one.part.kind === 'call' ? this.#open(blockOf(one.part)) : '';
      case 'part-delta':
        return this.#part === null ? '' : this.#delta(this.#part, one.text);
      case 'part-signature':
        return this.#signature(one.signature);
      case 'part-end':
        this.#part = null;
        return this.#isShown ? this.#stop() : '';
      case 'end':
        return this.#end(one.end, one.tokens);
      case 'error':
        return event('error', { error: { type: wordOf(one.error), message: one.error.message } });
    }
  }

  /** Clients show the input tokens before the upstream has stated them: a guess stands here, the count in the end. */
  #start(id: string | null, tokens: Tokens): string {
    const usage = isUnknown(tokens)
      ? { input_tokens: this.#context.estimatedPrompt, output_tokens: 0 }
      : writeMessagesUsage(tokens);
    return event('message_start', {
      message: {
        id: messageId(id),
        type: 'message',
        role: 'assistant',
        model: this.#context.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    });
  }

  #open(block: Json): string {
    this.#isShown = true;
    this.#index++;
    return event('content_block_start', { index: this.#index, content_block: block });
  }

  #stop(): string {
    this.#isShown = false;
    return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${this.#index}}\n\n`;
  }

  #delta(part: PartOpening, text: string): string {
    const opened = this.#isShown ? '' : this.#open(blockOf(part));
    return opened + this.#write(deltaOf(part, text));
  }

  #write(delta: Json): string {
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":${JSON.stringify(delta)}}\n\n`;
  }

  #signature(signature: Signature): string {
    if (this.#isShown)
      return this.#write({ type: 'signature_delta', signature: showSignature(signature, 'messages') });
    const block = redactedBlock(signature);
    return block === null ? '' : this.#open(block);
  }

  #end(end: End, tokens: Tokens): string {
    const usage = isUnknown(tokens) ? { output_tokens: 0 } : writeMessagesUsage(tokens);
    const delta = {
      stop_reason: stopReason(toldByEnd(end, this.#isRefused)),
      stop_sequence: end.reason === 'stop_sequence' ? end.sequence : null,
    };
    return `${event('message_delta', { delta, usage })}${event('message_stop', {})}`;
  }
}

function blockOf(part: PartOpening): Json {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'call':
      return { type: 'tool_use', id: anthropicCallId(part.id), name: part.name, input: {} };
  }
}

function deltaOf(part: PartOpening, text: string): Json {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text_delta', text };
    case 'thinking':
      return { type: 'thinking_delta', thinking: text };
    case 'call':
      return { type: 'input_json_delta', partial_json: text };
  }
}

const wordOf = (error: AnswerError): string => anthropicType(statedStatus(error) ?? 500);
