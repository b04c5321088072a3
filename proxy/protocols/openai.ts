// What the protocols in OpenAI's style have in common; each object says what it does otherwise.
import { asObject, objectIn, type Json } from '../bodies/json.ts';
import type { ResponseRules, EndpointRow, TextRules } from './protocol.ts';
import { ANY_CALL } from './query.ts';

/** An endpoint of the usual kind: JSON in, charged by tokens. */
export function endpoint(
  path: string,
  callType: string,
  more: Partial<Omit<EndpointRow, 'path' | 'callType'>> = {},
): EndpointRow {
  return {
    path,
    callType,
    body: 'json',
    query: ANY_CALL,
    usageOnRequest: false,
    pricedBy: 'tokens',
    writes: false,
    counted: 'nothing',
    returnsStored: false,
    ...more,
  };
}

/** An endpoint of a model that reads and writes text. */
export function textEndpoint(path: string, callType: string, more: Partial<EndpointRow> = {}): EndpointRow {
  return endpoint(path, callType, { writes: true, counted: 'prompt and answer', ...more });
}

export const RESPONSE: ResponseRules = {
  members: new Set(['usage', 'id', 'model', 'error', 'meta', 'service_tier', 'duration']),
  answers: new Set(['choices', 'output', 'content', 'data', 'results', 'text', 'embeddings', 'segments']),
  isObject: true,
  usageMember: 'usage',
  modelMember: 'model',
  usageIn: (members) => objectIn(members, 'usage'),
};

/** Gateways take each other's requests, so the members of all of them are looked for. */
export const TEXT: Omit<TextRules, 'inEvent'> = {
  prompt: ['messages', 'input', 'instructions', 'system', 'prompt'],
  tools: ['tools', 'functions'],
  answer: ['choices', 'output', 'content'],
};

// Ordinary chunks carry `"usage":null` and `"finish_reason":null`; these are no markers, else all would be parsed.
export const USAGE_MARKER = 'usage"(?!\\s*:\\s*null)';
const ERROR_MARKER = 'error"(?!\\s*:\\s*null)|event: ?error';
const DONE_MARKER = '\\[DONE\\]';

/** Finds these texts, errors and `[DONE]`, which any upstream may send. */
export function markersOf(...texts: readonly string[]): RegExp {
  return new RegExp([...texts, ERROR_MARKER, DONE_MARKER].join('|'));
}

/** The data of the event that ends a stream. Servers are known that write a blank behind it. */
export const isDone = (data: string): boolean => data.trim() === '[DONE]';

/** Of 128 choices that OpenAI allows, the first ones are told apart. */
const MOST_BITS = 31;

/** A bit for each of these choices, or candidates, by its index. */
export function choiceBits(choices: readonly unknown[]): number {
  let bits = 0;
  for (const one of choices) bits |= choiceBit(Number(asObject(one)?.['index'] ?? 0));
  return bits;
}

export const choiceBit = (index: number): number => (index >= 0 && index < MOST_BITS ? 1 << index : 0);

/** A choice of an event has a text, a tool call or an end: anything beside its role. Without choices all is an answer. */
export function hasContent(event: Json): boolean {
  const choices = event['choices'];
  return !Array.isArray(choices) || choices.some(hasChoiceContent);
}

function hasChoiceContent(choice: unknown): boolean {
  if (choice === null || typeof choice !== 'object') return true;
  const { finish_reason: end, text, delta } = choice as Json;
  if (isSet(end) || isSet(text)) return true;
  const { role: _, ...rest } = (delta ?? {}) as Json;
  return Object.values(rest).some(isSet);
}

function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== null && value !== undefined && value !== '';
}
