// Signatures of thoughts by other vendors in a request that goes to its own protocol as it is. A conversation that was translated for a while (a
// fallback, another model) holds signatures under our prefix; its next upstream would refuse the whole call for one of them.
import { asObject, textIn, type Json } from '../../bodies/json.ts';
import { TextBeginnings } from '../../bodies/text-beginnings.ts';
import { camelMembers, camelName } from '../gemini-spelling.ts';
import type { Protocol } from '../protocol.ts';
import { FOREIGN_THOUGHT_BEGINNINGS, isForeignThoughtSignature, PLACEHOLDER } from './gemini/signatures.ts';
import { isGemini3 } from './models.ts';
import { FOREIGN_BEGINNINGS, isForeignSignature } from './signatures.ts';

/** The scan of a body looks for these, so that requests without them, nearly all, are not parsed for this. */
export const FOREIGN_SIGNATURES = new TextBeginnings([...FOREIGN_BEGINNINGS, ...FOREIGN_THOUGHT_BEGINNINGS]);

/** @param model the name that goes upstream @returns the request itself where it holds none */
export function withoutForeignSignatures({ name }: Protocol, request: Json, model: string): Json {
  switch (name) {
    case 'messages':
      return changed(request, 'messages', (message) => filtered(message, 'content', isOwnBlock));
    case 'chat':
      return changed(request, 'messages', (message) =>
        filtered(message, 'thinking_blocks', isOwnBlock, true),
      );
    case 'responses':
      return changed(request, 'input', (item) => (isForeign(item, 'encrypted_content') ? null : item));
    case 'gemini':
      return changed(request, 'contents', (content) =>
        changed(content, 'parts', (part) => withOwnSignature(part, model)),
      );
    default:
      return request;
  }
}

function isForeign(holder: Json, member: string): boolean {
  const field = textIn(holder, member);
  return field !== null && isForeignSignature(field);
}

const isOwnBlock = (block: Json): boolean => !isForeign(block, 'signature') && !isForeign(block, 'data');

/** With each object of a list changed; null leaves it out. The holder itself where each one stays as it is. */
function changed(holder: Json, member: string, change: (one: Json) => Json | null): Json {
  const list: unknown = holder[member];
  if (!Array.isArray(list)) return holder;
  const kept = list.map((one: unknown) => {
    const object = asObject(one);
    return object === null ? one : change(object);
  });
  if (kept.every((one, index) => one === list[index])) return holder;
  return { ...holder, [member]: kept.filter((one, index) => one !== null || list[index] === null) };
}

/** Without the objects of a list that do not fit; null when none is left, unless it `mayBeEmpty`. */
function filtered(
  holder: Json,
  member: string,
  fits: (one: Json) => boolean,
  mayBeEmpty = false,
): Json | null {
  const before: unknown = holder[member];
  const after = changed(holder, member, (one) => (fits(one) ? one : null));
  const left = after[member];
  if (mayBeEmpty || !Array.isArray(before) || !Array.isArray(left)) return after;
  return left.length === 0 && before.length > 0 ? null : after;
}

/** Gemini 3 wants some signature on a call. */
function withOwnSignature(part: Json, model: string): Json {
  const own = Object.entries(part).filter(
    ([name, value]) =>
      !(
        camelName(name) === 'thoughtSignature' &&
        typeof value === 'string' &&
        isForeignThoughtSignature(value)
      ),
  );
  if (own.length === Object.keys(part).length) return part;
  const isCall = asObject(camelMembers(part)['functionCall']) !== null;
  const signature = isCall && isGemini3(model) ? { thoughtSignature: PLACEHOLDER } : {};
  return { ...Object.fromEntries(own), ...signature };
}
