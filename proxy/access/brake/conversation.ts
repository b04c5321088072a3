// What the brake knows of one conversation: its threads, its pace, and whether it was stopped.
import type { BrakeRule, BrakeSettings } from '../../../config/brake-settings.ts';
import { Pace, type FastMinute, type PaceBounds } from './pace.ts';
import { findingsOf, type Finding } from './rules.ts';
import { Starts } from './starts.ts';
import { REPEAT_WINDOW_MS, Thread, type SeenRequest, type ThreadId } from './thread.ts';

/** A conversation with sub-agents has as many threads; beyond it the one that is longest unused is forgotten. */
const MOST_THREADS = 12;
/** Messages of users that are known, of all threads. */
const MOST_USERS = 12;
/** A thread that has not called for longer is not at work. */
const AT_WORK_MS = 60_000;
/** Nor has one with fewer calls yet: an agent that begins anew again and again is one. */
const LEAST_CALLS = 5;
/** What the id of a conversation begins with that states none: its first message alone says which it is. */
export const FIRST_MESSAGE = 'first-message:';
const NONE: readonly never[] = Object.freeze([]);

export interface Stopped {
  readonly rule: BrakeRule;
  readonly count: number;
  readonly fast: FastMinute | null;
  readonly atMs: number;
  /** Of the messages of the request that was stopped. */
  readonly bytes: number;
  /** By another process, or before a restart: this one has not seen the messages. */
  readonly isTold: boolean;
  /** For a single prompt that was sent again and again: another prompt is no repetition. */
  readonly isOfPrompt: boolean;
}

/** How a call ended. */
export interface BrakeCallEnd {
  /** The kind of its failure; null = success, undefined = it says nothing about either. */
  readonly error: string | null | undefined;
  /** Nothing was answered, at no cost: sending it again is what its client ought to do, and no sign of a loop. */
  readonly isUnanswered: boolean;
  readonly pico: number;
  readonly atMs: number;
}

export class Conversation {
  readonly id: string;
  /** Whose it is (`holderOf`). */
  readonly holder: string;
  readonly sinceMs: number;
  lastMs: number;
  calls = 0;
  refused = 0;
  spendPico = 0;
  stopped: Stopped | null = null;
  /** When it was stopped or resumed last, or that was kept anew; -1 = never. */
  changedMs = -1;
  /** Of the messages of the last request. */
  bytes = -1;
  /** What the last request has reached. */
  findings: readonly Finding[] = NONE;
  #threads: readonly Thread[] = [];
  readonly #callPace = new Pace();
  readonly #costPace = new Pace();
  readonly #starts = new Starts();
  /** What users have said, as digests. */
  #users: readonly number[] = NONE;
  #error: string | null = null;
  #errors = 0;
  /** Messages up to there are not counted by threads that are new here. */
  #countedTo = -1;
  /** Rules that an alert has told of since the last message of the user. */
  #alerted: readonly string[] = NONE;

  constructor(id: string, holder: string, nowMs: number) {
    this.id = id;
    this.holder = holder;
    this.sinceMs = nowMs;
    this.lastMs = nowMs;
  }

  get threads(): number {
    return this.#threads.length;
  }

  /** Counts a request. @returns the thread it belongs to */
  add(id: ThreadId, request: Omit<SeenRequest, 'countedTo' | 'pollingMs'>, settings: BrakeSettings): Thread {
    const { atMs, bytes } = request;
    const seen = { ...request, countedTo: this.#countedTo, pollingMs: settings.pollingMs };
    const thread = this.#thread(id, seen);
    this.lastMs = atMs;
    this.bytes = bytes;
    // An agent that talks to itself sends what looks like messages of its user.
    const isWaiting = this.stopped !== null && this.stopped.rule !== 'repeated_prompt';
    const isDialogue = this.stopped?.isOfPrompt !== true;
    if (this.#takes(thread, seen, isWaiting, isDialogue) && !this.#holdsNothingNew(seen)) this.rearm();
    else if (!isDialogue && atMs - (this.stopped?.atMs ?? atMs) > REPEAT_WINDOW_MS) this.#tryAgain();
    const wasDialogue = thread.isDialogue;
    thread.add(seen);
    if (thread.isDialogue && !wasDialogue && isFirstTurn(seen)) this.#starts.addAgent(atMs);
    const isStart = isStartOf(seen) && !this.id.startsWith(FIRST_MESSAGE);
    if (isStart) this.#starts.add(seen.body, atMs);
    this.#callPace.add(1, atMs, this.#callBounds(settings));
    this.findings = findingsOf(
      settings,
      (rule) =>
        rule === 'repeated_start'
          ? isStart
            ? this.#starts.same(seen.body)
            : 0
          : this.#count(rule, thread, atMs, settings),
      (rule) => this.#fast(rule),
    );
    return thread;
  }

  /**
   * Whether the request holds something new that a user says, in a dialogue that has begun: what the assistant has said stands
   * before it, or is stored.
   * @param isWaiting the user was told to write something: what was said before will do
   * @param isDialogue false: it is one of single prompts, each without what was said before
   */
  #takes(thread: Thread, seen: SeenRequest, isWaiting: boolean, isDialogue: boolean): boolean {
    const { turn, isWhole } = seen;
    if (turn === null || turn.user === 0 || thread.isCutBy(seen)) return false;
    const isKnown = this.#users.includes(turn.user);
    if (!isKnown) this.#users = [...this.#users, turn.user].slice(-MOST_USERS);
    if (!turn.hasAssistant && isWhole && isDialogue) return false;
    return !isKnown || (isWaiting && thread.isOther(seen));
  }

  /** A message that this process has not seen may still be older than the stop: then the messages are no more than they were. */
  #holdsNothingNew({ isWhole, bytes }: SeenRequest): boolean {
    if (this.stopped?.isTold !== true || !isWhole) return false;
    return this.stopped.isOfPrompt ? bytes === this.stopped.bytes : bytes <= this.stopped.bytes;
  }

  /** A call has ended. @param body digest of its request */
  ended(
    thread: Thread,
    body: number,
    { error, isUnanswered, pico, atMs }: BrakeCallEnd,
    settings: BrakeSettings,
  ): void {
    this.spendPico += pico;
    thread.ended(atMs);
    if (pico > 0) this.#costPace.add(pico, atMs, this.#costBounds(settings));
    if (error === null) thread.answered(body);
    else thread.failed(body, !isUnanswered);
    if (isUnanswered) {
      this.#callPace.takeBack(1);
      this.#starts.takeBack(body);
    }
    if (error === undefined || isUnanswered) return;
    this.#errors = error !== null && error === this.#error ? this.#errors + 1 : Number(error !== null);
    this.#error = error;
  }

  /** Whether to tell of a rule at this level: once, until the next message of the user. */
  tells(what: string): boolean {
    if (this.#alerted.includes(what)) return false;
    this.#alerted = [...this.#alerted, what];
    return true;
  }

  /** An administrator or another process lets it go on. @param bytes of its messages, which are not counted again; -1 = not known */
  goesOn(bytes: number): void {
    this.#countedTo = bytes;
    this.rearm();
  }

  /** A new message of the user, or an administrator, lets the conversation go on; counting begins anew. */
  rearm(): void {
    this.#alerted = NONE;
    this.#tryAgain();
  }

  /** Of the same prompt, which a timetable may send: nobody is told of it anew. */
  #tryAgain(): void {
    this.stopped = null;
    this.findings = NONE;
    this.#error = null;
    this.#errors = 0;
    this.#callPace.rearm();
    this.#costPace.rearm();
    this.#starts.rearm();
    for (const thread of this.#threads) thread.rearm();
  }

  /** Of a minute: what is usual for it, and this one. */
  get pace(): {
    readonly usualCalls: number | null;
    readonly calls: number;
    readonly usualPico: number | null;
    readonly pico: number;
  } {
    return {
      usualCalls: this.#callPace.median,
      calls: this.#callPace.amount,
      usualPico: this.#costPace.median,
      pico: this.#costPace.amount,
    };
  }

  #count(rule: BrakeRule, thread: Thread, nowMs: number, settings: BrakeSettings): number {
    if (rule === 'call_errors') return this.#errors;
    if (rule === 'new_agents') return this.#starts.agents;
    if (rule === 'call_rate') return this.#callPace.minutesOver(nowMs, this.#callBounds(settings));
    if (rule === 'cost_rate') return this.#costPace.minutesOver(nowMs, this.#costBounds(settings));
    return thread.count(rule, nowMs);
  }

  #fast(rule: BrakeRule): FastMinute | null {
    if (rule === 'call_rate') return this.#callPace.fast;
    return rule === 'cost_rate' ? this.#costPace.fast : null;
  }

  #callBounds({ rateFactor, minCallsPerMinute }: BrakeSettings): PaceBounds {
    return { factor: rateFactor, least: minCallsPerMinute * this.#atWork };
  }

  #costBounds({ rateFactor, minPicoPerMinute }: BrakeSettings): PaceBounds {
    return { factor: rateFactor, least: minPicoPerMinute * this.#atWork };
  }

  /** Agents that work side by side; single prompts are none. */
  get #atWork(): number {
    const atWork = this.#threads.filter(
      ({ isDialogue, calls, lastMs }) =>
        isDialogue && calls >= LEAST_CALLS && this.lastMs - lastMs <= AT_WORK_MS,
    );
    return Math.max(1, atWork.length);
  }

  #thread(id: ThreadId, seen: SeenRequest): Thread {
    const threads = this.#threads;
    const found =
      this.#sameTask(id, seen) ??
      threads.findLast((one) => one.role === id.role && one.first !== id.first && one.leadsTo(seen, id)) ??
      new Thread(id);
    found.first = id.first;
    if (threads.at(-1) !== found) {
      this.#threads = [...threads.filter((one) => one !== found), found].slice(-MOST_THREADS);
    }
    return found;
  }

  /** Of the threads with the same first message the one that it goes on; a prompt alone goes on none that is a dialogue. */
  #sameTask(id: ThreadId, seen: SeenRequest): Thread | undefined {
    const runs = this.#threads.filter(({ role, first }) => role === id.role && first === id.first);
    if (seen.turns !== null && isStartOf(seen)) return runs.findLast(({ isDialogue }) => !isDialogue);
    const [one] = runs;
    if (runs.length === 1 && one?.isExtendedBy(seen) === true) return one; // nearly always, and nothing more is read
    const relations = runs.map((run) => run.relationTo(seen));
    return runs[relations.lastIndexOf('known')] ?? runs[relations.lastIndexOf('possible')];
  }
}

const isStartOf = ({ isWhole, turn }: Omit<SeenRequest, 'countedTo' | 'pollingMs'>): boolean =>
  isWhole && turn?.hasAssistant === false;

/** Of a thread that was forgotten here, or that others have served, more is shown. */
const isFirstTurn = ({ turns, isWhole }: SeenRequest): boolean =>
  isWhole && turns !== null && turns.before(1)?.hasAssistant !== true;
