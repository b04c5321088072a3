// `name` in messages of chat completions, for upstreams that take it in the answers of tools alone: Mistral answers 422 to
// any other, and to an empty one (github.com/BerriAI/litellm/issues/6696).
import { ElementsFromEnd } from '../bodies/elements.ts';
import { memberNamed, readString } from '../bodies/members.ts';
import { peek } from '../bodies/peek.ts';
import { cutsOf, type Cut } from '../bodies/splice.ts';
import type { ParsedRequest } from './parse-request.ts';

const WANTED = { names: new Set(['name', 'role']), prefixes: [] };

/** The cuts that take such names out. */
export function messageNameCuts({ members, body }: ParsedRequest): Cut[] {
  if (members.kind !== 'json') return [];
  const messages = memberNamed(members.peeked, 'messages');
  if (messages === undefined || body.bytes[messages.valueStart] !== OPEN_BRACKET) return [];
  const array = { start: messages.valueStart, end: messages.valueEnd };
  const elements = new ElementsFromEnd(body.bytes, array, Infinity);
  const cuts: Cut[] = [];
  for (let range = elements.next(); range !== null; range = elements.next()) {
    const { start, end } = range;
    for (const cut of inMessage(body.bytes.subarray(start, end)))
      cuts.push({ ...cut, start: start + cut.start, end: start + cut.end });
  }
  return cuts;
}

const OPEN_BRACKET = 0x5b;

function inMessage(message: Buffer): Cut[] {
  const peeked = peek(message, WANTED, Infinity);
  if (!peeked.ok) return []; // no object, or a name twice: for the upstream to refuse
  const name = memberNamed(peeked, 'name');
  const role = memberNamed(peeked, 'role');
  if (name === undefined) return [];
  const isTool = role !== undefined && readString(message, role) === 'tool';
  if (isTool && readString(message, name)?.trim() !== '') return [];
  return cutsOf(peeked, [{ kind: 'remove', member: name }]);
}
