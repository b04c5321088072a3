// Writes the name that the caller asked for in place of the model that an answer states, where `answer_model: asked` wants it: clients
// go by it (Claude Code drops the signed thoughts of any other model). Every other byte stays, and so does an answer that
// states no model, or another shape than its protocol has.
import { Buffer } from 'node:buffer';
import { readString } from '../bodies/members.ts';
import { copyWithCuts } from '../bodies/splice.ts';
import { jsonSpan, valueSpan, type Span } from './event-span.ts';
import type { EventRules, ResponseRules } from './protocol.ts';

/** The document with the model `asked`; null: it stays as it is. */
export function withAskedModel(
  document: Buffer,
  { modelMember }: ResponseRules,
  asked: string,
): Buffer | null {
  const span = valueSpan(document, { start: 0, end: document.length }, [modelMember]);
  const model = span === null ? null : modelAt(document, span);
  if (span === null || model === null || model === asked) return null;
  return copyWithCuts(document, [{ ...span, insert: [JSON.stringify(asked)] }]);
}

/** Bytes of an event that hold its model, as they came (latin1) and as they go out. */
interface Part {
  readonly came: string;
  readonly goes: Buffer;
}

/** Of one stream. */
export class AskedModel {
  readonly #path: EventRules['modelPath'];
  readonly #isStatedOnce: boolean;
  /** What an event with a model holds. */
  readonly #marker: string;
  readonly #asked: string;
  readonly #written: string;
  /**
   * What stood before the model of an earlier event, and the model: an event that begins alike has it there, too. So do those of
   * a chat, and their JSON need not be looked through again, which takes five times as long.
   */
  #beginning: Part | null = null;
  /**
   * Likewise the model's member and all behind it, for a model that stands behind the answer, as Gemini's. It closes the one
   * object around it, so in another event it cannot stand deeper; nor in a text, where its quotes would be escaped, which is
   * why the byte before it belongs to it.
   */
  #ending: Part | null = null;
  /** Nothing is to be changed any more. */
  isDone = false;

  constructor({ modelPath, modelIsStatedOnce = false }: EventRules, asked: string) {
    this.#path = modelPath;
    this.#isStatedOnce = modelIsStatedOnce;
    this.#marker = `"${modelPath.at(-1)}"`;
    this.#asked = asked;
    this.#written = JSON.stringify(asked);
  }

  /** The event with the asked model; null: it stays as it is. @param scan its bytes as latin1 */
  in(event: Buffer, scan: string): Buffer | null {
    const [beginning, ending] = [this.#beginning, this.#ending];
    if (beginning !== null && scan.startsWith(beginning.came))
      return Buffer.concat([beginning.goes, event.subarray(beginning.came.length)]);
    if (ending !== null && scan.endsWith(ending.came))
      return Buffer.concat([event.subarray(0, event.length - ending.came.length), ending.goes]);
    if (!scan.includes(this.#marker)) return null;
    const json = jsonSpan(scan);
    const span = json === null ? null : valueSpan(event, json, this.#path);
    const model = span === null ? null : modelAt(event, span);
    if (span === null || model === null) return null;
    // An upstream whose first event has this name calls the model so.
    this.isDone = this.#isStatedOnce || model === this.#asked;
    if (model === this.#asked) return null;
    if (!this.isDone) this.#remember(event, scan, span);
    return copyWithCuts(event, [{ ...span, insert: [this.#written] }]);
  }

  #remember(event: Buffer, scan: string, { start, end }: Span): void {
    const part = (from: number, to: number): Part => ({
      came: event.toString('latin1', from, to), // a copy: a part of `scan` would keep all of its chunk
      goes: copyWithCuts(event.subarray(from, to), [
        { start: start - from, end: end - from, insert: [this.#written] },
      ]),
    });
    this.#beginning = part(0, end);
    const nameAt = scan.lastIndexOf(this.#marker, start);
    const isName = nameAt >= 0 && scan.slice(nameAt + this.#marker.length, start).trim() === ':';
    this.#ending = this.#path.length === 1 && isName ? part(nameAt - 1, event.length) : null;
  }
}

/** null: none is stated. Azure's first event has an empty one. */
function modelAt(bytes: Buffer, { start, end }: Span): string | null {
  const text = readString(bytes, { valueStart: start, valueEnd: end });
  return text === undefined || text === '' ? null : text;
}
