// One thread of a conversation: the requests with the same instructions and the same first message. An agent's own calls, those
// of each sub-agent and those that sum up or name a conversation are told apart by it, so that none hides what another does,
// and none is counted as another. What the rules count of its requests stands here; nothing of it is text.
import type { BrakeRule } from '../../../config/brake-settings.ts';
import { Steps, WINDOW, type Wait } from './steps.ts';
import type { Turn, TurnsFromEnd } from './turns.ts';

const COMPACTION_WINDOW_MS = 15 * 60_000;
/** Requests that are farther apart are no repetition. */
export const REPEAT_WINDOW_MS = 10 * 60_000;
/** Less is no context yet. */
const LEAST_CONTEXT_BYTES = 20_000;
const MOST_DROPS = 16;
const MOST_TURNS = 4;
/** Agents move marks (`cache_control`) between messages, so a message may stand a little earlier or later than before. */
const SHIFT_BYTES = 256;
/** Between the end of the messages and the beginning of the next one: no turn is as short. */
const GAP_BYTES = 16;
/** Lists are replaced, never changed, so that all that are empty are one. */
const NONE: readonly number[] = Object.freeze([]);

/** What a thread is known by, as digests. */
export interface ThreadId {
  /** Of the beginning of its instructions. */
  readonly role: number;
  /** Of its first message of a user; 0 where the messages are not all there are. */
  readonly first: number;
  /** Whether its first message sums up what was cut away. */
  readonly isSummary: () => boolean;
}

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
  /** What takes longer than this between an answer and the next request is waiting, of an agent or of its user. */
  readonly pollingMs: number;
  readonly atMs: number;
}

export class Thread {
  /** Of its instructions. */
  readonly role: number;
  /** Of its first message, which an agent may rewrite. */
  first: number;
  lastMs = -1;
  /** It has sent words of an assistant: it is no single prompt. */
  isDialogue = false;
  calls = 0;
  readonly #steps = new Steps();
  #bytes = -1;
  #sent = 0;
  #turns: readonly number[] = NONE;
  #said: readonly number[] = NONE;
  #body = 0;
  /** Requests with this body that have ended without success. */
  #bodyFailures = 0;
  #bodySinceMs = 0;
  /** The last request that was answered; 0 = the last one has failed. */
  #answered = 0;
  /** When the last call ended; -1 = none has, or the last one still runs. */
  #endedMs = -1;
  #drops: readonly number[] = NONE;
  #grown = 0;

  constructor({ role, first }: ThreadId) {
    this.role = role;
    this.first = first;
  }

  /** The messages of a request go on where this thread was, under another first message. */
  leadsTo(seen: SeenRequest, { isSummary }: ThreadId): boolean {
    const { turns, turn } = seen;
    if (turns === null || turn === null) return false;
    if (!turn.hasAssistant) return this.isCutBy(seen) && isSummary();
    if (this.#said.at(-1) === turns.said()) return true;
    return [turn, turns.before(1)].some(
      (one) => (one?.sent ?? 0) !== 0 && this.#turns.includes(one?.sent ?? 0),
    );
  }

  /** The messages of a request begin anew where those of the last one ended. */
  isExtendedBy({ turn, bytes, isWhole }: SeenRequest): boolean {
    return isWhole && turn !== null && bytes > this.#bytes && Math.abs(turn.start - this.#bytes) <= GAP_BYTES;
  }

  /**
   * Whether a request with the same first message goes on with the calls that this thread has seen; another: calls of another
   * run of the same task stand in their place.
   */
  relationTo(seen: SeenRequest): 'known' | 'possible' | 'another' {
    const { turns, isWhole } = seen;
    if (turns === null || !isWhole || this.#turns.every((sent) => sent === 0)) return 'possible';
    let hasCalls = false;
    for (let last = 0; last < WINDOW; last += 1) {
      const turn = turns.before(last);
      if (turn === null || !turn.hasAssistant) break;
      if (turn.sent !== 0 && this.#turns.includes(turn.sent)) return 'known';
      hasCalls ||= turn.sent !== 0;
      if (turn.start < this.#bytes - SHIFT_BYTES) break;
    }
    // Some agents give their calls other ids in each request.
    return !hasCalls || this.isExtendedBy(seen) ? 'possible' : 'another';
  }

  /** The prompt was cut: what looks like a message of the user then is often the summary of what is gone. */
  isCutBy({ isWhole, bytes }: SeenRequest): boolean {
    return isWhole && this.#bytes >= LEAST_CONTEXT_BYTES && bytes < this.#bytes / 2;
  }

  /** Whether it is another request than the last one. */
  isOther({ isWhole, bytes, body }: SeenRequest): boolean {
    return isWhole ? bytes !== this.#bytes : body !== this.#body;
  }

  /** Forgets what was counted; the messages so far stay known, so that they are not counted again. */
  rearm(): void {
    this.#steps.rearm();
    this.#said = NONE;
    this.#body = 0;
    this.#bodyFailures = 0;
    this.#drops = NONE;
    this.#grown = 0;
  }

  /** Counts a request. */
  add(seen: SeenRequest): void {
    const isResent = seen.body === this.#body;
    const isCut = this.isCutBy(seen);
    this.#countBody(seen);
    this.#addTurns(seen, isResent);
    this.calls += 1;
    this.isDialogue ||= seen.turn?.hasAssistant === true;
    this.lastMs = seen.atMs;
    this.#endedMs = -1;
    if (!seen.isWhole) return;
    const before = this.#bytes;
    if (isCut) this.#drops = [...this.#drops, seen.atMs].slice(-MOST_DROPS);
    if (before >= 0 && seen.bytes > before) this.#grown += 1;
    else if (seen.bytes < before) this.#grown = 0;
    this.#bytes = seen.bytes;
  }

  /** A call has ended. */
  ended(atMs: number): void {
    this.#endedMs = atMs;
  }

  /** A request was answered. */
  answered(body: number): void {
    this.#answered = body;
    this.#bodyFailures = 0;
  }

  /** A request has failed. @param isOwn the failure says something of the request: not one of the upstream at no cost */
  failed(body: number, isOwn: boolean): void {
    this.#answered = 0;
    if (isOwn && body === this.#body) this.#bodyFailures += 1;
  }

  count(rule: BrakeRule, nowMs: number): number {
    switch (rule) {
      case 'repeated_step':
        return this.#steps.repeatedSteps;
      case 'repeated_error':
        return this.#steps.repeatedErrors;
      case 'repeated_call':
        return this.#steps.repeatedCalls;
      case 'alternation':
        return this.#steps.alternating;
      case 'repeated_prompt': {
        const last = this.#said.at(-1);
        return last === undefined ? 0 : this.#said.filter((one) => one === last).length;
      }
      case 'repeated_request':
        return this.#bodyFailures + 1; // those that run side by side with this one may succeed
      case 'tool_errors':
        return this.#steps.sameErrors;
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

  #addTurns(seen: SeenRequest, isResent: boolean): void {
    const { turns, turn, bytes, isWhole, countedTo } = seen;
    if (turns === null || turn === null) return;
    if (turn.steps.length === 0 || isResent) this.#addPrompt(seen, turns, isResent);
    const isShrunk = isWhole && this.#bytes > bytes;
    const isSame = turn.sent === this.#sent && (bytes === this.#bytes || isShrunk);
    const isOld = isWhole && (isSame || (this.#bytes < 0 && bytes <= countedTo));
    if (isResent) return;
    this.#sent = turn.sent;
    if (isOld) return;
    const missed = isShrunk ? [] : this.#missed(turns, turn, isWhole, countedTo);
    const added = [...missed.reverse(), turn];
    const wait = this.#waitOf(seen, added);
    for (const one of added) {
      this.#turns = [...this.#turns, one.sent].slice(-MOST_TURNS);
      if (one.steps.length > 0) this.#steps.add(one.steps, wait);
    }
  }

  /**
   * How long the calls of each turn took, by the time between the end of the last call and this one. Where others have served
   * turns between, what their models took is in it: that a turn was short can be told all the same, that it was long cannot.
   */
  #waitOf({ atMs, pollingMs }: SeenRequest, added: readonly Turn[]): Wait {
    if (pollingMs === Infinity) return 'none';
    if (this.lastMs < 0) return 'unknown';
    const hasEnded = this.#endedMs >= 0;
    const gapMs = atMs - (hasEnded ? this.#endedMs : this.lastMs);
    if (gapMs < pollingMs) return 'none';
    if (added.length === 1) return hasEnded ? 'long' : 'none';
    return gapMs < pollingMs * added.length && callTheSame(added) ? 'none' : 'unknown';
  }

  /**
   * A prompt that ends as an earlier one did: not one that failed and was sent again, which is another rule, nor one after a
   * pause, which a person has made or a timetable.
   */
  #addPrompt(seen: SeenRequest, turns: TurnsFromEnd, isResent: boolean): void {
    if (seen.turn?.isExempt !== false || !seen.turn.hasAssistant) return;
    if (isResent && this.#body !== this.#answered) return;
    if (this.#waitOf(seen, [seen.turn]) === 'long') return;
    this.#said = [...this.#said, turns.said()].slice(-WINDOW);
  }

  /**
   * Turns before the last one that were not counted: all, when this thread is new here (the process has started, another
   * worker had it), and those that other workers have served meanwhile. Last first, up to a user's message.
   */
  #missed(turns: TurnsFromEnd, last: Turn, isWhole: boolean, countedTo: number): Turn[] {
    const missed: Turn[] = [];
    const seenTo = this.#bytes < 0 ? countedTo : this.#bytes;
    const isNew = seenTo < 0;
    if (!isWhole || last.user !== 0 || (!isNew && last.start <= seenTo + GAP_BYTES)) return missed;
    for (let steps = last.steps.length; steps < WINDOW;) {
      const turn = turns.before(missed.length + 1);
      if (turn === null || !turn.hasAssistant || turn.user !== 0) break;
      if (!isNew && (turn.start < seenTo - SHIFT_BYTES || this.#turns.includes(turn.sent))) break;
      missed.push(turn);
      steps += Math.max(1, turn.steps.length);
    }
    return missed;
  }
}

/** So that each takes about as long as the others. */
const callTheSame = ([one, ...others]: readonly Turn[]): boolean =>
  others.every(
    ({ steps }) => steps.length > 0 && steps.every(({ call }, at) => call === one?.steps[at]?.call),
  );
