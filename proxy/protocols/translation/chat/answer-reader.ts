// Reads whole answers of chat completions, and the parts of a message that answers and streams share.
import { asObject, isStated, listIn, objectIn, textIn, type Json } from '../../../bodies/json.ts';
import { readTokens } from '../../usage.ts';
import { inventedCallId } from '../call-ids.ts';
import { withCallSignature } from '../call-signatures.ts';
import { badAnswer, checkParts, readFailure } from '../failures.ts';
import type { Answer, AnswerPart, End, EndReason, Signature, ThinkingPart } from '../form.ts';

export function readAnswer(answer: Json): Answer {
  const choice = asObject(listIn(answer, 'choices')?.[0]);
  const message = objectIn(choice, 'message');
  if (message === null) throw badAnswer(readFailure(answer)?.message ?? 'it has no choice with a message.');
  const id = textIn(answer, 'id');
  return {
    id,
    parts: [...thoughtsOf(message), ...textsOf(message), ...callsOf(message, id)],
    end: endOf(textIn(choice, 'finish_reason'), choice),
    tokens: readTokens(objectIn(answer, 'usage')).tokens,
  };
}

/** vLLM and SGLang state the stop sequence. */
export function endOf(word: string | null, choice: Json | null): End {
  const reason = endReason(word);
  const sequence = textIn(choice, 'stop_reason') ?? textIn(choice, 'matched_stop');
  return reason === 'stop' && sequence !== null
    ? { reason: 'stop_sequence', sequence }
    : { reason, sequence: null };
}

function endReason(word: string | null): EndReason {
  switch (word) {
    case 'length':
    case 'max_tokens':
      return 'length';
    case 'tool_calls':
    case 'function_call':
      return 'tool';
    case 'content_filter':
      return 'filter';
    case null:
    default:
      return 'stop';
  }
}

/** The thoughts that a message or a delta holds, by the names that vendors have for them. */
export function thoughtText(holder: Json): string {
  return textIn(holder, 'reasoning_content') ?? textIn(holder, 'reasoning') ?? '';
}

/** The thought came from a server that signs none. */
export const UNSIGNED: Signature = Object.freeze({ origin: 'chat', data: '' });

const NO_THOUGHTS: readonly ThinkingPart[] = Object.freeze([]);

/** LiteLLM's `thinking_blocks`, each a thought of its own: Anthropic refuses one with the signature of another. */
export function thinkingBlocks(holder: Json): readonly ThinkingPart[] {
  const blocks = holder['thinking_blocks'];
  if (!Array.isArray(blocks)) return NO_THOUGHTS;
  checkParts(blocks.length);
  return blocks.map((one): ThinkingPart => {
    const block = asObject(one);
    const data = textIn(block, 'data');
    if (block?.['type'] === 'redacted_thinking' && data !== null)
      return { kind: 'thinking', text: '', signature: { origin: 'chat_redacted', data } };
    const signed = textIn(block, 'signature');
    const signature = signed === null ? null : ({ origin: 'chat', data: signed } as const);
    return { kind: 'thinking', text: textIn(block, 'thinking') ?? '', signature };
  });
}

function thoughtsOf(message: Json): readonly AnswerPart[] {
  const blocks = wholeBlocks(thinkingBlocks(message));
  const text = thoughtText(message) || contentPieces(message['content']).thoughts;
  if (text === '' || blocks.some((block) => block.text !== '')) return blocks;
  const place = blocks.findIndex(({ signature }) => signature?.origin === 'chat');
  const signature = blocks[place]?.signature ?? UNSIGNED;
  return [{ kind: 'thinking', text, signature }, ...blocks.filter((_, index) => index !== place)];
}

/** Proxies that put a stream of LiteLLM's together have the pieces of a thought before the block with its signature. */
function wholeBlocks(blocks: readonly ThinkingPart[]): readonly ThinkingPart[] {
  const whole: ThinkingPart[] = [];
  let pieces = '';
  const endPieces = (): void => {
    if (pieces !== '') whole.push({ kind: 'thinking', text: pieces, signature: UNSIGNED });
    pieces = '';
  };
  for (const block of blocks) {
    if (block.signature === null) pieces += block.text;
    else if (block.signature.origin === 'chat') {
      whole.push({ ...block, text: pieces + block.text });
      pieces = '';
    } else {
      endPieces();
      whole.push(block);
    }
  }
  endPieces();
  return whole;
}

/** A text, or a list of parts as Mistral's reasoning models write it. */
export function contentPieces(content: unknown): { readonly text: string; readonly thoughts: string } {
  if (typeof content === 'string') return { text: content, thoughts: '' };
  if (!Array.isArray(content)) return { text: '', thoughts: '' };
  let text = '';
  let thoughts = '';
  for (const one of content) {
    const part = asObject(one);
    text += textIn(part, 'text') ?? '';
    const thinking = part?.['thinking'];
    thoughts += typeof thinking === 'string' ? thinking : contentPieces(thinking).text;
  }
  return { text, thoughts };
}

function textsOf(message: Json): readonly AnswerPart[] {
  const { text } = contentPieces(message['content']);
  const refusal = textIn(message, 'refusal');
  return [
    ...(text === '' ? [] : [{ kind: 'text', text } as const]),
    ...(refusal === null ? [] : [{ kind: 'refusal', text: refusal } as const]),
  ];
}

function callsOf(message: Json, answerId: string | null): readonly AnswerPart[] {
  const calls: unknown = message['tool_calls'];
  const legacy = objectIn(message, 'function_call');
  const all: readonly unknown[] = Array.isArray(calls) ? calls : [];
  // Some servers (Snowflake) fill every member of a message; a call without a name is none.
  const called = textIn(legacy, 'name') === null || all.length > 0 ? all : [{ function: legacy }];
  checkParts(called.length);
  return called.map((one, index): AnswerPart => {
    const call = asObject(one);
    const custom = call?.['type'] === 'function' ? null : objectIn(call, 'custom');
    const holder = custom ?? objectIn(call, 'function');
    const name = textIn(holder, 'name');
    if (name === null) throw badAnswer('a tool call has no name.');
    return {
      kind: 'call',
      id: withCallSignature(textIn(call, 'id') ?? inventedCallId(answerId, name, index), call),
      name,
      namespace: null,
      form: custom === null ? 'json' : 'text',
      input: argumentsText(custom === null ? holder?.['arguments'] : custom['input']),
    };
  });
}

/** Some servers send the object itself instead of its text. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value;
  return isStated(value) ? JSON.stringify(value) : '';
}
