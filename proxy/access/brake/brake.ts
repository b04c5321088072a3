// The runaway brake: remembers the last conversations and says of each request how its conversation goes on. One per
// process, in memory; what it forgets at a restart is counted again from the next request where the messages show it. Only what
// is stopped is kept, and told to the other processes.
import type { Buffer } from 'node:buffer';
import type { BrakeLevel, BrakeRule, BrakeSettings } from '../../../config/brake-settings.ts';
import type { Range } from '../../bodies/elements.ts';
import type { ConversationRules } from '../../protocols/conversation.ts';
import type { AccessEvents } from '../events.ts';
import { Conversation, FIRST_MESSAGE, type BrakeCallEnd, type Stopped } from './conversation.ts';
import { Digests } from './digests.ts';
import { wordsOf, type Finding } from './rules.ts';
import type { StopChange, StopKeeper } from './stops.ts';
import type { Thread, ThreadId } from './thread.ts';
import { instructionsOf, isSummary, openingOf } from './instructions.ts';
import { TurnsFromEnd, turnOfText, type Turn } from './turns.ts';

/** A request as the brake reads it. */
interface BrakeRequest {
  /** Whose conversation it is (`holderOf`). */
  readonly holder: string;
  /** SHA-256 hex of the key, as rows state it. */
  readonly keyHash: string;
  /** null: it states none, and its first message stands for one. */
  readonly sessionId: string | null;
  readonly body: Buffer;
  /** Where its messages stand, a list or a text; null: it has none. */
  readonly messages: Range | null;
  /** Where its instructions stand beside the messages. */
  readonly instructions: Range | null;
  readonly rules: ConversationRules;
  /** It goes on with a stored response, so its messages are not all. */
  readonly isContinued: boolean;
  readonly atMs: number;
}

/** What becomes of a request. */
export interface BrakeVerdict {
  readonly conversation: Conversation;
  readonly thread: Thread;
  /** Digest of the request. */
  readonly body: number;
  /** All that it has reached, none of them when the conversation goes well. */
  readonly findings: readonly Finding[];
  readonly action: 'pass' | 'slow' | 'stop';
}

/** A conversation as administrators see it. */
export interface BrakeReport {
  readonly conversation: string;
  readonly holder: string;
  readonly state: 'running' | 'noticed' | 'stopped';
  readonly stopped: Pick<Stopped, 'rule' | 'count' | 'fast' | 'atMs'> | null;
  readonly findings: readonly Finding[];
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly calls: number;
  readonly refused: number;
  readonly spendPico: number;
  readonly pace: Conversation['pace'];
}

/** What an administrator asks: of all conversations that are stopped or noticed (null), or of one. */
export interface BrakeQuestion {
  readonly conversation: string | null;
  /** Lets it go on first. */
  readonly resumes: boolean;
}

const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;
/** Of the messages, for the digest of a request. */
const END_BYTES = 2_048;
/** Of the time after which idle ones are forgotten: a stop that is older is kept anew while its agent goes on calling. */
const KEPT_AGAIN = 1 / 4;
/** What they stop goes on with another prompt. */
const OF_PROMPTS: ReadonlySet<BrakeRule> = new Set<BrakeRule>(['repeated_request', 'repeated_start']);
/** For each conversation that may be remembered: one may have twelve, all of them together no more than this. */
const THREADS_EACH = 2;
/** In a list for administrators. */
const MOST_LISTED = 1_000;

export class Brake {
  readonly #digests = new Digests();
  /** In the order of their last request. */
  readonly #conversations = new Map<string, Conversation>();
  /** Of all conversations. */
  #threads = 0;
  readonly #count: (rule: BrakeRule, level: BrakeLevel) => void;
  readonly #events: AccessEvents;
  /** null: stops are this process's own, and end with it. */
  #keeper: StopKeeper | null = null;

  /** @param count for metrics: a request has led to this */
  constructor(count: (rule: BrakeRule, level: BrakeLevel) => void, events: AccessEvents) {
    this.#count = count;
    this.#events = events;
  }

  /** From now on others learn what is stopped and resumed here. */
  shareWith(keeper: StopKeeper): void {
    this.#keeper = keeper;
  }

  /** Takes another configuration; null: it has none for the brake. */
  use(settings: BrakeSettings | null): void {
    if (settings?.enforces === true) void this.#keeper?.open(settings.idleMs);
  }

  /** What another process, or this one before, has stopped or resumed. */
  told({ conversation: id, holder, atMs, stopped, bytes = -1 }: StopChange): void {
    const key = `${id} ${holder}`;
    const known = this.#conversations.get(key);
    if (known === undefined && stopped === null) return;
    const conversation = known ?? new Conversation(id, holder, atMs);
    if (atMs <= conversation.changedMs) return;
    conversation.changedMs = atMs;
    conversation.lastMs = Math.max(conversation.lastMs, atMs);
    this.#conversations.delete(key);
    this.#conversations.set(key, conversation); // the one that had a request last
    if (stopped === null) conversation.goesOn(bytes);
    else {
      const { sinceMs = atMs, isOfPrompt = false, fast = null, ...what } = stopped;
      conversation.stopped ??= { ...what, fast, atMs: sinceMs, isTold: true, isOfPrompt };
    }
  }

  /** Conversations that are remembered, and those of them that are stopped. */
  get figures(): { readonly known: number; readonly stopped: number } {
    let stopped = 0;
    for (const one of this.#conversations.values()) if (one.stopped !== null) stopped += 1;
    return { known: this.#conversations.size, stopped };
  }

  /** Counts a request and judges its conversation. */
  check(request: BrakeRequest, settings: BrakeSettings, isExempt: (tool: string) => boolean): BrakeVerdict {
    const { atMs } = request;
    const opening = this.#openingOf(request);
    const conversation = this.#conversation(request, opening, settings);
    const turns = this.#turns(request, settings, isExempt);
    const turn: Turn | null = turns === null ? this.#textOf(request) : turns.before(0);
    const seen = {
      turns,
      turn,
      bytes: request.messages === null ? 0 : request.messages.end - request.messages.start,
      body: this.#bodyDigest(request),
      isWhole: !request.isContinued && request.messages !== null,
      atMs,
    };
    const wasStopped = conversation.stopped !== null;
    const threads = conversation.threads;
    const thread = conversation.add(this.#threadId(request, opening), seen, settings);
    this.#threads += conversation.threads - threads;
    if (wasStopped && conversation.stopped === null) this.#changed(conversation, atMs);
    const { findings } = conversation;
    const hardest = findings.find(({ level }) => level === 'stop');
    if (hardest !== undefined && settings.enforces && conversation.stopped === null) {
      const { rule, count, fast } = hardest;
      const isOfPrompt = OF_PROMPTS.has(rule) && turn?.hasAssistant === false && seen.isWhole;
      conversation.stopped = { rule, count, fast, atMs, bytes: seen.bytes, isTold: false, isOfPrompt };
      this.#changed(conversation, atMs);
    }
    if (conversation.stopped === null) conversation.calls += 1;
    else {
      conversation.refused += 1;
      // It is not idle: neither the next start nor another process may forget it.
      if (atMs - conversation.changedMs > settings.idleMs * KEPT_AGAIN) this.#changed(conversation, atMs);
    }
    this.#tell(conversation, settings, request);
    return { conversation, thread, body: seen.body, findings, action: actionOf(conversation, settings) };
  }

  /** The call of a request that was passed on has ended. */
  ended({ conversation, thread, body }: BrakeVerdict, end: BrakeCallEnd, settings: BrakeSettings): void {
    conversation.ended(thread, body, end, settings);
  }

  ask({ conversation, resumes }: BrakeQuestion): readonly BrakeReport[] {
    const found: BrakeReport[] = [];
    for (const one of this.#conversations.values()) {
      if (conversation !== null && one.id !== conversation) continue;
      if (conversation === null && one.findings.length === 0 && one.stopped === null) continue;
      if (resumes) this.#resume(one);
      found.push(reportOf(one));
    }
    return found.slice(-MOST_LISTED);
  }

  #resume(one: Conversation): void {
    const { stopped } = one;
    const bytes = Math.max(one.bytes, stopped?.bytes ?? -1);
    one.goesOn(bytes);
    if (stopped !== null) this.#changed(one, one.lastMs, bytes);
  }

  /** Of changes within a millisecond the later one counts too. */
  #changed(one: Conversation, atMs: number, bytes: number = one.bytes): void {
    one.changedMs = Math.max(atMs, one.changedMs + 1);
    if (one.id.startsWith(FIRST_MESSAGE)) return; // nobody else knows it by this name
    const { id: conversation, holder, stopped, changedMs } = one;
    if (stopped === null) this.#keeper?.keep({ conversation, holder, atMs: changedMs, stopped, bytes });
    else {
      const { rule, count, fast, bytes: stoppedAt, isOfPrompt, atMs: sinceMs } = stopped;
      const what = { rule, count, fast, bytes: stoppedAt, isOfPrompt, sinceMs };
      this.#keeper?.keep({ conversation, holder, atMs: changedMs, stopped: what });
    }
  }

  #conversation(request: BrakeRequest, opening: string, settings: BrakeSettings): Conversation {
    const { holder, atMs } = request;
    const id = request.sessionId ?? `${FIRST_MESSAGE}${this.#digests.hex(opening)}`;
    const key = `${id} ${holder}`;
    const all = this.#conversations;
    const known = all.get(key);
    const isIdle = known !== undefined && atMs - known.lastMs > settings.idleMs;
    const conversation = known === undefined || isIdle ? new Conversation(id, holder, atMs) : known;
    if (isIdle) this.#threads -= known.threads;
    all.delete(key);
    all.set(key, conversation);
    const most = settings.maxConversations;
    for (const [oldest, { lastMs, threads }] of all) {
      const isFull = all.size > most || this.#threads > THREADS_EACH * most;
      if (oldest === key || (!isFull && atMs - lastMs <= settings.idleMs)) break;
      all.delete(oldest);
      this.#threads -= threads;
    }
    return conversation;
  }

  #openingOf({ body, messages, rules }: BrakeRequest): string {
    return messages === null ? '' : openingOf(body, messages, rules);
  }

  #threadId(request: BrakeRequest, opening: string): ThreadId {
    const { body, messages, isContinued } = request;
    const role = this.#digests.of('instructions', instructionsOf(body, request));
    const first = isContinued ? 0 : this.#digests.of('first', opening);
    return { role, first, isSummary: () => isSummary(body, messages) };
  }

  #turns(
    { body, messages, rules }: BrakeRequest,
    settings: BrakeSettings,
    isExempt: (tool: string) => boolean,
  ): TurnsFromEnd | null {
    if (messages === null || body[messages.start] !== OPEN_BRACKET) return null;
    const ignored = settings.ignoredArguments;
    return new TurnsFromEnd(body, messages, { rules, digests: this.#digests, isExempt, ignored });
  }

  #textOf({ body, messages }: BrakeRequest): Turn | null {
    if (messages === null || body[messages.start] !== QUOTE) return null;
    return turnOfText(body, messages, this.#digests);
  }

  /** By its length and the end of its messages, where two requests of an agent differ. */
  #bodyDigest({ body, messages }: BrakeRequest): number {
    const end = messages?.end ?? body.length;
    const last = body.subarray(Math.max(messages?.start ?? 0, end - END_BYTES), end);
    return this.#digests.of('body', String(body.length), last);
  }

  #tell(
    conversation: Conversation,
    settings: BrakeSettings,
    { keyHash, atMs }: Pick<BrakeRequest, 'keyHash' | 'atMs'>,
  ): void {
    for (const finding of conversation.findings) {
      const { rule, count, level, from } = finding;
      this.#count(rule, level);
      const isStop = level === 'stop' && settings.enforces;
      if (count < settings.rules[rule].alert && !isStop) continue;
      const told = isStop ? 'stop' : 'alert';
      if (!conversation.tells(`${rule} ${told}`)) continue;
      const seen = `In this conversation ${wordsOf(finding)}`;
      const text = `${seen} (rule ${rule}, ${level} from ${from} on).`;
      this.#events.emit({
        kind: 'brake',
        atMs,
        conversation: conversation.id,
        keyHash,
        rule,
        level: told,
        count,
        text,
      });
    }
  }
}

function actionOf({ stopped, findings }: Conversation, { enforces }: BrakeSettings): BrakeVerdict['action'] {
  if (!enforces) return 'pass';
  if (stopped !== null) return 'stop';
  return findings.some(({ level }) => level === 'slow') ? 'slow' : 'pass';
}

function reportOf(one: Conversation): BrakeReport {
  const noticed = one.findings.length > 0 ? 'noticed' : 'running';
  return {
    conversation: one.id,
    holder: one.holder,
    state: one.stopped === null ? noticed : 'stopped',
    stopped: one.stopped,
    findings: one.findings,
    sinceMs: one.sinceMs,
    lastMs: one.lastMs,
    calls: one.calls,
    refused: one.refused,
    spendPico: one.spendPico,
    pace: one.pace,
  };
}
