// Failures on the way between protocols: what an upstream states of one, what the proxy itself found, and the words of each
// protocol for a status.
import type { Buffer } from 'node:buffer';
import { MOST_BUILT_VALUES } from '../../bodies/members.ts';
import { holdsMoreValues } from '../../bodies/peek.ts';
import { Fault } from '../../errors/fault.ts';
import {
  asObject,
  identifierIn,
  isFilled,
  parseJson,
  parseObject,
  textIn,
  type Json,
} from '../../bodies/json.ts';
import { statusOfWord } from '../google-words.ts';
import { isDone } from '../openai.ts';
import { isStatus, reasonOf, statedStatus } from '../upstream-error.ts';
import type { AnswerError } from './form.ts';

/** Of a page of HTML or a trace, so much is shown. */
const MOST_CHARS = 2_000;
/** Anthropic's status for an upstream that is overloaded; other protocols know 503. */
export const OVERLOADED = 529;

/** An upstream's answer is not one of its protocol. */
export function badAnswer(why: string): Fault {
  return new Fault('bad_upstream_answer', `The answer of the upstream cannot be translated: ${why}`);
}

/** Texts, thoughts and calls of one answer: each becomes several events of 200 bytes and more. */
const MOST_PARTS = 5_000;

/** Why an answer of an upstream's, or an event of its stream, is not built at all, while everybody waits; null: it may be. */
export function tooComplex(json: Buffer | string): Fault | null {
  return holdsMoreValues(json, MOST_BUILT_VALUES)
    ? badAnswer(`it holds more than ${MOST_BUILT_VALUES} values.`)
    : null;
}

/**
 * Of a stream, `PartSequence` counts the parts; of a whole answer, its reader the list before it is read, and `settledAnswer` all of them.
 * @throws Fault for an answer of more parts than any has
 */
export function checkParts(count: number): void {
  if (count > MOST_PARTS) throw badAnswer(`it has more than ${MOST_PARTS} parts.`);
}

/** The error that a body or an event holds; null when it has none. */
export function readFailure(json: Json | null): AnswerError | null {
  const inner = json?.['error'];
  if (typeof inner === 'string' && inner !== '')
    return withReason({ message: inner, type: null, code: identifierIn(json, 'code'), param: null });
  const holder = asObject(inner) ?? null;
  if (holder === null || !isFilled(holder)) return null;
  return withReason({
    message:
      textIn(holder, 'message') ?? textIn(holder, 'detail') ?? JSON.stringify(holder).slice(0, MOST_CHARS),
    type: wordIn(holder, 'type') ?? identifierIn(holder, 'status'),
    code: wordIn(holder, 'code'),
    param: wordIn(holder, 'param'),
  });
}

/** LiteLLM writes what it does not know as the text `None`. */
function wordIn(holder: Json, key: string): string | null {
  const word = key === 'param' ? textIn(holder, key) : identifierIn(holder, key);
  return word === 'None' ? null : word;
}

/** OpenAI's clients go by the code that others state in their text alone; Codex then says that its context is full. */
function withReason(error: AnswerError): AnswerError {
  const { message, type, code } = error;
  return reasonOf({ message, type: type ?? '', code: code ?? '' }) === 'context_window'
    ? { ...error, type: 'invalid_request_error', code: 'context_length_exceeded' }
    : error;
}

/** The error of an answer whose status is one: never without a message. */
export function failureOfBody(status: number, text: string): AnswerError {
  const parsed = parseJson(text);
  // Gemini's OpenAI-compatible API and its streams wrap the object in a list.
  const json = asObject(Array.isArray(parsed) ? parsed[0] : parsed);
  const stated = readFailure(json);
  if (stated !== null) return stated;
  const message = textIn(json, 'message') ?? textIn(json, 'detail') ?? textIn(json, 'error_description');
  const plain = parsed === undefined ? text.trim().slice(0, MOST_CHARS) : '';
  return withReason({
    message: message ?? (plain === '' ? `The upstream answered with status ${status}.` : plain),
    type: identifierIn(json, 'type'),
    code: identifierIn(json, 'code'),
    param: null,
  });
}

export function failureOfFault(fault: Fault): AnswerError {
  const { message, type, code, param } = fault;
  return { message, type, code, param };
}

/** An event's data as an object; null for `[DONE]` and empty data. @throws Fault for what is no JSON object */
export function eventObject(data: string): Json | null {
  if (data.trim() === '' || isDone(data)) return null;
  return parseObject(data) ?? parseFailed();
}

function parseFailed(): never {
  throw badAnswer('an event of its stream is not a JSON object.');
}

/** Codex acts on them. */
const CODES_OF_OPENAI: ReadonlyMap<number, string> = new Map([
  [429, 'rate_limit_exceeded'],
  [503, 'server_is_overloaded'],
]);

/** An error in OpenAI's words, by which clients decide; a status is none of its codes. @param status null: of a stream */
export function openAiError(error: AnswerError, status: number | null): AnswerError {
  const { type, code } = error;
  const stated = statedStatus(error);
  const isGoogles = statusOfWord(type) !== null;
  return {
    ...error,
    type: isGoogles || type === null ? openAiType(stated ?? status ?? 500) : type,
    code: isGoogles || isStatus(code) ? (CODES_OF_OPENAI.get(stated ?? 0) ?? null) : code,
  };
}

/** The body of such an error. */
export function writeOpenAiError(status: number, error: AnswerError): Json {
  const { message, type, code, param } = openAiError(error, status);
  return { error: { message, type, param, code } };
}

/** OpenAI's names of kinds of errors (platform.openai.com/docs/guides/error-codes). */
function openAiType(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    case 429:
      return 'rate_limit_error';
    case 408:
    case 504:
      return 'timeout_error';
    default:
      return status >= 500 ? 'server_error' : 'invalid_request_error';
  }
}
