// Reads whole answers of responses.
import { asObject, objectIn, textIn, type Json } from '../../../bodies/json.ts';
import { responses } from '../../responses.ts';
import { readTokens, type Tokens } from '../../usage.ts';
import { badAnswer, checkParts, readFailure } from '../failures.ts';
import type { Answer, AnswerPart, CallPart, End, ThinkingPart } from '../form.ts';

export function readAnswer(answer: Json): Answer {
  const { output } = answer;
  const isFailed = answer['status'] === 'failed' || answer['status'] === 'cancelled';
  if (isFailed || !Array.isArray(output))
    throw badAnswer(readFailure(answer)?.message ?? 'it has no output.');
  if (responses.isPending?.(answer) === true) throw badAnswer('it is not finished.');
  checkParts(output.length);
  return {
    id: textIn(answer, 'id'),
    parts: output.flatMap((item) => partsOf(asObject(item))),
    end: endOf(answer),
    tokens: tokensOf(answer),
  };
}

export function tokensOf(answer: Json | null): Tokens {
  return readTokens(objectIn(answer, 'usage')).tokens;
}

export function endOf(answer: Json | null): End {
  if (answer?.['status'] !== 'incomplete') return { reason: 'stop', sequence: null };
  const reason = textIn(objectIn(answer, 'incomplete_details'), 'reason');
  return { reason: reason === 'content_filter' ? 'filter' : 'length', sequence: null };
}

/** Items of the vendor's own tools say nothing to other protocols. */
export function partsOf(item: Json | null): readonly AnswerPart[] {
  switch (item?.['type']) {
    case 'message':
      return contentOf(item).flatMap((part) => contentPart(part) ?? []);
    case 'reasoning': {
      const thought = thoughtOf(item);
      return thought.text === '' && thought.signature === null ? [] : [thought];
    }
    case 'function_call':
    case 'custom_tool_call': {
      const call = callOf(item);
      if (call === null) throw badAnswer('a tool call has no name or no call_id.');
      return [call];
    }
    default:
      return [];
  }
}

export function contentOf(item: Json): readonly (Json | null)[] {
  const content: unknown = item['content'];
  return Array.isArray(content) ? content.map(asObject) : [];
}

export function contentPart(part: Json | null): AnswerPart | null {
  const text = textIn(part, 'text');
  if (part?.['type'] === 'output_text' && text !== null) return { kind: 'text', text };
  const refusal = textIn(part, 'refusal');
  return refusal === null ? null : { kind: 'refusal', text: refusal };
}

/** The summary; where a server has none (vLLM), the thought itself. */
export function thoughtOf(item: Json): ThinkingPart {
  const textsIn = (list: unknown): string =>
    Array.isArray(list) ? list.map((one) => textIn(asObject(one), 'text') ?? '').join('\n\n') : '';
  const data = textIn(item, 'encrypted_content');
  return {
    kind: 'thinking',
    text: textsIn(item['summary']) || textsIn(item['content']),
    signature: data === null ? null : { origin: 'responses', data },
  };
}

/** null when it has no name or id. */
export function callOf(item: Json): CallPart | null {
  const [name, id] = [textIn(item, 'name'), textIn(item, 'call_id')];
  if (name === null || id === null) return null;
  const common = { kind: 'call', id, name, namespace: textIn(item, 'namespace') } as const;
  return item['type'] === 'custom_tool_call'
    ? { ...common, form: 'text', input: textIn(item, 'input') ?? '' }
    : { ...common, form: 'json', input: textIn(item, 'arguments') ?? '' };
}
