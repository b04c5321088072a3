// Capsules of one process: decides which calls are recorded, and writes the recordings behind them. Never in the way of a call:
// memory, recordings at once and files that wait are bounded, and what is over a bound is dropped and counted.
import type { CapsuleSettings } from '../../config/capsule-settings.ts';
import type { Clock } from '../base/clock.ts';
import { atMost } from '../base/within.ts';
import type { Log } from '../observability/logger.ts';
import { CallRecording, type FinishedRecording, type RecordedCall } from './call-recording.ts';
import type { CapsuleDirectory } from './directory.ts';
import type { CapsuleMetadata } from './format.ts';
import { CallMemory, RecordingMemory } from './recorded-bytes.ts';
import { CapsuleRules, type CapsuleRule, type RuleKeeper } from './rules.ts';

export type DropReason = 'busy' | 'write_failed';

export interface CapsuleFigures {
  readonly rules: number;
  readonly written: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** Of all files, when the last one was written. */
  readonly bytes: number;
}

interface CapsulesOptions {
  readonly directory: CapsuleDirectory;
  /** Those that serve now; null = they were removed from the configuration. */
  readonly settings: () => CapsuleSettings | null;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Of all recordings together, in one process. */
const MEMORY_BYTES = 64 * 1024 * 1024;
/** At once, those that wait for their file among them. */
const MOST_RECORDINGS = 200;
/** A folder that cannot be written would fill the log. */
const WARN_EVERY_MS = 60_000;
const CLOSE_MS = 5_000;
const TIDY_EVERY_MS = 600_000;

/** Of a call that is being recorded. */
export interface OpenCapsule {
  readonly recording: CallRecording;
  /** null until the conversation is known, where only that decides. */
  rule: CapsuleRule | null;
}

export class Capsules {
  readonly directory: CapsuleDirectory;
  readonly rules = new CapsuleRules();
  readonly #options: CapsulesOptions;
  readonly #memory = new RecordingMemory(MEMORY_BYTES);
  #keeper: RuleKeeper | null = null;
  #timer: NodeJS.Timeout | null = null;
  #recordings = 0;
  #written = 0;
  readonly #dropped: Record<DropReason, number> = { busy: 0, write_failed: 0 };
  #warnedAt = -Infinity;
  /** Files, one after the other. */
  #work: Promise<void> = Promise.resolve();

  constructor(options: CapsulesOptions) {
    this.#options = options;
    this.directory = options.directory;
  }

  shareWith(keeper: RuleKeeper): void {
    this.#keeper = keeper;
  }

  /** Old files go now, and from now on when their time is over. */
  tidyOften(): void {
    this.#tidy();
    this.#timer = setInterval(() => this.#tidy(), TIDY_EVERY_MS).unref();
  }

  get settings(): CapsuleSettings | null {
    return this.#options.settings();
  }

  get figures(): CapsuleFigures {
    const rules = this.rules.all(this.#options.clock.now()).length;
    return { rules, written: this.#written, dropped: { ...this.#dropped }, bytes: this.directory.bytes };
  }

  /** Records from now on, in all processes. */
  async add(rule: CapsuleRule): Promise<void> {
    await this.#keeper?.put(rule);
    this.rules.told(rule);
  }

  /** @returns whether there was such a rule */
  async stop(id: string): Promise<boolean> {
    await this.#keeper?.sync();
    const isKnown = this.rules.all(this.#options.clock.now()).some((rule) => rule.id === id);
    if (!isKnown) return false;
    await this.#keeper?.remove(id);
    this.rules.removed(id);
    return true;
  }

  /** What any process records. */
  async orders(): Promise<readonly CapsuleRule[]> {
    await this.#keeper?.sync().catch(() => undefined); // what is known here is shown all the same
    return this.rules.all(this.#options.clock.now());
  }

  /**
   * null: the call is not recorded. Where only its conversation can decide, it is recorded until that is known.
   * @param stated the conversation, where the request's head names it
   */
  begin(keyHash: string, stated: string | null, call: () => RecordedCall): OpenCapsule | null {
    const { settings } = this;
    if (this.rules.size === 0 || settings === null) return null;
    const nowMs = this.#options.clock.now();
    const rule = this.rules.ofKey(keyHash, nowMs);
    const ofSession = stated === null ? null : this.rules.ofSession(stated, nowMs);
    const mayBeSession = ofSession !== null || (stated === null && this.rules.hasSessions(nowMs));
    if (rule === null && !mayBeSession) return null;
    if (this.#recordings >= MOST_RECORDINGS) {
      if (rule !== null || ofSession !== null) this.#dropped.busy += 1;
      return null;
    }
    this.#recordings += 1;
    const mayKeep = rule?.bodies === true || (ofSession?.bodies ?? mayBeSession);
    const keeps = settings.keepsBodies && settings.publicKey !== null && mayKeep;
    const memory = new CallMemory(this.#memory, keeps ? settings.capsuleBytes : 0);
    return { recording: new CallRecording(call(), memory, keeps), rule };
  }

  /** The conversation of a call is known. @returns whether it is recorded */
  identified(capsule: OpenCapsule, sessionId: string): boolean {
    const nowMs = this.#options.clock.now();
    const found = this.rules.ofSession(sessionId, nowMs);
    if (found !== null && (capsule.rule === null || found.bodies)) capsule.rule = found;
    if (capsule.rule !== null) return true;
    this.#release(capsule);
    return false;
  }

  /** The call has ended: its file is written when there is time. Never throws, never waits. */
  ended(capsule: OpenCapsule, end: CapsuleMetadata['end'], hasLeft: boolean): void {
    const { rule, recording } = capsule;
    if (rule === null) return this.#release(capsule); // it ended before its conversation was known
    let finished: FinishedRecording;
    try {
      finished = recording.finish(end, hasLeft);
    } catch (err) {
      this.#failed(err);
      return this.#release(capsule);
    }
    this.#work = this.#work
      .then(() => this.#write(finished, rule))
      .catch((err: unknown) => this.#failed(err))
      .finally(() => this.#release(capsule));
  }

  /** Resolves when everything is written that can be written in time. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await atMost(CLOSE_MS, this.#work);
    await this.#keeper?.close();
  }

  /** Resolves when all that has ended so far is written. */
  get idle(): Promise<void> {
    return this.#work;
  }

  #tidy(): void {
    const { settings } = this;
    if (settings === null) return;
    const nowMs = this.#options.clock.now();
    this.#work = this.#work
      .then(() => this.directory.tidy(nowMs, settings))
      .catch((err: unknown) => this.#warn(err));
  }

  async #write(finished: FinishedRecording, rule: CapsuleRule): Promise<void> {
    const { settings } = this;
    if (settings === null) return;
    const isKept = rule.bodies && settings.keepsBodies;
    const recording = isKept ? finished : withoutContent(finished);
    const nowMs = this.#options.clock.now();
    const { maxBytes, maxAgeMs } = settings;
    const limits = { maxBytes, maxAgeMs };
    const publicKey = isKept ? settings.publicKey : null;
    await this.directory.write(recording, rule.id, publicKey, nowMs, limits);
    this.#written += 1;
  }

  #failed(err: unknown): void {
    this.#dropped.write_failed += 1;
    this.#warn(err);
  }

  #warn(err: unknown): void {
    const now = this.#options.clock.mono();
    if (now - this.#warnedAt < WARN_EVERY_MS) return;
    this.#warnedAt = now;
    this.#options.log.warn({ err, directory: this.directory.path }, 'a capsule cannot be written');
  }

  #release({ recording }: OpenCapsule): void {
    this.#recordings -= 1;
    recording.release();
  }
}

/** A conversation without bodies that was recorded with them until it was known. */
function withoutContent({ metadata }: FinishedRecording): FinishedRecording {
  const none = { kept_bytes: 0 };
  return {
    content: [],
    metadata: {
      ...metadata,
      request: { ...metadata.request, body: { ...metadata.request.body, ...none } },
      attempts: metadata.attempts.map((one) => ({
        ...one,
        request: { ...one.request, body: { ...one.request.body, ...none } },
        response: { ...one.response, ...none },
      })),
      response: { ...metadata.response, body: { ...metadata.response.body, ...none } },
    },
  };
}
