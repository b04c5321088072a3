// Keeps what a stream of chat completions has sent so far, so that another upstream can continue it, and rewrites that
// upstream's events into the same stream. Only plain text can be continued: after anything else (tool calls, reasoning,
// log probabilities, further choices, half an event) nothing is kept any more. Bounded; no I/O.
import { Buffer } from 'node:buffer';
import { asObject, isFilled, parseObject, textIn, type Json } from '../bodies/json.ts';
import { isDone } from './openai.ts';
import type { Passed, Transcript } from './protocol.ts';

/** UTF-16 units of kept text; some 250,000 tokens, more than a model writes at once. */
const MOST_CHARS = 1_000_000;
/** A string for each token takes 30 bytes beside its characters; so many are made into one. */
const MOST_PIECES = 256;
/** Members of a delta that can be continued; others only when empty. */
const PLAIN_MEMBERS: ReadonlySet<string> = new Set(['role', 'content']);
/** A text that goes on may end in tool calls. */
const JOINED_MEMBERS: ReadonlySet<string> = new Set([...PLAIN_MEMBERS, 'tool_calls']);
const IDENTITY = ['id', 'object', 'created', 'model'] as const;
const LINE = /([^\r\n]*)(?:\r\n|\n|\r|$)/g;

/** One event: its text with the blank line, and its data; null when it has none (comments, pings). */
interface Event {
  readonly text: string;
  readonly data: string | null;
  /** It ends as an event does. */
  readonly isWhole: boolean;
}

export class ChatTranscript implements Transcript {
  readonly #mostChars: number;
  #texts: string[] = [];
  /** The last of it, piece by piece. */
  #recent: string[] = [];
  #chars = 0;
  #identity: Json | null = null;
  #isPlain = true;
  /** The end was sent: a finish reason, `[DONE]`, an error. */
  #isOver = false;
  /** White space that was sent after `prefix`, which ends before it. */
  #pendingSpace = '';
  /** What an upstream that begins anew has to repeat still. Until then nothing of it is passed on. */
  #toRepeat = '';

  constructor(mostChars = MOST_CHARS) {
    this.#mostChars = mostChars;
  }

  /**
   * Without white space at its end, which some upstreams refuse (docs.anthropic.com, prefill Claude's response).
   */
  get prefix(): string | null {
    if (!this.#isPlain || this.#isOver || this.#identity === null) return null;
    const text = this.#text;
    const trimmed = text.trimEnd();
    return trimmed === '' || !trimmed.isWellFormed() ? null : trimmed;
  }

  get #text(): string {
    return [...this.#texts, ...this.#recent].join('');
  }

  close(): void {
    this.#isPlain = false;
    this.#texts = [];
    this.#recent = [];
  }

  /** Up to the first event that is none of a chat. */
  noteSent(piece: Buffer): Passed {
    if (!this.#isPlain || this.#isOver) return { bytes: piece, broken: null };
    let [passed, isWhole] = ['', true];
    for (const event of eventsIn(piece.toString('utf8'))) {
      if (!event.isWhole) isWhole = false;
      else if (event.data !== null && !this.#note(event.data))
        return { bytes: passed === '' ? null : Buffer.from(passed), broken: 'an event that is not JSON' };
      passed += event.text;
    }
    if (!isWhole) this.close(); // an event too large to be held back
    return { bytes: piece, broken: null };
  }

  resume(): void {
    const text = this.#text;
    this.#pendingSpace = text.slice(text.trimEnd().length);
    this.#toRepeat = '';
  }

  repeat(): void {
    this.#pendingSpace = '';
    this.#toRepeat = this.#text;
  }

  rewrite(piece: Buffer): Passed {
    let passed = '';
    for (const { text, data } of eventsIn(piece.toString('utf8'))) {
      const comment = this.#toRepeat === '' ? text : '';
      const made = data === null ? comment : this.#rewritten(data, text);
      if (made === null)
        return { bytes: bytesOf(passed), broken: 'an event that does not continue the text' };
      passed += made;
    }
    return { bytes: bytesOf(passed), broken: null };
  }

  /** @returns the event as one of the stream that was begun, '' when it says nothing there, null when it cannot stand there */
  #rewritten(data: string, asSent: string): string | null {
    const event = parseObject(data);
    const choices = event?.['choices'];
    if (event === null || !Array.isArray(choices)) {
      if (this.#toRepeat !== '') return null; // it ended before it came to where the first one was
      return this.#note(data) ? asSent : null; // `[DONE]`, or an error
    }
    const rewritten = choices.map((choice: unknown) => this.#rewrittenChoice(asObject(choice)));
    if (rewritten.some((choice) => choice === null)) return null;
    if (this.#toRepeat !== '') return rewritten.some(says) ? null : '';
    const made = { ...event, ...this.#identity, choices: rewritten };
    const text = JSON.stringify(made);
    if (!this.#note(text)) return null;
    const isSilent =
      rewritten.length > 0 && rewritten.every((choice) => !says(choice)) && !isFilled(event['usage']);
    return isSilent ? '' : `data: ${text}\n\n`;
  }

  /** A choice without its role, and without white space that was sent already. */
  #rewrittenChoice(choice: Json | null): Json | null {
    if (choice === null || Number(choice['index'] ?? 0) !== 0) return null;
    if (isFilled(choice['logprobs']) || !holdsOnly(JOINED_MEMBERS, choice)) return null;
    const { role: _, ...delta } = asObject(choice['delta']) ?? {};
    const content = delta['content'];
    if (this.#toRepeat !== '' && typeof content === 'string')
      return this.#withoutRepeated(choice, delta, content);
    if (this.#pendingSpace === '' || typeof content !== 'string' || content === '')
      return { ...choice, delta };
    let at = 0;
    while (at < content.length && content[at] === this.#pendingSpace[at]) at += 1;
    this.#pendingSpace = at === content.length ? this.#pendingSpace.slice(at) : '';
    return { ...choice, delta: { ...delta, content: content.slice(at) } };
  }

  /** A choice without what the first stream said already; null when it says something else. */
  #withoutRepeated(choice: Json, delta: Json, content: string): Json | null {
    const length = Math.min(content.length, this.#toRepeat.length);
    if (!this.#toRepeat.startsWith(content.slice(0, length))) return null;
    this.#toRepeat = this.#toRepeat.slice(length);
    return { ...choice, delta: { ...delta, content: content.slice(length) } };
  }

  /** @returns false when it is no event of a chat */
  #note(data: string): boolean {
    if (isDone(data)) {
      this.#isOver = true;
      return true;
    }
    const event = parseObject(data);
    if (event === null) return false;
    const choices = event['choices'];
    if (!Array.isArray(choices)) {
      this.#isOver = true; // an error event; nobody goes on after it
      return true;
    }
    if (textIn(event, 'id') !== null) this.#identity ??= identityOf(event);
    if (choices.length > 1) this.close();
    for (const choice of choices) this.#noteChoice(asObject(choice));
    return true;
  }

  #noteChoice(choice: Json | null): void {
    if (isFilled(choice?.['finish_reason'])) this.#isOver = true;
    const isPlain = choice !== null && holdsOnly(PLAIN_MEMBERS, choice) && !isFilled(choice['logprobs']);
    const content = asObject(choice?.['delta'])?.['content'] ?? '';
    if (!isPlain || Number(choice['index'] ?? 0) !== 0 || typeof content !== 'string') this.close();
    else if (this.#chars + content.length > this.#mostChars) this.close();
    else if (this.#isPlain && content !== '') {
      this.#chars += content.length;
      if (this.#recent.push(content) < MOST_PIECES) return;
      this.#texts.push(this.#recent.join(''));
      this.#recent = [];
    }
  }
}

function* eventsIn(text: string): Generator<Event> {
  let [start, data, hasData] = [0, '', false];
  for (const { 0: whole, 1: value = '', index } of text.matchAll(LINE)) {
    const end = index + whole.length;
    if (index === text.length) break; // `$` matches once more behind the last line
    if (value.startsWith('data:')) {
      data += (hasData ? '\n' : '') + value.slice(value[5] === ' ' ? 6 : 5);
      hasData = true;
    }
    const isBlank = value === '';
    if (!isBlank && end < text.length) continue;
    // Half an event has bytes behind its last line end, or no blank line.
    yield { text: text.slice(start, end), data: hasData ? data : null, isWhole: isBlank };
    [start, data, hasData] = [end, '', false];
  }
}

function identityOf(event: Json): Json {
  return Object.fromEntries(IDENTITY.filter((name) => name in event).map((name) => [name, event[name]]));
}

/** Whether the delta has nothing but these members, save for empty ones. */
function holdsOnly(members: ReadonlySet<string>, choice: Json): boolean {
  const delta = asObject(choice['delta']) ?? {};
  return Object.entries(delta).every(([name, value]) => members.has(name) || !isFilled(value));
}

function says(choice: Json | null): boolean {
  const members = Object.values(asObject(choice?.['delta']) ?? {});
  return isFilled(choice?.['finish_reason']) || members.some(isFilled);
}

function bytesOf(text: string): Buffer | null {
  return text === '' ? null : Buffer.from(text);
}
