// One stream in another protocol: the upstream's events become those of the intermediate form, and these the caller's. What
// holds for every pair is here: the caller's names of tools, the reason of the end, one end only.
import { Fault } from '../../errors/fault.ts';
import { parseJson, parseObject, textIn } from '../../bodies/json.ts';
import { NO_TOKENS } from '../usage.ts';
import { AnswerInputs } from './call-inputs.ts';
import { thoughtOf, unsigned } from './call-signatures.ts';
import type { EventReader, EventWriter } from './dialect.ts';
import { badAnswer, checkParts, failureOfFault } from './failures.ts';
import type { Answer, AnswerEvent, AnswerPart, CallPart, End, EndReason, PartOpening } from './form.ts';
import type { ToolNames } from './tool-names.ts';

/** Some 500,000 tokens with an event each. Texts of calls and items are kept until they are whole, so there is a bound. */
const MOST_CHARS = 134_217_728;

/** Clients act on calls, not on the word of the upstream, so the word follows the calls. */
function settledEnd(end: End, hasCalls: boolean): End {
  if (hasCalls && (end.reason === 'stop' || end.reason === 'stop_sequence'))
    return { reason: 'tool', sequence: null };
  return !hasCalls && end.reason === 'tool' ? { reason: 'stop', sequence: null } : end;
}

/** Reasons for which a model stops in the middle of a call; clients do not run it then. */
const CUTS: ReadonlySet<EndReason> = new Set(['length', 'context', 'filter']);

/**
 * The input of the open call so far: of a bridged tool, whose text is known when it is whole; one that is passed on as it comes; or
 * one that the writer holds until it is whole.
 */
interface OpenInput {
  readonly is: 'bridged' | 'passed' | 'held';
  readonly texts: string[];
}

/** A call whose input is no JSON, and what follows it: whether it is an error shows with the reason of the end. */
interface BrokenCall {
  readonly end: AnswerEvent;
  readonly rest: AnswerEvent[];
}

/** The text of a custom tool that went upstream as a function with one text. */
function bridgedText(input: string): string {
  return textIn(parseObject(input), 'input') ?? input;
}

/** A whole answer with the caller's names of tools. @throws Fault for more parts than an answer has, or more in its calls */
export function settledAnswer(answer: Answer, names: ToolNames): Answer {
  checkParts(answer.parts.length);
  const inputs = new AnswerInputs();
  const parts = answer.parts.flatMap((part): readonly AnswerPart[] => {
    if (part.kind !== 'call') return [part];
    if (names.isAnswer(part.name)) return [{ kind: 'text', text: part.input }];
    if (part.form === 'json') inputs.check(part.input);
    const { call, signature } = unsigned(part);
    return [...(signature === null ? [] : [thoughtOf(signature)]), settledCall(call, names)];
  });
  return { ...answer, parts, end: settledEnd(answer.end, parts.some(isCall)) };
}

const isCall = ({ kind }: AnswerPart): boolean => kind === 'call';

function settledCall(call: CallPart, names: ToolNames): CallPart {
  const { name, namespace, isBridged } = names.called(call.name);
  const named = { ...call, name, namespace: call.namespace ?? namespace };
  return isBridged && call.form === 'json'
    ? { ...named, form: 'text', input: bridgedText(call.input) }
    : named;
}

export class StreamTranslation {
  readonly #reader: EventReader;
  readonly #writer: EventWriter;
  readonly #names: ToolNames;
  #hasStarted = false;
  #hasCalls = false;
  #isOver = false;
  #fault: Fault | null = null;
  #chars = 0;
  readonly #inputs = new AnswerInputs();
  #input: OpenInput | null = null;
  #broken: BrokenCall | null = null;
  /** The model stopped in the middle: calls that are no JSON are passed on as they are. */
  #isCut = false;

  constructor(reader: EventReader, writer: EventWriter, names: ToolNames) {
    this.#reader = reader;
    this.#writer = writer;
    this.#names = names;
  }

  get fault(): Fault | null {
    return this.#fault;
  }

  event(name: string, data: string): string {
    this.#chars += data.length;
    if (this.#chars > MOST_CHARS) this.#break(badAnswer('its stream is longer than any answer.'));
    return this.#translate(() => this.#reader.read(name, data));
  }

  end(): string {
    const written = this.#translate(() => this.#reader.end());
    const text = 'The stream of the upstream ended without its terminal event; the answer is not complete.';
    this.#break(new Fault('stream_truncated', text));
    return written;
  }

  failed(fault: Fault): string {
    if (this.#isOver) return '';
    this.#isOver = true;
    return this.#writer.write({ kind: 'error', error: failureOfFault(fault) });
  }

  #break(fault: Fault): void {
    if (!this.#isOver) this.#fault ??= fault;
  }

  #translate(read: () => readonly AnswerEvent[]): string {
    let written = '';
    if (this.#isOver || this.#fault !== null) return written;
    try {
      for (const event of read()) if (!this.#isOver) written += this.#begin(event) + this.#write(event);
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
      this.#break(thrown);
    }
    return written;
  }

  /** A client must be told of the beginning, also when the upstream leaves it out. */
  #begin({ kind }: AnswerEvent): string {
    if (this.#hasStarted || kind === 'start' || kind === 'error') return '';
    return this.#write({ kind: 'start', id: null, tokens: NO_TOKENS });
  }

  #write(event: AnswerEvent): string {
    if (this.#broken !== null && event.kind !== 'end' && event.kind !== 'error') {
      this.#broken.rest.push(event);
      return '';
    }
    switch (event.kind) {
      case 'start':
        if (this.#hasStarted) return '';
        this.#hasStarted = true;
        return this.#writer.write(event);
      case 'part-start':
        return this.#start(event.part);
      case 'part-delta':
        this.#input?.texts.push(event.text);
        return this.#input?.is === 'bridged' ? '' : this.#writer.write(event);
      case 'part-end':
        return this.#endInput(event) + (this.#broken === null ? this.#writer.write(event) : '');
      case 'end': {
        const end = settledEnd(event.end, this.#hasCalls);
        const rest = this.#passBroken(end);
        this.#isOver = true;
        return rest + this.#writer.write({ ...event, end });
      }
      case 'error': {
        const written = this.#writer.write(event);
        this.#isOver = true;
        return written;
      }
      case 'part-signature':
        return this.#writer.write(event);
    }
  }

  /** The signature of a call that came in its id is that of a thought before it. */
  #start(part: PartOpening): string {
    if (part.kind !== 'call') return this.#writer.write({ kind: 'part-start', part });
    const { call, signature } = unsigned(part);
    let written = '';
    if (signature !== null) {
      written += this.#writer.write({ kind: 'part-start', part: { kind: 'thinking' } });
      written += this.#writer.write({ kind: 'part-signature', signature });
      written += this.#writer.write({ kind: 'part-end' });
    }
    return written + this.#writer.write({ kind: 'part-start', part: this.#opening(call) });
  }

  #opening(part: PartOpening & { readonly kind: 'call' }): PartOpening {
    if (this.#names.isAnswer(part.name)) return { kind: 'text' };
    this.#hasCalls = true;
    const { name, namespace, isBridged } = this.#names.called(part.name);
    const named = { ...part, name, namespace: part.namespace ?? namespace };
    if (part.form === 'text') return named;
    const open = this.#writer.holdsCalls ? 'held' : 'passed';
    this.#input = { is: isBridged ? 'bridged' : open, texts: [] };
    return isBridged ? { ...named, form: 'text' } : named;
  }

  /** What is still to be said of the input of a call. Without any it has no arguments, which is fine. */
  #endInput(end: AnswerEvent): string {
    const input = this.#input;
    this.#input = null;
    const text = input?.texts.join('') ?? '';
    if (input === null || text.trim() === '') return '';
    this.#inputs.check(text);
    if (input.is === 'bridged') return this.#writer.write({ kind: 'part-delta', text: bridgedText(text) });
    if (input.is === 'passed' && !this.#isCut && parseJson(text) === undefined)
      this.#broken = { end, rest: [] };
    return '';
  }

  /** @throws Fault for a broken call that the model takes for finished: its client would run it with another input */
  #passBroken({ reason }: End): string {
    if (this.#broken === null) return '';
    if (!CUTS.has(reason)) throw badAnswer('the arguments of a tool call are no JSON.');
    const { end, rest } = this.#broken;
    this.#broken = null;
    this.#isCut = true;
    let written = this.#writer.write(end);
    for (const event of rest) written += this.#write(event);
    return written;
  }
}
