// Reads the contents of a Gemini request. Its calls often have no id: results belong to the first call of their name that has
// none yet. That holds for results with an id as well, since Gemini CLI gives ids to the calls that have none, and states them with
// the results alone (github.com/google-gemini/gemini-cli/issues/6974).
import { isStated, type Json } from '../../../bodies/json.ts';
import { camelMembers } from '../../gemini-spelling.ts';
import type { ContentPart, Media, Part, Signature, TextPart, ThinkingPart, Turn } from '../form.ts';
import type { Losses } from '../losses.ts';
import { mediaOfUrl } from '../media.ts';
import {
  invalid,
  objectOf,
  optionalFlag,
  optionalList,
  optionalText,
  requiredText,
  textOf,
} from '../read.ts';
import { PLACEHOLDER, readThoughtSignature } from './signatures.ts';
import { objectsIn } from './lists.ts';

interface WaitingCall {
  readonly id: string;
  readonly isInvented: boolean;
}

export class ContentReader {
  readonly #losses: Losses;
  /** Calls that wait for their results, by name. */
  readonly #waiting = new Map<string, WaitingCall[]>();
  #calls = 0;
  /** Where the first thought since the last signature stands in its turn; null: there is none. */
  #unsigned: number | null = null;

  constructor(losses: Losses) {
    this.#losses = losses;
  }

  /** Google's SDK keeps a content per frame of a stream: neighbours of the model are one turn, and pieces of a text one text. */
  turns(contents: readonly unknown[]): readonly Turn[] {
    const turns: { readonly role: Turn['role']; readonly parts: Part[] }[] = [];
    for (const [index, one] of contents.entries()) {
      const path = `contents[${index}]`;
      const content = objectOf(one, path);
      const role = optionalText(content, 'role', path) ?? 'user';
      if (!['user', 'model', 'function', 'system'].includes(role)) invalid(`${path}.role`, 'user or model');
      const isModel = role === 'model';
      const last = turns.at(-1);
      const isNext = !isModel || last?.role !== 'assistant';
      const turn = isNext ? { role: isModel ? ('assistant' as const) : ('user' as const), parts: [] } : last;
      if (isNext) {
        turns.push(turn);
        this.#unsigned = null;
      }
      this.#readParts(content, path, turn.parts, isModel);
    }
    return turns;
  }

  #readParts(content: Json, path: string, parts: Part[], isModel: boolean): void {
    for (const [index, one] of objectsIn(content, 'parts', path).entries()) {
      const at = `${path}.parts[${index}]`;
      const part = typeof one === 'string' ? { text: one } : camelMembers(objectOf(one, at));
      const field = optionalText(part, 'thoughtSignature', at);
      const signature = field === PLACEHOLDER ? null : readThoughtSignature(field);
      const read = this.#readPart(part, at);
      if (read?.kind === 'thinking') {
        add({ ...read, signature }, parts, isModel);
        if (signature === null) this.#unsigned ??= parts.length - 1;
      } else {
        if (signature !== null) this.#sign(signature, parts);
        if (read !== null) add(read, parts, isModel);
      }
    }
  }

  /**
   * A signature stands on what a thought led to. Gemini's own belongs to what comes next; that of another vendor to its
   * thought, which stood before the texts.
   */
  #sign(signature: Signature, parts: Part[]): void {
    const place = signature.origin === 'gemini' ? parts.length - 1 : this.#unsigned;
    const thought = place === null ? undefined : parts[place];
    if (place !== null && thought?.kind === 'thinking' && thought.signature === null)
      parts.splice(place, 1, { ...thought, signature });
    else parts.push({ kind: 'thinking', text: '', signature });
    this.#unsigned = null;
  }

  #readPart(part: Json, path: string): Part | null {
    if (isStated(part['text'])) return textPart(part, path);
    if (isStated(part['inlineData']) || isStated(part['fileData']))
      return readMedia(part, path, this.#losses);
    if (isStated(part['functionCall'])) return this.#readCall(part['functionCall'], `${path}.functionCall`);
    if (isStated(part['functionResponse']))
      return this.#readResult(part['functionResponse'], `${path}.functionResponse`);
    const [name] = Object.keys(part);
    if (name !== undefined && name !== 'thoughtSignature' && name !== 'thought')
      this.#losses.cannot(
        `contents.parts.${name.slice(0, 40)}`,
        'parts of this kind are of the vendor alone.',
      );
    return null;
  }

  #readCall(value: unknown, path: string): Part {
    const call = objectOf(value, path);
    const name = requiredText(call, 'name', path);
    this.#calls++;
    const stated = optionalText(call, 'id', path);
    const id = stated ?? `call_${this.#calls}_${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 40)}`;
    const waiting = this.#waiting.get(name) ?? [];
    waiting.push({ id, isInvented: stated === null });
    this.#waiting.set(name, waiting);
    const args = isStated(call['args']) ? objectOf(call['args'], `${path}.args`) : {};
    return { kind: 'call', id, name, namespace: null, form: 'json', input: JSON.stringify(args) };
  }

  #readResult(value: unknown, path: string): Part {
    const result = camelMembers(objectOf(value, path));
    const name = requiredText(result, 'name', path);
    const waiting = this.#waiting.get(name) ?? [];
    const stated = optionalText(result, 'id', path);
    const named = stated === null ? 0 : waiting.findIndex(({ id }) => id === stated);
    const place = named < 0 ? waiting.findIndex(({ isInvented }) => isInvented) : named;
    const [taken] = place < 0 ? [] : waiting.splice(place, 1);
    const response = isStated(result['response']) ? objectOf(result['response'], `${path}.response`) : {};
    const media = optionalList(result, 'parts', path).flatMap((one, index) => {
      const at = `${path}.parts[${index}]`;
      return readMedia(camelMembers(objectOf(one, at)), at, this.#losses);
    });
    return {
      kind: 'result',
      id: taken?.id ?? stated ?? '',
      name,
      form: 'json',
      parts: [...responseTexts(response), ...media],
      isError: isStated(response['error']),
    };
  }
}

function add(part: Part, parts: Part[], isJoined: boolean): void {
  const last = parts.at(-1);
  const isText = isJoined && part.kind === 'text' && last?.kind === 'text';
  const isThought =
    isJoined && part.kind === 'thinking' && last?.kind === 'thinking' && last.signature === null;
  if (isText || isThought) parts.splice(-1, 1, { ...last, ...part, text: last.text + part.text });
  else parts.push(part);
}

function textPart(part: Json, path: string): TextPart | ThinkingPart | null {
  const text = textOf(part['text'], `${path}.text`);
  if (text === '') return null;
  return optionalFlag(part, 'thought', path) === true
    ? { kind: 'thinking', text, signature: null }
    : { kind: 'text', text };
}

/** `output` and `error` are the members that Google recommends; any other object is shown as JSON. */
function responseTexts(response: Json): readonly TextPart[] {
  const { output, error, result } = response;
  const value = error ?? output ?? (Object.keys(response).length === 1 ? result : null) ?? response;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' || text === '{}' ? [] : [{ kind: 'text', text }];
}

function readMedia(part: Json, path: string, losses: Losses): ContentPart {
  const media = mediaOf(part, path, losses);
  return media.type?.startsWith('image/') === true
    ? { kind: 'image', media, detail: null }
    : { kind: 'file', media, name: null };
}

function mediaOf(part: Json, path: string, losses: Losses): Media {
  if (isStated(part['inlineData'])) {
    const at = `${path}.inlineData`;
    const data = camelMembers(objectOf(part['inlineData'], at));
    return { kind: 'data', type: requiredText(data, 'mimeType', at), base64: requiredText(data, 'data', at) };
  }
  const at = `${path}.fileData`;
  const file = camelMembers(objectOf(part['fileData'], at));
  const url = requiredText(file, 'fileUri', at);
  losses.checkAddress(url, `${at}.fileUri`);
  return mediaOfUrl(url, optionalText(file, 'mimeType', at)) ?? invalid(`${at}.fileUri`, 'an address');
}
