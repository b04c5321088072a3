// Which thread of a conversation a request belongs to, and which conversation when it states none: by the beginning of its
// instructions, and by its first message of a user. Only the beginning of a request is read for it.
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
/** Farther from the beginning no first message is looked for. */
const FAR_BYTES = 262_144;
const MOST_ELEMENTS = 8;
const FIRST_BYTES = 16_384;

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

/** The first message of a user, or the beginning of a long one; without one, the beginning of all messages. */
export function firstUserMessage(body: Buffer, messages: Range, rules: ConversationRules): string | Buffer {
  if (body[messages.start] !== OPEN_BRACKET) return beginningOf(body, messages, FIRST_BYTES);
  openBody();
  const limit = Math.min(messages.end - 1, messages.start + FAR_BYTES);
  let start = skipSpace(body, messages.start + 1);
  for (let tries = 0; tries < MOST_ELEMENTS && start < limit; tries++) {
    const end = elementEnd(body, start, limit);
    const first = userMessage(body, { start, end }, rules);
    if (first !== null) return first;
    start = skipSpace(body, end + 1);
  }
  return beginningOf(body, messages, FIRST_BYTES);
}

function userMessage(body: Buffer, range: Range, rules: ConversationRules): string | Buffer | null {
  const { start, end } = range;
  if (end - start > FIRST_BYTES) {
    const beginning = beginningOf(body, range, FIRST_BYTES);
    return /"role"\s*:\s*"user"/.test(beginning.toString('latin1')) ? beginning : null;
  }
  const element = parseObject(body.toString('utf8', start, end));
  const piece = element === null ? undefined : rules.pieces(element).find(({ kind }) => kind === 'user');
  return piece?.kind === 'user' ? textOf(piece.content) : null;
}

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

/** The offset of the comma after the element at `at`, or of the end. */
function elementEnd(body: Buffer, at: number, limit: number): number {
  const stop: Stop = { at: 0, expected: '', tooDeep: false };
  let depth = 0;
  for (let i = at; i < limit; i++) {
    const c = body[i];
    if (c === QUOTE) {
      const after = skipString(body, i + 1, stop);
      if (after < 0) return limit;
      i = after - 1;
    } else if (c === 0x7b || c === OPEN_BRACKET) depth++;
    else if (c === 0x7d || c === 0x5d) depth--;
    else if (c === COMMA && depth === 0) return i;
  }
  return limit;
}
