// Writes answers, streams and errors of chat completions, with the members by which LiteLLM's dialect shows thoughts and their
// signatures.
import type { Json } from '../../../bodies/json.ts';
import { eventType } from '../../errors.ts';
import type { EventWriter, StreamContext } from '../dialect.ts';
import { openAiError } from '../failures.ts';
import type { Answer, AnswerEvent, CallPart, EndReason, PartOpening, Signature } from '../form.ts';
import { showSignature } from '../signatures.ts';
import { writeChatUsage } from '../tokens.ts';
import type { Tokens } from '../../usage.ts';

const now = (): number => Math.floor(Date.now() / 1000);

function answerId(id: string | null): string {
  if (id === null) return `chatcmpl-${crypto.randomUUID()}`;
  return id.startsWith('chatcmpl') ? id : `chatcmpl-${id}`;
}

function finishReason(reason: EndReason): string {
  switch (reason) {
    case 'tool':
      return 'tool_calls';
    case 'length':
    case 'context':
    case 'pause':
      return 'length';
    case 'filter':
      return 'content_filter';
    case 'stop':
    case 'stop_sequence':
      return 'stop';
  }
}

function signedBlock(text: string, signature: Signature): Json {
  return text === '' || signature.origin === 'messages_redacted'
    ? { type: 'redacted_thinking', data: showSignature(signature, 'messages_redacted') }
    : { type: 'thinking', thinking: text, signature: showSignature(signature, 'messages') };
}

export function writeAnswer({ id, parts, end, tokens }: Answer, model: string): Json {
  const texts = parts.flatMap((part) => (part.kind === 'text' ? part.text : []));
  const refusals = parts.flatMap((part) => (part.kind === 'refusal' ? part.text : []));
  const thoughts = parts.filter((part) => part.kind === 'thinking');
  const blocks = thoughts.flatMap(({ text, signature }) =>
    signature === null ? [] : signedBlock(text, signature),
  );
  const thought = thoughts.map(({ text }) => text).join('');
  const calls = parts.filter((part) => part.kind === 'call');
  return {
    id: answerId(id),
    object: 'chat.completion',
    created: now(),
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: texts.length === 0 ? null : texts.join(''),
          refusal: refusals.length === 0 ? null : refusals.join(''),
          ...(thought === '' ? {} : { reasoning_content: thought }),
          ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
          ...(calls.length === 0 ? {} : { tool_calls: calls.map(writeCall) }),
        },
        logprobs: null,
        finish_reason: finishReason(end.reason),
      },
    ],
    usage: writeChatUsage(tokens),
  };
}

function writeCall({ id, name, form, input }: CallPart): Json {
  return form === 'text'
    ? { id, type: 'custom', custom: { name, input } }
    : { id, type: 'function', function: { name, arguments: input === '' ? '{}' : input } };
}

const frame = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

export class ChatEventWriter implements EventWriter {
  readonly holdsCalls = false;
  readonly #context: StreamContext;
  /** Members that all chunks share, up to their choices. */
  #head = '';
  #part: PartOpening | null = null;
  #callIndex = -1;
  #hasInput = false;
  /** Signed thoughts so far: OpenAI's SDK for Python puts lists together by `index`, and fails without. */
  #signed = 0;
  /** Of the open thought: its signature is shown with the text. */
  #thought: string[] = [];

  constructor(context: StreamContext) {
    this.#context = context;
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'start':
        this.#head = this.#headOf(event.id, this.#context.model);
        return this.#chunk({ role: 'assistant', content: '' });
      case 'part-start':
        return this.#start(event.part);
      case 'part-delta':
        return this.#delta(event.text);
      case 'part-signature':
        return this.#chunk({
          thinking_blocks: [
            { index: this.#signed++, ...signedBlock(this.#thought.join(''), event.signature) },
          ],
        });
      case 'part-end':
        return this.#endPart();
      case 'end':
        return this.#end(event.end.reason, event.tokens);
      case 'error': {
        const { message, type, code, param } = openAiError(event.error, null);
        return frame({
          error: { message, type: eventType(type ?? 'server_error', 'server_error'), param, code },
        });
      }
    }
  }

  #start(part: PartOpening): string {
    this.#part = part;
    this.#hasInput = false;
    this.#thought = [];
    if (part.kind !== 'call') return '';
    this.#callIndex++;
    const { id, name, form } = part;
    const call =
      form === 'text'
        ? { type: 'custom', custom: { name, input: '' } }
        : { type: 'function', function: { name, arguments: '' } };
    return this.#chunk({ tool_calls: [{ index: this.#callIndex, id, ...call }] });
  }

  #delta(text: string): string {
    this.#hasInput = true;
    switch (this.#part?.kind) {
      case 'text':
        return this.#chunk({ content: text });
      case 'thinking':
        this.#thought.push(text);
        return this.#chunk({ reasoning_content: text });
      case 'refusal':
        return this.#chunk({ refusal: text });
      case 'call':
        return this.#input(
          this.#part.form === 'text' ? { custom: { input: text } } : { function: { arguments: text } },
        );
      case undefined:
        return '';
    }
  }

  #input(call: Json): string {
    return this.#chunk({ tool_calls: [{ index: this.#callIndex, ...call }] });
  }

  /** Arguments are JSON: a call without input has an empty object. */
  #endPart(): string {
    const part = this.#part;
    this.#part = null;
    if (part?.kind !== 'call' || part.form === 'text' || this.#hasInput) return '';
    return this.#input({ function: { arguments: '{}' } });
  }

  #end(reason: EndReason, tokens: Tokens): string {
    const finish = `${this.#head}[{"index":0,"delta":{},"logprobs":null,"finish_reason":"${finishReason(reason)}"}]}\n\n`;
    const usage = this.#context.usageInStream
      ? `${this.#head}[],"usage":${JSON.stringify(writeChatUsage(tokens))}}\n\n`
      : '';
    return `${finish}${usage}data: [DONE]\n\n`;
  }

  #chunk(delta: Json): string {
    return `${this.#head}[{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":null}]}\n\n`;
  }

  #headOf(id: string | null, model: string): string {
    const shared = { id: answerId(id), object: 'chat.completion.chunk', created: now(), model };
    return `data: ${JSON.stringify(shared).slice(0, -1)},"choices":`;
  }
}
