// Which thread of a conversation a request belongs to, and which conversation when it states none: by the beginning of its
// instructions, and by what its user says first. Only the beginning of a request is read for it.
import type { Buffer } from 'node:buffer';
import type { Range } from '../../bodies/elements.ts';
import { parseObject } from '../../bodies/json.ts';
import { openBody, skipSpace, skipString, type Stop } from '../../bodies/json-skip.ts';
import { textOf } from './canonical.ts';
import type { ConversationRules } from '../../protocols/conversation.ts';

/** Instructions begin with what an agent is; a date or the state of a folder may follow. */
const INSTRUCTIONS_BYTES = 512;
/** The first line of Claude Code's instructions: its numbers differ in each request. */
const BILLING_LINE = /x-anthropic-billing-header:[^"\\]{0,256}/;
/** Farther from the beginning nothing of an opening is looked for: instructions may stand before it. */
const FAR_BYTES = 131_072;
const MOST_ELEMENTS = 8;
/** Of what the user says, which costs more. */
const SAID_BYTES = 32_768;
const MOST_SAID = 4;
const FIRST_BYTES = 16_384;
/** Of a message that is longer than all that is read. */
const CUT_CHARS = 8_192;
/** In which a message says whose it is, mostly. */
const ROLE_BYTES = 256;
/** Of a longer text, at either end. */
const END_CHARS = 1_024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;

/** The beginning of a request's instructions: of the first message, where they do not stand beside the messages. */
export function instructionsOf(
  body: Buffer,
  { messages, instructions }: { readonly messages: Range | null; readonly instructions: Range | null },
): string | Buffer {
  if (instructions !== null) {
    const beginning = beginningOf(body, instructions, 2 * INSTRUCTIONS_BYTES).toString('latin1');
    return beginning.replace(BILLING_LINE, '').slice(0, INSTRUCTIONS_BYTES);
  }
  if (messages === null) return body.subarray(0, 0);
  const { start, end } = messages;
  if (body[start] !== OPEN_BRACKET) return beginningOf(body, messages, INSTRUCTIONS_BYTES);
  return body.subarray(
    start + 1,
    shortElementEnd(body, start + 1, Math.min(end - 1, start + INSTRUCTIONS_BYTES)),
  );
}

const beginningOf = (body: Buffer, { start, end }: Range, bytes: number): Buffer =>
  body.subarray(start, Math.min(end, start + bytes));

/**
 * What a user says before the assistant speaks, or the ends of what is long: agents state their surroundings in a message of its
 * own before that of the user. Without one, the beginning of all messages.
 */
export function openingOf(body: Buffer, messages: Range, rules: ConversationRules): string {
  const beginning = (): string => beginningOf(body, messages, FIRST_BYTES).toString('latin1');
  if (body[messages.start] !== OPEN_BRACKET) return beginning();
  openBody();
  const limit = Math.min(messages.end - 1, messages.start + FAR_BYTES);
  let opening = '';
  let left = SAID_BYTES;
  let messagesSaid = 0;
  let start = skipSpace(body, messages.start + 1);
  for (let tries = 0; tries < MOST_ELEMENTS && messagesSaid < MOST_SAID && start < limit; tries++) {
    const role = FIRST_ROLE.exec(body.toString('latin1', start, start + ROLE_BYTES))?.[1];
    const isInstructing = role === 'system' || role === 'developer';
    const far = isInstructing || role === undefined ? limit : Math.min(limit, start + left);
    const end = elementEnd(body.subarray(0, far), start);
    const said = isInstructing
      ? ''
      : saidBy(body, { start, end }, end === far && far < messages.end - 1, rules);
    if (said === ANOTHER) break;
    if (said !== '') {
      messagesSaid += 1;
      opening += `${said}\n`;
      left -= end - start;
    }
    if (left <= 0) break;
    start = skipSpace(body, end + 1);
  }
  return opening === '' ? beginning() : opening;
}

/** Not a user's, nor of instructions. */
const ANOTHER = Symbol('another');

/** @param isCut the message goes on behind it */
function saidBy(
  body: Buffer,
  range: Range,
  isCut: boolean,
  rules: ConversationRules,
): string | typeof ANOTHER {
  const { start, end } = range;
  if (isCut) return cutText(body, range);
  if (end - start > FIRST_BYTES) return longText(body, range);
  const element = parseObject(body.toString('utf8', start, end));
  const [piece] = element === null ? [] : rules.pieces(element);
  if (piece === undefined) return '';
  return piece.kind === 'user' ? endsOf(textOf(piece.content)) : ANOTHER;
}

const USER_ROLE = /"role"\s*:\s*"user"/;
const FIRST_ROLE = /"role"\s*:\s*"(\w{1,20})"/;
const ASSISTANT_ROLE = /"role"\s*:\s*"(?:assistant|model|tool)"/;
const INSTRUCTING_ROLE = /"role"\s*:\s*"(?:system|developer)"/;
/** A client may write a text as a string now and as a block then, with a mark of the cache behind it or without. */
const TEXT_START = /"(?:text|content)"\s*:\s*"/;
const TEXT_END =
  /"?(?:,\s*"(?:cache_control|type|role)"\s*:\s*(?:\{[^{}]{0,99}\}|"[^"]{0,20}"))*[\s}\]]{0,20}$/;

/** Of a message whose end is too far: who says it may stand there. */
function cutText(body: Buffer, { start, end }: Range): string | typeof ANOTHER {
  const head = body.toString('latin1', start, Math.min(end, start + CUT_CHARS + END_CHARS));
  const text = TEXT_START.exec(head);
  if (text === null || ASSISTANT_ROLE.test(head.slice(0, ROLE_BYTES))) return ANOTHER;
  const from = text.index + text[0].length;
  return head.slice(from, from + CUT_CHARS);
}

/** Of a message that is not parsed for its length. */
function longText(body: Buffer, { start, end }: Range): string | typeof ANOTHER {
  const head = body.toString('latin1', start, start + 2 * END_CHARS);
  const tail = body.toString('latin1', end - END_CHARS - 256, end);
  const sides = `${head}${tail}`;
  if (INSTRUCTING_ROLE.test(sides)) return '';
  if (!USER_ROLE.test(sides)) return ANOTHER;
  const text = TEXT_START.exec(head);
  const from = text === null ? 0 : text.index + text[0].length;
  const cut = tail.slice(0, TEXT_END.exec(tail)?.index ?? tail.length);
  return `${head.slice(from, from + END_CHARS)}\n${cut.slice(-END_CHARS / 2)}`;
}

const endsOf = (text: string): string =>
  text.length <= 2 * END_CHARS ? text : `${text.slice(0, END_CHARS)}${text.length}${text.slice(-END_CHARS)}`;

const SUMMARY =
  /continued from a previous conversation|<state_snapshot>|summary of the conversation so far|(?:conversation|history) (?:so far )?(?:was|has been) (?:summari[sz]ed|compacted|condensed)/i;
const SUMMARY_BYTES = 65_536;

/** Whether messages begin with what an agent puts in the place of those that it has cut away. */
export const isSummary = (body: Buffer, messages: Range | null): boolean =>
  messages !== null && SUMMARY.test(beginningOf(body, messages, SUMMARY_BYTES).toString('latin1'));

/** As `elementEnd`, byte by byte: for the first few hundred. */
function shortElementEnd(body: Buffer, start: number, limit: number): number {
  let depth = 0;
  let inString = false;
  for (let i = start; i < limit; i++) {
    const c = body[i];
    if (inString) {
      if (c === BACKSLASH) i++;
      else if (c === QUOTE) inString = false;
    } else if (c === QUOTE) inString = true;
    else if (c === 0x7b || c === OPEN_BRACKET) depth++;
    else if (c === 0x7d || c === 0x5d) depth--;
    else if (c === COMMA && depth === 0) return i;
  }
  return limit;
}

/** The offset of the comma after the element at `at`, or of the end of what is looked at. */
function elementEnd(body: Buffer, at: number): number {
  const stop: Stop = { at: 0, expected: '', tooDeep: false };
  let depth = 0;
  for (let i = at; i < body.length; i++) {
    const c = body[i];
    if (c === QUOTE) {
      const after = skipString(body, i + 1, stop);
      if (after < 0) return body.length;
      i = after - 1;
    } else if (c === 0x7b || c === OPEN_BRACKET) depth++;
    else if (c === 0x7d || c === 0x5d) depth--;
    else if (c === COMMA && depth === 0) return i;
  }
  return body.length;
}
