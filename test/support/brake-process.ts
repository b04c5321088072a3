// The runaway brake of one process, and agents whose requests it checks: by a clock that is set, without a server.
import { Buffer } from 'node:buffer';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { BRAKE_RULES, type BrakeRule, type BrakeSettings } from '../../config/brake-settings.ts';
import { loadConfig } from '../../config/load.ts';
import { Brake, type BrakeVerdict } from '../../proxy/access/brake/brake.ts';
import type { BrakeCallEnd } from '../../proxy/access/brake/conversation.ts';
import type { StopChange } from '../../proxy/access/brake/stops.ts';
import { CHAT_CONVERSATION } from '../../proxy/protocols/conversation.ts';

const HOUR = 3_600_000;
const NEVER = { note: Infinity, header: Infinity, alert: Infinity, slow: Infinity, stop: Infinity };
const MODEL = '{ model_name: a, litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1" } }';

/** What a configuration comes to whose section `brake` says this. */
export function brakeSettings(t: Test, members = ''): BrakeSettings {
  const path = join(t.testdir({}), 'gateway.yaml');
  writeFileSync(path, `model_list: [${MODEL}]\nbrake: { mode: enforce, ${members} }\n`);
  const loaded = loadConfig(path, {});
  if (!loaded.ok || loaded.snapshot.brake === null) throw new Error('the configuration is refused');
  return loaded.snapshot.brake;
}

/** A rule alone, so that no other one interferes. */
export const onlyRule = (rule: BrakeRule, stop: number): BrakeSettings => ({
  enforces: true,
  slowMs: 0,
  maxConversations: 100,
  idleMs: 6 * HOUR,
  exemptTools: [],
  ignoredArguments: new Set(),
  pollingMs: 5_000,
  rateFactor: 5,
  minCallsPerMinute: 30,
  minPicoPerMinute: 1e11,
  rules: {
    ...(Object.fromEntries(BRAKE_RULES.map((one) => [one, NEVER])) as BrakeSettings['rules']),
    [rule]: { ...NEVER, stop },
  },
});

export class BrakeProcess {
  alerts = 0;
  readonly brake = new Brake(() => undefined, { emit: () => void (this.alerts += 1) });
  readonly kept: StopChange[] = [];
  readonly #settings: BrakeSettings;

  constructor(settings: BrakeSettings) {
    this.#settings = settings;
    this.brake.shareWith({
      open: () => Promise.resolve(),
      keep: (change) => this.kept.push(structuredClone(change)),
    });
  }

  check(messages: readonly object[], atMs = 0, rules = CHAT_CONVERSATION): BrakeVerdict {
    const member = `[${messages.map(textOf).join()}]`;
    const body = Buffer.from(`{"messages":${member}}`);
    const range = { start: 12, end: body.length - 1 };
    const request = {
      holder: 'k',
      keyHash: 'k',
      sessionId: 's',
      body,
      messages: range,
      instructions: null,
      atMs,
    };
    return this.brake.check({ ...request, rules, isContinued: false }, this.#settings, () => false);
  }

  ended(verdict: BrakeVerdict, end: Partial<BrakeCallEnd> = {}): void {
    this.brake.ended(verdict, { error: null, isUnanswered: false, pico: 0, atMs: 0, ...end }, this.#settings);
  }

  get state(): string | undefined {
    return this.brake.ask({ conversation: 's', resumes: false })[0]?.state;
  }

  resume(): void {
    this.brake.ask({ conversation: 's', resumes: true });
  }
}

/** Texts of messages: an agent sends its whole history again with each request. */
const texts = new WeakMap<object, string>();

function textOf(message: object): string {
  const known = texts.get(message);
  if (known !== undefined) return known;
  const text = JSON.stringify(message);
  texts.set(message, text);
  return text;
}

/** A time that agents share. */
export interface SetClock {
  nowMs: number;
}

/** What an agent has got of its calls, the hardest that the brake did. */
type Action = BrakeVerdict['action'];

/** An agent in the one conversation of a process, or of several that serve its calls in turn. */
export class BrakeAgent {
  readonly messages: object[];
  readonly actions: Action[] = [];
  /** What its model takes. */
  modelMs = 1_000;
  readonly #processes: readonly BrakeProcess[];
  readonly #clock: SetClock;
  #asked = 0;
  #calls = 0;

  constructor(
    processes: BrakeProcess | readonly BrakeProcess[],
    clock: SetClock,
    task: string,
    instructions = 'You are an agent.',
  ) {
    this.#processes = [processes].flat();
    this.#clock = clock;
    this.messages = [
      { role: 'system', content: instructions },
      { role: 'user', content: task },
    ];
  }

  /** Asks the model. @param end how the call ends */
  asks(end: Partial<BrakeCallEnd> = {}): Action {
    const process = this.#processes[this.#asked++ % this.#processes.length];
    if (process === undefined) throw new Error('an agent has a process');
    const verdict = process.check(this.messages, this.#clock.nowMs);
    this.#clock.nowMs += this.modelMs;
    this.actions.push(verdict.action);
    if (verdict.action !== 'stop') process.ended(verdict, { atMs: this.#clock.nowMs, ...end });
    return verdict.action;
  }

  /** Asks the model, which calls a tool. @param takesMs the tool */
  calls(name: string, input: object, result: string, takesMs = 100): Action {
    const action = this.asks();
    const id = `call_${(this.#calls += 1)}_${Math.random()}`;
    const called = { name, arguments: JSON.stringify(input) };
    this.messages.push({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: called }],
    });
    this.messages.push({ role: 'tool', tool_call_id: id, content: result });
    this.#clock.nowMs += takesMs;
    return action;
  }

  /** Asks the model, which says something. */
  says(content: string): Action {
    const action = this.asks();
    this.messages.push({ role: 'assistant', content });
    return action;
  }

  user(content: string, afterMs = 0): this {
    this.messages.push({ role: 'user', content });
    this.#clock.nowMs += afterMs;
    return this;
  }

  /** It was neither slowed nor stopped. */
  get isUnharmed(): boolean {
    return this.actions.every((one) => one === 'pass');
  }
}
