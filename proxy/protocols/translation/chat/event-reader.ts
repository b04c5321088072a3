// Reads the stream of chat completions of any server that speaks it: deltas of one choice, tool calls by index (mixed, whole in
// one chunk, without an index or an id), usage in a chunk of its own or in any other.
import {
  asObject,
  isFilled,
  isObject,
  listIn,
  objectIn,
  textIn,
  withExactNumbers,
  type Json,
} from '../../../bodies/json.ts';
import { NO_TOKENS, readTokens, type Tokens } from '../../usage.ts';
import { inventedCallId } from '../call-ids.ts';
import { withCallSignature } from '../call-signatures.ts';
import type { EventReader } from '../dialect.ts';
import { isDone } from '../../openai.ts';
import { badAnswer, checkParts, eventObject, readFailure } from '../failures.ts';
import type { AnswerEvent, End, ThinkingPart } from '../form.ts';
import { PartSequence } from '../sequence.ts';
import {
  argumentsText,
  contentPieces,
  endOf,
  thinkingBlocks,
  thoughtText,
  UNSIGNED,
} from './answer-reader.ts';

/** A call that has begun; without a name it cannot be passed on yet. */
interface OpenCall {
  readonly key: string;
  id: string | null;
  name: string | null;
  readonly early: string[];
}

/** The thought that is written. */
interface OpenThought {
  readonly key: string;
  text: string;
  /** null: not yet. */
  signature: string | null;
}

const choiceOf = (chunk: Json): Json | null => asObject(listIn(chunk, 'choices')?.[0]);

const deltaOf = (choice: Json | null): Json | null =>
  objectIn(choice, 'delta') ?? objectIn(choice, 'message');

/** Arguments that are no text are written out again. */
function hasObjectInput(delta: Json): boolean {
  const calls = delta['tool_calls'];
  return (
    Array.isArray(calls) &&
    calls.some((call) => isObject(objectIn(asObject(call), 'function')?.['arguments']))
  );
}

export class ChatEventReader implements EventReader {
  readonly #sequence = new PartSequence();
  /** By the index that the upstream states. */
  readonly #calls = new Map<number, OpenCall>();
  /** Where the call of an id stands. */
  readonly #indexes = new Map<string, number>();
  #lastIndex = 0;
  #callCount = 0;
  #hasStarted = false;
  #answerId: string | null = null;
  #thought: OpenThought | null = null;
  #thoughtCount = 0;
  #tokens: Tokens = NO_TOKENS;
  #end: End | null = null;

  read(_name: string, data: string): readonly AnswerEvent[] {
    const chunk = eventObject(data);
    if (chunk === null) {
      if (isDone(data)) this.#finish({ reason: 'stop', sequence: null });
      return this.#sequence.take();
    }
    const error = readFailure(chunk);
    if (error !== null) this.#sequence.push({ kind: 'error', error });
    else this.#take(chunk, data);
    return this.#sequence.take();
  }

  end(): readonly AnswerEvent[] {
    if (this.#end !== null) this.#finish(this.#end);
    return this.#sequence.take();
  }

  #take(chunk: Json, data: string): void {
    const usage = objectIn(chunk, 'usage');
    if (isFilled(usage)) this.#tokens = readTokens(usage).tokens;
    const choice = choiceOf(chunk);
    if (!this.#hasStarted && choice !== null) this.#start(chunk);
    if (choice === null) return;
    const delta = deltaOf(choice);
    if (delta !== null && this.#end === null)
      this.#takeDelta(
        hasObjectInput(delta) ? (deltaOf(choiceOf(withExactNumbers(chunk, data))) ?? delta) : delta,
      );
    const reason = textIn(choice, 'finish_reason');
    if (reason === null || this.#end !== null) return;
    if (reason === 'error') {
      const error = readFailure(choice) ?? {
        message: 'The upstream failed.',
        type: null,
        code: null,
        param: null,
      };
      this.#sequence.push({ kind: 'error', error });
      return;
    }
    this.#end = endOf(reason, choice);
  }

  #start(chunk: Json): void {
    this.#hasStarted = true;
    this.#answerId = textIn(chunk, 'id');
    this.#sequence.push({
      kind: 'start',
      id: this.#answerId,
      tokens: this.#tokens,
    });
  }

  #takeDelta(delta: Json): void {
    const content = contentPieces(delta['content']);
    const blocks = thinkingBlocks(delta);
    // LiteLLM states a text as a block and beside it.
    if (!blocks.some(({ text }) => text !== '')) this.#think(thoughtText(delta) || content.thoughts);
    for (const block of blocks) this.#takeBlock(block);
    this.#write('text', content.text);
    this.#write('refusal', textIn(delta, 'refusal') ?? '');
    const calls: unknown = delta['tool_calls'];
    if (Array.isArray(calls)) for (const call of calls) this.#takeCall(asObject(call));
    const legacy = objectIn(delta, 'function_call');
    if (legacy !== null) this.#takeCall({ index: 0, function: legacy });
  }

  #takeBlock({ text, signature }: ThinkingPart): void {
    if (signature === null) {
      this.#think(text);
      return;
    }
    if (signature.origin === 'chat_redacted') this.#endTexts();
    if (this.#thought?.signature === signature.data) return;
    if (this.#thought !== null && this.#thought.signature !== null) this.#endTexts();
    // LiteLLM repeats the whole thought beside its signature.
    const before = this.#thought?.text ?? '';
    this.#think(text.startsWith(before) ? text.slice(before.length) : text);
    const thought = this.#openThought();
    thought.signature = signature.data;
    this.#sequence.sign(thought.key, signature);
    if (signature.origin === 'chat_redacted') this.#endTexts();
  }

  /** What follows a signature is another thought, or the same once more. */
  #think(text: string): void {
    if (text === '') return;
    if (this.#thought !== null && this.#thought.signature !== null) {
      if (this.#thought.text === text) return;
      this.#endTexts();
    }
    const thought = this.#openThought();
    thought.text += text;
    this.#sequence.delta(thought.key, text);
  }

  #openThought(): OpenThought {
    if (this.#thought !== null) return this.#thought;
    this.#endTexts();
    this.#thoughtCount++;
    const thought = { key: `thinking ${this.#thoughtCount}`, text: '', signature: null };
    this.#sequence.start(thought.key, { kind: 'thinking' });
    this.#thought = thought;
    return thought;
  }

  #write(kind: 'text' | 'refusal', text: string): void {
    if (text === '') return;
    this.#open(kind);
    this.#sequence.delta(kind, text);
  }

  /** A change of kind ends what was written before; calls are ended by the finish alone. */
  #open(kind: 'text' | 'refusal'): void {
    if (this.#sequence.has(kind)) return;
    this.#endTexts();
    this.#sequence.start(kind, { kind });
  }

  #endTexts(): void {
    if (this.#thought !== null) {
      if (this.#thought.signature === null) this.#sequence.sign(this.#thought.key, UNSIGNED);
      this.#sequence.end(this.#thought.key);
      this.#thought = null;
    }
    this.#sequence.end('text');
    this.#sequence.end('refusal');
  }

  #takeCall(delta: Json | null): void {
    if (delta === null) return;
    const custom = delta['type'] === 'function' ? null : objectIn(delta, 'custom');
    const holder = custom ?? objectIn(delta, 'function');
    const id = textIn(delta, 'id');
    const name = textIn(holder, 'name');
    const call = this.#callOf(delta['index'], id, name);
    call.id ??= id;
    if (call.id !== null && !this.#indexes.has(call.id)) this.#indexes.set(call.id, this.#lastIndex);
    const text = argumentsText(custom === null ? holder?.['arguments'] : custom['input']);
    if (call.name !== null) {
      this.#sequence.delta(call.key, text);
      return;
    }
    call.early.push(text);
    if (name === null) return;
    call.name = name;
    this.#endTexts();
    this.#sequence.start(call.key, {
      kind: 'call',
      id: withCallSignature(call.id ?? inventedCallId(this.#answerId, name, this.#callCount), delta),
      name,
      namespace: null,
      form: custom === null ? 'json' : 'text',
    });
    this.#sequence.delta(call.key, call.early.join(''));
  }

  /** Some servers state no index, or 0 for each of several calls; then a new id is a new call. */
  #callOf(stated: unknown, id: string | null, name: string | null): OpenCall {
    let index = typeof stated === 'number' ? stated : this.#lastIndex;
    const known = this.#calls.get(index);
    const isAnother = known?.id !== undefined && known.id !== null && id !== null && id !== known.id;
    if (known !== undefined && isAnother && name !== null) index = this.#indexes.get(id) ?? -this.#calls.size;
    this.#lastIndex = index;
    const found = this.#calls.get(index);
    if (found !== undefined) return found;
    this.#callCount++;
    checkParts(this.#callCount);
    const call: OpenCall = { key: `call ${this.#callCount}`, id, name: null, early: [] };
    this.#calls.set(index, call);
    return call;
  }

  #finish(end: End): void {
    this.#end ??= end;
    for (const { name, early } of this.#calls.values()) {
      if (name === null && early.join('').trim() !== '') throw badAnswer('a tool call has no name.');
    }
    this.#endTexts();
    this.#sequence.endAll();
    this.#sequence.push({ kind: 'end', end: this.#end, tokens: this.#tokens });
  }
}
