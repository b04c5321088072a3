// Reads the last turns of a request from its end: one turn is what the assistant said and called, and all that came back
// after it. Of a request of 440 KB only the last messages are looked at, and of what they say only digests are kept.
import type { Buffer } from 'node:buffer';
import { abridged, ElementsFromEnd, type Range } from '../../bodies/elements.ts';
import { parseObject } from '../../bodies/json.ts';
import type { ConversationRules, Piece } from '../../protocols/conversation.ts';
import { canonicalInput, canonicalText, errorClassOf, textOf } from './canonical.ts';
import type { Digests } from './digests.ts';

/** A call of a tool with what it returned, as digests; 0 = none. */
export interface Step {
  readonly call: number;
  /** Of call and result together. */
  readonly pair: number;
  /** Of the kind of error that the result reports. */
  readonly error: number;
  /** It has failed, and its input does not say that it waits: what it took it has worked. */
  readonly isFailedWork: boolean;
}

export interface Turn {
  /** Where it begins, in bytes from the beginning of the messages. */
  readonly start: number;
  /** In the order of the request; without exempt tools. */
  readonly steps: readonly Step[];
  /** Of the calls as they were sent, ids included: two turns with one digest are one turn that is sent again. */
  readonly sent: number;
  /** Of what it says, without what changes: of messages of the assistant in a row the last one. */
  readonly said: () => number;
  /** Of what the user says in it; 0 = nothing. */
  readonly user: number;
  readonly hasAssistant: boolean;
  /** All its calls are of exempt tools. */
  readonly isExempt: boolean;
}

/** How a conversation is read. */
interface Reading {
  readonly rules: ConversationRules;
  readonly digests: Digests;
  readonly isExempt: (tool: string) => boolean;
  readonly ignored: ReadonlySet<string>;
}

/** Farther from the end nothing is read: 1 ms of work at most, whatever a client sends. */
const MOST_BYTES = 1_048_576;
const MOST_ELEMENTS = 256;
/** An element that is longer has its long strings cut before it is parsed. */
const WHOLE_BYTES = 32_768;
/** Of a longer one that stays long nothing is known. */
const PARSED_BYTES = 131_072;

export class TurnsFromEnd {
  readonly #body: Buffer;
  readonly #array: Range;
  readonly #reading: Reading;
  readonly #elements: ElementsFromEnd;
  readonly #read: Turn[] = [];
  #held: { readonly range: Range; readonly pieces: readonly Piece[] } | null = null;
  #elementCount = 0;
  #isOver = false;

  constructor(body: Buffer, array: Range, reading: Reading) {
    this.#body = body;
    this.#array = array;
    this.#reading = reading;
    this.#elements = new ElementsFromEnd(body, array, MOST_BYTES);
  }

  /** The turn that stands so many before the last one; null: there is none. */
  before(last: number): Turn | null {
    while (this.#read.length <= last && !this.#isOver) {
      const turn = this.#nextTurn();
      if (turn === null) this.#isOver = true;
      else this.#read.push(turn);
    }
    return this.#read[last] ?? null;
  }

  /** Of what the last turn says; where the assistant has spoken last, with what it has answered. */
  said(): number {
    const last = this.before(0);
    if (last === null) return 0;
    if (last.user !== 0 || last.steps.length > 0) return last.said();
    const answered = this.before(1)?.said() ?? 0;
    return this.#reading.digests.of('said', String(last.said()), String(answered));
  }

  #nextTurn(): Turn | null {
    const found: Piece[] = []; // last first
    let hasAssistant = false;
    let start = -1;
    for (let one = this.#next(); one !== null; one = this.#next()) {
      const { pieces } = one;
      const answers = pieces.some(({ kind }) => kind === 'result' || kind === 'user');
      if (hasAssistant && answers) {
        this.#held = one;
        break;
      }
      hasAssistant ||= pieces.some(({ kind }) => kind === 'assistant' || kind === 'call');
      found.push(...pieces.toReversed());
      start = one.range.start - this.#array.start;
    }
    return start < 0 ? null : turnOf(found.reverse(), start, hasAssistant, this.#reading);
  }

  #next(): { readonly range: Range; readonly pieces: readonly Piece[] } | null {
    const held = this.#held;
    this.#held = null;
    if (held !== null) return held;
    const range = this.#elementCount++ < MOST_ELEMENTS ? this.#elements.next() : null;
    return range === null ? null : { range, pieces: this.#piecesOf(range) };
  }

  #piecesOf(range: Range): readonly Piece[] {
    const { digests, rules } = this.#reading;
    const isLong = range.end - range.start > WHOLE_BYTES;
    const text = isLong
      ? abridged(this.#body, range, digests.hex)
      : this.#body.toString('utf8', range.start, range.end);
    const element = text.length > PARSED_BYTES ? null : parseObject(text);
    return element === null ? [] : rules.pieces(element);
  }
}

/** A text in place of messages: what the user says. */
export function turnOfText(body: Buffer, range: Range, digests: Digests): Turn {
  const { start, end } = range;
  const said =
    end - start > PARSED_BYTES
      ? body.subarray(start, end)
      : canonicalText(body.toString('utf8', start + 1, end - 1));
  const user = digests.of('user', said);
  return { start: 0, steps: [], sent: 0, said: () => user, user, hasAssistant: false, isExempt: false };
}

/** A result of a tool, as it is compared. */
interface Returned {
  /** Of its call. */
  readonly id: string;
  readonly digest: string;
  readonly error: number;
}

function turnOf(pieces: readonly Piece[], start: number, hasAssistant: boolean, reading: Reading): Turn {
  const { digests } = reading;
  const all = pieces.flatMap((one) => (one.kind === 'result' ? [returned(one, digests)] : []));
  const results = Map.groupBy(all, ({ id }) => id);
  const shown = all.values();
  const steps: Step[] = [];
  const sent: string[] = [];
  const said: string[] = [];
  let user = 0;
  let called = 0;
  let exempt = 0;
  for (const piece of pieces) {
    if (piece.kind === 'call') {
      called += 1;
      const { id, name } = piece;
      const input = canonicalInput(piece.input, reading.ignored);
      sent.push(id, name, input);
      said.push(name, input);
      const result = results.get(id)?.shift(); // some calls have no id of their own
      if (reading.isExempt(name)) exempt += 1;
      else if (result !== undefined) steps.push(stepOf(name, input, result, digests));
    } else if (piece.kind === 'result') {
      said.push(shown.next().value?.digest ?? '');
    } else {
      const text = canonicalText(textOf(piece.content));
      // An assistant that speaks again and again without an answer: what it said last is compared.
      if (piece.kind === 'assistant' && called === 0) said.length = 0;
      said.push(piece.kind, text);
      if (piece.kind === 'user') user = digests.of('user', text);
    }
  }
  const digestOf = (kind: string, texts: readonly string[]): number =>
    texts.length === 0 ? 0 : digests.of(kind, ...texts);
  return {
    start,
    steps,
    sent: digestOf('sent', sent),
    said: () => digestOf('said', said),
    user,
    hasAssistant,
    isExempt: called > 0 && exempt === called,
  };
}

function returned({ id, content, isError }: Extract<Piece, { kind: 'result' }>, digests: Digests): Returned {
  const text = textOf(content);
  const error = errorClassOf(text, isError);
  return {
    id,
    digest: digests.hex(canonicalText(text)),
    error: error === null ? 0 : digests.of('error', error),
  };
}

const stepOf = (name: string, input: string, { digest, error }: Returned, digests: Digests): Step => ({
  call: digests.of('call', name, input),
  pair: digests.of('pair', name, input, digest),
  error,
  isFailedWork: error !== 0 && !WAITS.test(`${name} ${input.slice(0, WAITS_CHARS)}`),
});

/** `sleep 30; curl ...`, `kubectl wait`, `wait_for_build`; not `await`. */
const WAITS = /(?:^|[^a-z])(?:sleep|wait)/i;
const WAITS_CHARS = 2_048;
