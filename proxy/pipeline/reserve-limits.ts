// The limits of a call: what it reserves of them, what its client is told, and how long it waits for a place where waiting is
// configured.
import type { ScopedLimit } from '../access/limits/call-limits.ts';
import { limitHeaders } from '../access/limits/limit-headers.ts';
import { callsUsedUp, limitAnswer } from '../access/limits/limit-refusal.ts';
import type { LimitRefusal } from '../access/limits/rate-book.ts';
import { promptTokensAtMost, withPlainLetters } from '../access/budgets/prompt-tokens.ts';
import { Fault } from '../errors/fault.ts';
import { askedOf } from './asked-of.ts';
import type { Exchange } from './exchange.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { pause } from './until-client-leaves.ts';

/**
 * An answer whose length is not stated is taken to have this many tokens, or a tenth of the limit: what it hardly exceeds, not what
 * the model can write, as for a budget (`UNSTATED_OUTPUT_AT_MOST`). A limit is corrected by what the call used; if each call took
 * 64,000 tokens of it until then, hardly two would run at a time.
 */
const UNSTATED_OUTPUT_ESTIMATE = 4_096;
/** A call that waits for a place looks for one this often: it may be another server that has one free. */
const PLACE_MS = 50;

/** What of a request its size is judged by: made when it is first asked, and once, for limits and budgets. */
export interface Prompt {
  /** The body, its letters unescaped. */
  readonly body: () => Buffer;
  /** Of a body that is no form. */
  readonly tokens: () => number;
}

/** @param readAgain tokens that the body only refers to */
export function promptOf({ body: { bytes }, members }: ParsedRequest, readAgain: number): Prompt {
  let plain: Buffer | null = null;
  let counted: number | null = null;
  const body = (): Buffer => (plain ??= members.kind === 'form' ? bytes : withPlainLetters(bytes));
  return { body, tokens: () => (counted ??= readAgain + promptTokensAtMost(body())) };
}

/** The tokens that a call will use at `selected`, by an estimate. @param promptTokens of a body that is no form */
export function tokensOf(
  request: ParsedRequest,
  selected: SelectedDeployment,
  promptTokens: () => number,
): (perMinute: number) => number {
  const { members, endpoint } = request;
  const { maxOutput, choices } = askedOf(request, selected);
  return (perMinute) => {
    const prompt = members.kind === 'form' ? 0 : promptTokens();
    if (!endpoint.writes) return prompt;
    const output = maxOutput ?? Math.min(UNSTATED_OUTPUT_ESTIMATE, Math.ceil(perMinute / 10));
    return prompt + output * choices;
  };
}

/** Flat. */
export function headersOfLimits(
  x: Exchange,
  limits: readonly ScopedLimit[],
  remaining: readonly number[],
): readonly string[] {
  return limits.length === 0 ? [] : limitHeaders(limits, remaining, x.active.headerNames);
}

/** Lets a call that reaches a limit wait for it, as long as the configuration allows. */
export class LimitQueue {
  readonly #x: Exchange;
  readonly #limits: readonly ScopedLimit[];
  readonly #until: number;
  #waitedMs = 0;

  constructor(x: Exchange, limits: readonly ScopedLimit[]) {
    this.#x = x;
    this.#limits = limits;
    this.#until = x.active.services.clock.mono() + x.active.snapshot.overload.limitWaitMs;
  }

  /** How long the call has waited so far. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Resolves when it is worth asking again. @throws Fault rate_limit_exceeded, client_gone, shutting_down */
  async wait(refusal: LimitRefusal): Promise<void> {
    const { clock } = this.#x.active.services;
    const sinceMs = clock.mono();
    const neverFits = refusal.waitMs === null && (refusal.need.kind !== 'parallel' || refusal.need.most <= 0);
    const waitMs = refusal.waitMs ?? PLACE_MS;
    if (neverFits || sinceMs + waitMs > this.#until) throw this.#refused(refusal);
    const left = await pause(this.#x.res, waitMs, 'its call waited for a limit');
    this.#waitedMs += clock.mono() - sinceMs;
    if (left !== null) throw left;
  }

  #refused(refusal: LimitRefusal): Fault {
    const limit = this.#limits.find(({ need }) => need.limit === refusal.need.limit);
    if (limit === undefined) throw new Error('a limit refused that the call did not ask');
    if (limit.need.kind === 'calls') {
      const status = this.#x.active.snapshot.budgets.exceededStatus; // SDKs send a call again after a 429
      const text = callsUsedUp(limit.value, limit.need.most);
      return new Fault('session_calls_used_up', text, { status });
    }
    const { message, headers } = limitAnswer(limit, refusal, this.#x.active.services.clock.now());
    const state = headersOfLimits(this.#x, this.#limits, refusal.left);
    const pairs = state.flatMap((name, i) => (i % 2 === 0 ? [[name, state[i + 1] ?? ''] as const] : []));
    return new Fault('rate_limit_exceeded', message, { headers: [...headers, ...pairs] });
  }
}
