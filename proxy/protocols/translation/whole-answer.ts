// Between whole answers and streams, for an upstream that does not answer in the form that was asked for.
import type { Json } from '../../bodies/json.ts';
import type { Tokens } from '../usage.ts';
import type { EventWriter } from './dialect.ts';
import { badAnswer } from './failures.ts';
import type { Answer, AnswerEvent, AnswerPart, PartOpening, Signature } from './form.ts';
import { inputJson } from './turns.ts';

/** The events that would have told the answer. */
export function eventsOf({ id, parts, end, tokens }: Answer): readonly AnswerEvent[] {
  return [{ kind: 'start', id, tokens }, ...parts.flatMap(partEvents), { kind: 'end', end, tokens }];
}

function partEvents(part: AnswerPart): readonly AnswerEvent[] {
  const text = textOf(part);
  const signature = part.kind === 'thinking' ? part.signature : null;
  return [
    { kind: 'part-start', part: openingOf(part) },
    ...(text === '' ? [] : [{ kind: 'part-delta', text } as const]),
    ...(signature === null ? [] : [{ kind: 'part-signature', signature } as const]),
    { kind: 'part-end' },
  ];
}

function openingOf(part: AnswerPart): PartOpening {
  if (part.kind !== 'call') return { kind: part.kind };
  const { kind, id, name, namespace, form } = part;
  return { kind, id, name, namespace, form };
}

/** An input that is no JSON object is wrapped, as in a whole answer: no event could say that it is none. */
function textOf(part: AnswerPart): string {
  if (part.kind !== 'call') return part.text;
  return part.form === 'text' ? part.input : inputJson(part);
}

interface OpenPart {
  readonly opening: PartOpening;
  readonly texts: string[];
  signature: Signature | null;
}

/** Puts a stream together for a caller that asked for none: says nothing until its end, and then the whole answer. */
export class AnswerCollector implements EventWriter {
  readonly holdsCalls = true;
  readonly #write: (answer: Answer) => Json;
  #id: string | null = null;
  readonly #parts: AnswerPart[] = [];
  #open: OpenPart | null = null;

  constructor(write: (answer: Answer) => Json) {
    this.#write = write;
  }

  /** @throws Fault for an error, which is no answer */
  write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'start':
        this.#id = event.id;
        return '';
      case 'part-start':
        this.#open = { opening: event.part, texts: [], signature: null };
        return '';
      case 'part-delta':
        this.#open?.texts.push(event.text);
        return '';
      case 'part-signature':
        if (this.#open !== null) this.#open.signature = event.signature;
        return '';
      case 'part-end':
        if (this.#open !== null) this.#parts.push(partOf(this.#open));
        this.#open = null;
        return '';
      case 'end':
        return this.#whole(event.end, event.tokens);
      case 'error':
        throw badAnswer(event.error.message);
    }
  }

  #whole(end: Answer['end'], tokens: Tokens): string {
    const answer = { id: this.#id, parts: this.#parts, end, tokens };
    return JSON.stringify(this.#write(answer));
  }
}

function partOf({ opening, texts, signature }: OpenPart): AnswerPart {
  const text = texts.join('');
  if (opening.kind === 'call') return { ...opening, input: text };
  return opening.kind === 'thinking' ? { kind: 'thinking', text, signature } : { kind: opening.kind, text };
}
