// Writes answers, streams and errors of Gemini's generateContent. Its SDKs call an answer invalid when a frame has no part, or an
// empty text, so the last text waits for the frame that ends the stream.
import type { Json } from '../../../bodies/json.ts';
import { wordOfStatus } from '../../google-words.ts';
import { statedStatus } from '../../upstream-error.ts';
import type { EventWriter, StreamContext } from '../dialect.ts';
import type { Answer, AnswerError, AnswerEvent, End, EndReason, PartOpening, Signature } from '../form.ts';
import type { Tokens } from '../../usage.ts';
import { hasRefusal, toldByEnd } from '../refusals.ts';
import { writeGeminiUsage } from '../tokens.ts';
import { inputObject } from '../turns.ts';
import { showThoughtSignature } from './signatures.ts';

function finishReason(reason: EndReason): string {
  switch (reason) {
    case 'length':
    case 'context':
      return 'MAX_TOKENS';
    case 'filter':
      return 'SAFETY';
    case 'stop':
    case 'stop_sequence':
    case 'tool':
    case 'pause':
      return 'STOP';
  }
}

interface Frame {
  readonly id: string | null;
  readonly model: string;
  readonly parts: readonly Json[];
  /** null: the answer goes on. */
  readonly ended: { readonly end: End; readonly tokens: Tokens } | null;
}

function frameOf({ id, model, parts, ended }: Frame): Json {
  return {
    candidates: [
      {
        content: { role: 'model', parts },
        ...(ended === null ? {} : { finishReason: finishReason(ended.end.reason) }),
        index: 0,
      },
    ],
    ...(ended === null ? {} : { usageMetadata: writeGeminiUsage(ended.tokens) }),
    modelVersion: model,
    responseId: id ?? crypto.randomUUID(),
  };
}

/** A signature stands on the call that its thought led to; without one, on the last part: there SDKs keep it. */
class Signatures {
  #waiting: Signature | null = null;

  note(signature: Signature | null): void {
    if (signature !== null) this.#waiting = signature;
  }

  on(part: Json): Json {
    const signature = this.#waiting;
    this.#waiting = null;
    return signature === null ? part : { ...part, thoughtSignature: showThoughtSignature(signature) };
  }
}

export function writeAnswer({ id, parts, end, tokens }: Answer, model: string): Json {
  const signatures = new Signatures();
  const written = parts.flatMap((part): Json[] => {
    switch (part.kind) {
      case 'thinking':
        signatures.note(part.signature);
        return part.text === '' ? [] : [{ text: part.text, thought: true }];
      case 'text':
      case 'refusal':
        return part.text === '' ? [] : [{ text: part.text }];
      case 'call':
        return [signatures.on(callPart(part, part.input))];
    }
  });
  const shown = [...written.slice(0, -1), signatures.on(written.at(-1) ?? { text: '' })];
  const told = toldByEnd(end, hasRefusal(parts));
  return frameOf({ id, model, parts: shown, ended: { end: told, tokens } });
}

function callPart(part: PartOpening, input: string): Json {
  if (part.kind !== 'call') return { text: input };
  const { id, name, form } = part;
  return { functionCall: { id, name, args: inputObject({ form, input }) } };
}

export function writeError(status: number, { message }: AnswerError): Json {
  return { error: { code: status, message, status: wordOfStatus(status), details: [] } };
}

/** The status of what a stream breaks with; this proxy has a word of its own for an upstream that broke it off. */
const statusOf = (error: AnswerError): number =>
  error.type === 'upstream_error' ? 503 : (statedStatus(error) ?? 500);

export class GeminiEventWriter implements EventWriter {
  readonly holdsCalls = true;
  readonly #context: StreamContext;
  readonly #signatures = new Signatures();
  #id: string | null = null;
  #part: PartOpening | null = null;
  /** The input of the open call: it is sent whole. */
  #input: string[] = [];
  #held: Json | null = null;
  #isRefused = false;

  constructor(context: StreamContext) {
    this.#context = context;
  }

  write(event: AnswerEvent): string {
    switch (event.kind) {
      case 'start':
        this.#id = event.id ?? crypto.randomUUID();
        return '';
      case 'part-start':
        this.#part = event.part;
        this.#input = [];
        if (event.part.kind === 'refusal') this.#isRefused = true;
        return '';
      case 'part-delta':
        return this.#delta(event.text);
      case 'part-signature':
        this.#signatures.note(event.signature);
        return '';
      case 'part-end': {
        const part = this.#part;
        this.#part = null;
        return part?.kind === 'call'
          ? this.#hold(this.#signatures.on(callPart(part, this.#input.join(''))))
          : '';
      }
      case 'end':
        return this.#frame(this.#signatures.on(this.#held ?? { text: '' }), {
          ...event,
          end: toldByEnd(event.end, this.#isRefused),
        });
      case 'error': {
        const held = this.#release();
        return `${held}data: ${JSON.stringify(writeError(statusOf(event.error), event.error))}\n\n`;
      }
    }
  }

  #delta(text: string): string {
    if (this.#part?.kind === 'call') {
      this.#input.push(text);
      return '';
    }
    if (this.#part?.kind === 'thinking') return this.#hold({ text, thought: true });
    return this.#hold({ text });
  }

  /** Sends the part before. */
  #hold(part: Json): string {
    const sent = this.#release();
    this.#held = part;
    return sent;
  }

  #release(): string {
    const held = this.#held;
    this.#held = null;
    return held === null ? '' : this.#frame(held, null);
  }

  #frame(part: Json, ended: Frame['ended']): string {
    return `data: ${JSON.stringify(frameOf({ id: this.#id, model: this.#context.model, parts: [part], ended }))}\n\n`;
  }
}
