// The turns of a conversation in the order that stricter protocols want: roles that alternate, the results of tools first and
// together in the turn after their calls.
import { asObject, exactObject, parseObject, type Json } from '../../bodies/json.ts';
import type { CallPart, ContentPart, Part, ResultPart, TextPart, Turn } from './form.ts';

/** A turn of a protocol that has two roles. */
export interface MergedTurn {
  readonly role: 'user' | 'assistant';
  readonly parts: readonly Part[];
}

/** `push(...)` takes its arguments from the stack, which a request of 100,000 parts would overflow. */
export function append<T>(list: T[], more: readonly T[]): void {
  for (const one of more) list.push(one);
}

/**
 * Neighbours of one role become one turn; instructions in the middle are said by the user; results stand first.
 * Turns without parts are left out.
 */
export function mergedTurns(turns: readonly Turn[]): readonly MergedTurn[] {
  const merged: { readonly role: 'user' | 'assistant'; readonly parts: Part[] }[] = [];
  for (const { role, parts } of turns) {
    const speaker = role === 'assistant' ? 'assistant' : 'user';
    const last = merged.at(-1);
    if (last?.role === speaker) append(last.parts, parts);
    else if (parts.length > 0) merged.push({ role: speaker, parts: [...parts] });
  }
  return merged.map(({ role, parts }) => ({ role, parts: role === 'user' ? resultsFirst(parts) : parts }));
}

/**
 * For a protocol that wants results right after their calls, with nothing between: neighbouring turns of the assistant become
 * one, and what stands between a call and its result follows the result.
 */
export function resultsAfterCalls(turns: readonly Turn[]): readonly Turn[] {
  const settled: { readonly role: Turn['role']; readonly parts: Part[] }[] = [];
  let others: Turn[] = [];
  const settleOthers = (): void => {
    const results = others.flatMap(({ parts }) => parts.filter(isResult));
    const rest = others
      .map(({ role, parts }) => ({ role, parts: parts.filter((part) => !isResult(part)) }))
      .filter(({ parts }) => parts.length > 0);
    // What the user says beside the results stays in one turn with them.
    const beside = results.length > 0 && rest[0]?.role === 'user' ? rest[0].parts : null;
    if (results.length > 0) settled.push({ role: 'user', parts: [...results, ...(beside ?? [])] });
    append(settled, beside === null ? rest : rest.slice(1));
    others = [];
  };
  for (const turn of turns) {
    const last = settled.at(-1);
    if (turn.role !== 'assistant') others.push(turn);
    else if (others.length === 0 && last?.role === 'assistant') append(last.parts, turn.parts);
    else {
      settleOthers();
      settled.push({ role: 'assistant', parts: [...turn.parts] });
    }
  }
  settleOthers();
  return settled;
}

function resultsFirst(parts: readonly Part[]): readonly Part[] {
  const results = parts.filter(({ kind }) => kind === 'result');
  return results.length === 0 ? parts : [...results, ...parts.filter(({ kind }) => kind !== 'result')];
}

/** Stands for a turn of which nothing can be carried: upstreams refuse empty ones, and without it the turns before would be the last. */
export const NOTHING_SAID = '...';

/** A conversation of protocols that begin with the user. */
export const OPENING: MergedTurn = { role: 'user', parts: [{ kind: 'text', text: NOTHING_SAID }] };

export function isResult(part: Part): part is ResultPart {
  return part.kind === 'result';
}

export function isCall(part: Part): part is CallPart {
  return part.kind === 'call';
}

export function isContent(part: Part): part is ContentPart {
  return part.kind === 'text' || part.kind === 'image' || part.kind === 'file';
}

/** Texts as one, a blank line between two. */
export function joinedTexts(parts: readonly TextPart[]): string {
  return parts.map(({ text }) => text).join('\n\n');
}

/**
 * The input of a call as an object. What is no JSON object is wrapped, as Anthropic's documentation does for inputs that a
 * model has written wrongly (fine-grained tool streaming), so that the tool's own check tells the model.
 */
export function inputObject({ form, input }: Pick<CallPart, 'form' | 'input'>): Json {
  if (form === 'text') return { input };
  if (input.trim() === '') return {};
  return exactObject(input) ?? { INVALID_JSON: input };
}

/** The input of a call as the text of a JSON object. */
export function inputJson(call: Pick<CallPart, 'form' | 'input'>): string {
  if (call.form === 'json' && asObject(parseObject(call.input)) !== null) return call.input;
  return JSON.stringify(inputObject(call));
}

/** The schema of a function that stands for a custom tool, and a description that holds its grammar. */
export function bridgedTool(
  description: string | null,
  format: Json | null,
): { schema: Json; description: string } {
  const definition = format?.['definition'];
  const grammar = typeof definition === 'string' ? `The input must match this grammar:\n${definition}` : '';
  return {
    schema: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool as text.' } },
      required: ['input'],
    },
    description: [description ?? '', grammar].filter((text) => text !== '').join('\n\n'),
  };
}
