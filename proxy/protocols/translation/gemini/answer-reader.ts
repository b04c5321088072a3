// Reads answers and streams of Gemini's generateContent. Each frame of a stream is an answer of its own; a call comes whole; the
// reason of the end may come before the last frame.
import { asObject, isStated, objectIn, textIn, withExactNumbers, type Json } from '../../../bodies/json.ts';
import { NO_TOKENS, readTokens, type Tokens } from '../../usage.ts';
import { inventedCallId } from '../call-ids.ts';
import type { EventReader } from '../dialect.ts';
import { badAnswer, eventObject, readFailure } from '../failures.ts';
import type { Answer, AnswerEvent, AnswerPart, CallPart, EndReason, Signature } from '../form.ts';
import { PartSequence } from '../sequence.ts';

export function readAnswer(answer: Json): Answer {
  const reason = endOfFrame(answer);
  const id = textIn(answer, 'responseId');
  const frameParts = partsOf(answer);
  if (reason === null && frameParts.length === 0)
    throw badAnswer(readFailure(answer)?.message ?? 'it has no candidate.');
  const parts: AnswerPart[] = [];
  for (const part of frameParts) {
    const read = readPart(part, id, parts.length);
    const signature = signatureOf(part);
    const last = parts.at(-1);
    if (read?.kind === 'call' && signature !== null) {
      if (last?.kind === 'thinking' && last.signature === null) parts.splice(-1, 1, { ...last, signature });
      else parts.push({ kind: 'thinking', text: '', signature });
    }
    if (read === null) continue;
    const isSame = read.kind === last?.kind && read.kind !== 'call';
    if (isSame && last.kind !== 'call') parts.splice(-1, 1, joined(last, read.text, signature));
    else parts.push(read.kind === 'thinking' ? { ...read, signature } : read);
  }
  return {
    id,
    parts,
    end: { reason: reason ?? 'stop', sequence: null },
    tokens: readTokens(objectIn(answer, 'usageMetadata')).tokens,
  };
}

/** As in a stream, the first signature of a thought is its own. */
function joined(last: Exclude<AnswerPart, CallPart>, text: string, signature: Signature | null): AnswerPart {
  const whole = { ...last, text: last.text + text };
  return whole.kind === 'thinking' ? { ...whole, signature: whole.signature ?? signature } : whole;
}

function candidateOf(frame: Json): Json | null {
  const { candidates } = frame;
  return Array.isArray(candidates) ? asObject(candidates[0]) : null;
}

function partsOf(frame: Json): readonly Json[] {
  const parts = objectIn(candidateOf(frame), 'content')?.['parts'];
  return Array.isArray(parts) ? parts.map(asObject).filter((part) => part !== null) : [];
}

function signatureOf(part: Json): Signature | null {
  const data = textIn(part, 'thoughtSignature');
  return data === null ? null : { origin: 'gemini', data };
}

/** null: nothing that other protocols can show. */
function readPart(part: Json, answerId: string | null, index: number): AnswerPart | null {
  const text = textIn(part, 'text');
  if (text !== null)
    return part['thought'] === true ? { kind: 'thinking', text, signature: null } : { kind: 'text', text };
  const call = objectIn(part, 'functionCall');
  return call === null ? null : readCall(call, answerId, index);
}

function readCall(call: Json, answerId: string | null, index: number): CallPart {
  const name = textIn(call, 'name');
  if (name === null) throw badAnswer('a function call has no name.');
  return {
    kind: 'call',
    id: textIn(call, 'id') ?? inventedCallId(answerId, name, index),
    name,
    namespace: null,
    form: 'json',
    input: JSON.stringify(objectIn(call, 'args') ?? {}),
  };
}

/** null: the answer goes on. @throws Fault for a call that the model wrote wrongly */
function endOfFrame(frame: Json): EndReason | null {
  if (textIn(objectIn(frame, 'promptFeedback'), 'blockReason') !== null) return 'filter';
  const word = textIn(candidateOf(frame), 'finishReason');
  switch (word) {
    case null:
    case 'FINISH_REASON_UNSPECIFIED':
      return null;
    case 'MAX_TOKENS':
      return 'length';
    case 'SAFETY':
    case 'RECITATION':
    case 'BLOCKLIST':
    case 'PROHIBITED_CONTENT':
    case 'SPII':
    case 'LANGUAGE':
    case 'MODEL_ARMOR':
    case 'ESCALATION':
    case 'PUP_LIMITED_DISABLED':
      return 'filter';
    case 'MALFORMED_FUNCTION_CALL':
    case 'MALFORMED_RESPONSE':
    case 'MISSING_THOUGHT_SIGNATURE':
    case 'UNEXPECTED_TOOL_CALL':
    case 'TOO_MANY_TOOL_CALLS':
      throw badAnswer(`the model ended with ${word}.`);
    default:
      return word.startsWith('IMAGE_') || word === 'NO_IMAGE' ? 'filter' : 'stop';
  }
}

export class GeminiEventReader implements EventReader {
  readonly #sequence = new PartSequence();
  #hasStarted = false;
  #answerId: string | null = null;
  #open: 'text' | 'thinking' | null = null;
  #isSigned = false;
  #calls = 0;
  #tokens: Tokens = NO_TOKENS;
  #end: EndReason | null = null;

  read(_name: string, data: string): readonly AnswerEvent[] {
    const frame = eventObject(data);
    if (frame === null) return [];
    const error = readFailure(frame);
    if (error === null) this.#take(frame, data);
    else this.#sequence.push({ kind: 'error', error });
    return this.#sequence.take();
  }

  /** The last frame is known by the end of the stream only. */
  end(): readonly AnswerEvent[] {
    if (this.#end === null) return [];
    this.#close();
    this.#sequence.push({ kind: 'end', end: { reason: this.#end, sequence: null }, tokens: this.#tokens });
    return this.#sequence.take();
  }

  #take(frame: Json, data: string): void {
    const usage = objectIn(frame, 'usageMetadata');
    if (usage !== null) this.#tokens = readTokens(usage).tokens;
    if (!this.#hasStarted) this.#start(frame);
    const parts = partsOf(frame);
    const hasCall = parts.some((part) => isStated(part['functionCall']));
    for (const part of hasCall ? partsOf(withExactNumbers(frame, data)) : parts) this.#takePart(part);
    this.#end = endOfFrame(frame) ?? this.#end;
  }

  #start(frame: Json): void {
    this.#hasStarted = true;
    this.#answerId = textIn(frame, 'responseId');
    this.#sequence.push({ kind: 'start', id: this.#answerId, tokens: this.#tokens });
  }

  #takePart(part: Json): void {
    const read = readPart(part, this.#answerId, this.#calls);
    const signature = signatureOf(part);
    const isSigning =
      signature !== null && (read === null || read.kind === 'call' || read.kind === 'thinking');
    if (read?.kind === 'thinking') this.#write('thinking', read.text);
    // A signature belongs to the thought before it; before a call it stands even without one.
    if (isSigning) this.#sign(signature, read?.kind === 'call');
    if (read?.kind === 'text') this.#write('text', read.text);
    if (read?.kind === 'call') this.#call(read);
  }

  #write(kind: 'text' | 'thinking', text: string): void {
    this.#begin(kind);
    this.#sequence.delta(kind, text);
  }

  #begin(kind: 'text' | 'thinking'): void {
    if (this.#open === kind) return;
    this.#close();
    this.#open = kind;
    this.#isSigned = false;
    this.#sequence.start(kind, { kind });
  }

  #close(): void {
    if (this.#open !== null) this.#sequence.end(this.#open);
    this.#open = null;
  }

  #sign(signature: Signature, isNeeded: boolean): void {
    if (this.#open !== 'thinking' && !isNeeded) return;
    this.#begin('thinking');
    if (!this.#isSigned) this.#sequence.sign('thinking', signature);
    this.#isSigned = true;
  }

  #call({ id, name, namespace, form, input }: CallPart): void {
    this.#close();
    this.#calls++;
    this.#sequence.start('call', { kind: 'call', id, name, namespace, form });
    if (input !== '{}') this.#sequence.delta('call', input);
    this.#sequence.end('call');
  }
}
