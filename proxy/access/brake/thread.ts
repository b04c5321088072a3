// One thread of a conversation: the requests with the same instructions. An agent's own calls, those of a sub-agent and those
// that sum up or name a conversation are told apart by it, so that one does not hide what the other does. What the rules
// count of its requests stands here; nothing of it is text.
import type { BrakeRule } from '../../../config/brake-settings.ts';
import type { Step, Turn, TurnsFromEnd } from './turns.ts';

/** Calls of tools, and requests, that are looked back on. */
const WINDOW = 20;
const COMPACTION_WINDOW_MS = 15 * 60_000;
/** Requests that are farther apart are no repetition. */
export const REPEAT_WINDOW_MS = 10 * 60_000;
/** Less is no context yet. */
const LEAST_CONTEXT_BYTES = 20_000;
const MOST_DROPS = 16;
const MOST_USERS = 4;
/** Agents move marks (`cache_control`) between messages, so a message may stand a little earlier or later than before. */
const SHIFT_BYTES = 256;
const LONGEST_CYCLE = 4;
/** Lists are replaced, never changed, so that all that are empty are one. */
const NONE: readonly number[] = Object.freeze([]);

/** One request, as its thread counts it. */
export interface SeenRequest {
  readonly turns: TurnsFromEnd | null;
  /** The last turn; null: nothing can be read. */
  readonly turn: Turn | null;
  /** Of the messages. */
  readonly bytes: number;
  /** Of the whole request. */
  readonly body: number;
  /** The messages are all of the conversation; false: they go on with a stored response. */
  readonly isWhole: boolean;
  /** Of a thread that is new here: its messages up to there are not counted; -1 = all are. */
  readonly countedTo: number;
  readonly atMs: number;
}

export class Thread {
  /** Digest of its instructions. */
  readonly id: number;
  #bytes = -1;
  #sent = 0;
  #users: readonly number[] = NONE;
  // The last steps, oldest first, side by side: one list of numbers takes a third of a list of objects.
  #calls: readonly number[] = NONE;
  #pairs: readonly number[] = NONE;
  #errors: readonly number[] = NONE;
  #turns: readonly number[] = NONE;
  #said: readonly number[] = NONE;
  #body = 0;
  /** Requests with this body that have ended without success. */
  #bodyFailures = 0;
  #bodySinceMs = 0;
  /** The last request that was answered; 0 = the last one has failed. */
  #answered = 0;
  #drops: readonly number[] = NONE;
  #grown = 0;

  constructor(id: number) {
    this.id = id;
  }

  /**
   * Whether the request holds something new that a user says, in a dialogue that has begun: what the assistant has said stands
   * before it, or is stored.
   * @param isWaiting the user was told to write something: what was said before will do
   * @param isDialogue false: it is one of single prompts, each without what was said before
   */
  takes(seen: SeenRequest, isWaiting: boolean, isDialogue: boolean): boolean {
    const { turn, bytes, body, isWhole } = seen;
    if (turn === null || turn.user === 0) return false;
    // The summary of what was cut away often looks like a message of the user.
    if (isWhole && this.#bytes >= LEAST_CONTEXT_BYTES && bytes < this.#bytes / 2) return false;
    const isKnown = this.#users.includes(turn.user);
    if (!isKnown) this.#users = [...this.#users, turn.user].slice(-MOST_USERS);
    const isOther = isWhole ? bytes !== this.#bytes : body !== this.#body;
    return (turn.hasAssistant || !isWhole || !isDialogue) && (!isKnown || (isWaiting && isOther));
  }

  /** Forgets what was counted; the messages so far stay known, so that they are not counted again. */
  rearm(): void {
    this.#calls = NONE;
    this.#pairs = NONE;
    this.#errors = NONE;
    this.#said = NONE;
    this.#body = 0;
    this.#bodyFailures = 0;
    this.#drops = NONE;
    this.#grown = 0;
  }

  /** Counts a request. */
  add(seen: SeenRequest): void {
    const isResent = seen.body === this.#body;
    this.#countBody(seen);
    this.#addTurns(seen, isResent);
    if (!seen.isWhole) return;
    const before = this.#bytes;
    if (before >= LEAST_CONTEXT_BYTES && seen.bytes < before / 2) {
      this.#drops = [...this.#drops, seen.atMs].slice(-MOST_DROPS);
    }
    if (before >= 0 && seen.bytes > before) this.#grown += 1;
    else if (seen.bytes < before) this.#grown = 0;
    this.#bytes = seen.bytes;
  }

  /** A request was answered. */
  answered(body: number): void {
    this.#answered = body;
    this.#bodyFailures = 0;
  }

  /** A request has failed. @param isTried it was tried: it was not asked to come again later */
  failed(body: number, isTried: boolean): void {
    this.#answered = 0;
    if (isTried && body === this.#body) this.#bodyFailures += 1;
  }

  count(rule: BrakeRule, nowMs: number): number {
    switch (rule) {
      case 'repeated_step':
        return same(this.#pairs, this.#pairs.at(-1));
      case 'repeated_error':
        return this.#repeatedErrors();
      case 'repeated_call':
        return same(this.#calls, this.#calls.at(-1));
      case 'alternation':
        return alternating(this.#pairs);
      case 'repeated_prompt':
        return same(this.#said, this.#said.at(-1));
      case 'repeated_request':
        return this.#bodyFailures + 1; // those that run side by side with this one may succeed
      case 'tool_errors':
        return sameAtEnd(this.#errors);
      case 'compaction':
        return this.#drops.filter((atMs) => nowMs - atMs <= COMPACTION_WINDOW_MS).length;
      case 'context_growth':
        return this.#grown;
      default:
        return 0;
    }
  }

  #countBody({ body, atMs }: SeenRequest): void {
    const isOver = atMs - this.#bodySinceMs > REPEAT_WINDOW_MS;
    if (body !== this.#body || isOver || this.#bodyFailures === 0) {
      this.#bodySinceMs = atMs;
      this.#bodyFailures = 0;
    }
    this.#body = body;
  }

  #addTurns({ turns, turn, bytes, isWhole, countedTo }: SeenRequest, isResent: boolean): void {
    if (turns === null || turn === null) return;
    if (turn.steps.length === 0 || isResent) this.#addPrompt(turn, isResent);
    const isShrunk = isWhole && this.#bytes > bytes;
    const isSame = turn.sent === this.#sent && (bytes === this.#bytes || isShrunk);
    const isOld = isWhole && (isSame || (this.#bytes < 0 && bytes <= countedTo));
    if (isResent) return;
    this.#sent = turn.sent;
    if (isOld) return;
    const missed = isShrunk ? [] : this.#missed(turns, turn, isWhole, countedTo);
    for (const one of [...missed.reverse(), turn]) this.#addSteps(one);
  }

  /** A prompt that ends as an earlier one did: not one that failed and was sent again, which is another rule. */
  #addPrompt(turn: Turn, isResent: boolean): void {
    if (turn.isExempt || !turn.hasAssistant) return;
    if (isResent && this.#body !== this.#answered) return;
    this.#said = [...this.#said, turn.said()].slice(-WINDOW);
  }

  /**
   * Turns before the last one that were not counted: all, when this thread is new here (the process has started, another
   * worker had it), and those that other workers have served meanwhile. Last first, up to a user's message.
   */
  #missed(turns: TurnsFromEnd, last: Turn, isWhole: boolean, countedTo: number): Turn[] {
    const missed: Turn[] = [];
    const seenTo = this.#bytes < 0 ? countedTo : this.#bytes;
    const isNew = seenTo < 0;
    if (!isWhole || last.user !== 0 || (!isNew && last.start <= seenTo + SHIFT_BYTES)) return missed;
    for (let steps = last.steps.length; steps < WINDOW;) {
      const turn = turns.next();
      if (turn === null || !turn.hasAssistant || turn.user !== 0) break;
      if (!isNew && (turn.start < seenTo - SHIFT_BYTES || this.#turns.includes(turn.sent))) break;
      missed.push(turn);
      steps += Math.max(1, turn.steps.length);
    }
    return missed;
  }

  #addSteps({ steps, sent }: Turn): void {
    this.#turns = [...this.#turns, sent].slice(-MOST_USERS);
    if (steps.length === 0) return;
    const last = (list: readonly number[], read: (step: Step) => number): number[] =>
      [...list, ...steps.slice(-WINDOW).map(read)].slice(-WINDOW);
    this.#calls = last(this.#calls, ({ call }) => call);
    this.#pairs = last(this.#pairs, ({ pair }) => pair);
    this.#errors = last(this.#errors, ({ error }) => error);
  }

  #repeatedErrors(): number {
    const call = this.#calls.at(-1);
    if (call === undefined || this.#errors.at(-1) === 0) return 0;
    return this.#calls.filter((one, i) => one === call && this.#errors[i] !== 0).length;
  }
}

const same = (list: readonly number[], value: number | undefined): number =>
  value === undefined ? 0 : list.filter((one) => one === value).length;

/** How many at the end are equal; 0 when the last one is none. */
function sameAtEnd(list: readonly number[]): number {
  const last = list.at(-1);
  if (last === undefined || last === 0) return 0;
  const different = list.findLastIndex((one) => one !== last);
  return list.length - 1 - different;
}

/** How many at the end repeat in a cycle of two to four that are not all the same. */
function alternating(list: readonly number[]): number {
  let most = 0;
  for (let period = 2; period <= LONGEST_CYCLE; period++) {
    let i = list.length - 1;
    while (i >= period && list[i] === list[i - period]) i--;
    const run = list.length - 1 - i + period;
    const cycle = list.slice(-period);
    if (i < list.length - 1 && new Set(cycle).size > 1) most = Math.max(most, Math.min(run, list.length));
  }
  return most;
}
