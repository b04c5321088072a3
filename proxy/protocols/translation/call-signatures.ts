// Gemini's signature of a call, where chat completions and responses carry it: LiteLLM puts it behind the id
// (`call_1__thought__<base64>`, litellm_core_utils/prompt_templates/factory.py), since clients keep ids and drop members that they do
// not know; Google's own API for OpenAI's clients has a member for it (ai.google.dev/gemini-api/docs/thought-signatures). In the
// intermediate form it is that of a thought without a text before the call.
import { objectIn, textIn, type Json } from '../../bodies/json.ts';
import { openAiCallId } from './call-ids.ts';
import type { Part, Signature, ThinkingPart, Turn } from './form.ts';
import { isGemini3 } from './models.ts';
import { digest } from './tool-names.ts';

const SEPARATOR = '__thought__';
/** An id whose foreign characters were replaced on its way holds a signature that Gemini would refuse. */
const BASE64 = /^[a-zA-Z0-9+/]+={0,2}$/;

/** The id of a call of chat completions with the signature that a member of the call states. */
export function withCallSignature(id: string, call: Json | null): string {
  if (id.includes(SEPARATOR)) return id;
  const data =
    textIn(objectIn(objectIn(call, 'extra_content'), 'google'), 'thought_signature') ??
    textIn(objectIn(call, 'provider_specific_fields'), 'thought_signature');
  return data === null ? id : id + SEPARATOR + data;
}

/** The id without the signature; the same for a call and its result, whichever of them has it. */
function plainId(id: string): string {
  const end = id.indexOf(SEPARATOR);
  if (end < 0) return id;
  return end === 0 ? `call_${digest(id, 28)}` : id.slice(0, end);
}

function signatureIn(id: string): Signature | null {
  const at = id.indexOf(SEPARATOR);
  const data = at < 0 ? '' : id.slice(at + SEPARATOR.length);
  return BASE64.test(data) ? { origin: 'gemini', data } : null;
}

/** A call, or its opening, without the signature in its id, and the thought that has it. */
export function unsigned<T extends { readonly id: string }>(
  call: T,
): { readonly call: T; readonly signature: Signature | null } {
  const id = plainId(call.id);
  return id === call.id
    ? { call, signature: null }
    : { call: { ...call, id }, signature: signatureIn(call.id) };
}

export const thoughtOf = (signature: Signature): ThinkingPart => ({ kind: 'thinking', text: '', signature });

/** A conversation whose calls have their signatures in thoughts. */
export function withPlainIds(turns: readonly Turn[]): readonly Turn[] {
  if (!turns.some(({ parts }) => parts.some(hasSignedId))) return turns;
  const ids = new PlainIds();
  return turns.map((turn) => {
    const plain = (part: Part, index: number): readonly Part[] =>
      plainParts(part, turn.parts[index - 1], ids);
    return { ...turn, parts: turn.parts.flatMap(plain) };
  });
}

const hasSignedId = (part: Part): boolean =>
  (part.kind === 'call' || part.kind === 'result') && part.id.includes(SEPARATOR);

/**
 * The ids of one conversation without signatures. A server that counts the calls of each answer has `call_0` in many of them, and only
 * the signatures tell these apart: those after the first get a hash of theirs, which is the same on every turn.
 */
class PlainIds {
  /** Of calls with a signature, by the id as it is stated. */
  readonly #signed = new Map<string, string>();
  /** Of the latest call, by the id without a signature. */
  readonly #latest = new Map<string, string>();

  ofCall(stated: string): string {
    const plain = plainId(stated);
    const isTaken = stated !== plain && this.#latest.has(plain);
    const id = this.#signed.get(stated) ?? (isTaken ? `${plain}_${digest(stated, 12)}` : plain);
    if (stated !== plain) this.#signed.set(stated, id);
    this.#latest.set(plain, id);
    return id;
  }

  /** Whichever of a call and its result has the signature. */
  ofResult(stated: string): string {
    const plain = plainId(stated);
    return this.#signed.get(stated) ?? this.#latest.get(plain) ?? plain;
  }
}

/** What a member of its own states stands before the call already. */
function plainParts(part: Part, before: Part | undefined, ids: PlainIds): readonly Part[] {
  if (part.kind === 'result') return [{ ...part, id: ids.ofResult(part.id) }];
  if (part.kind !== 'call') return [part];
  const call = { ...part, id: ids.ofCall(part.id) };
  const signature = signatureIn(part.id);
  const isSigned = before?.kind === 'thinking' && before.signature?.origin === 'gemini';
  return signature === null || isSigned ? [call] : [thoughtOf(signature), call];
}

/** Signatures that go upstream with their calls, by the plain ids of these: another server stands before the Gemini that made them. */
export function callSignatures(turns: readonly Turn[], model: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!isGemini3(model)) return found;
  for (const { parts } of turns) {
    let signature: Signature | null = null;
    for (const part of parts) {
      if (part.kind === 'thinking')
        signature = part.signature?.origin === 'gemini' ? part.signature : signature;
      else {
        if (part.kind === 'call' && signature !== null) found.set(part.id, signature.data);
        if (part.kind === 'call' || part.kind === 'text') signature = null;
      }
    }
  }
  return found;
}

/** A thought that is a signature alone: it goes upstream with its call. */
export const isCarriedByCall = ({ text, signature }: ThinkingPart, model: string): boolean =>
  text === '' && signature?.origin === 'gemini' && isGemini3(model);

/** The id that goes upstream in OpenAI's protocols. */
export function sentCallId(id: string, model: string, signatures: ReadonlyMap<string, string>): string {
  const data = signatures.get(id);
  const sent = openAiCallId(id, model);
  return data === undefined ? sent : sent + SEPARATOR + data;
}
