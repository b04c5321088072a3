// The proxy's own response headers: made when the head of an upstream's response goes to the client. The proxy's own
// overhead is measured at the same moment.
import { addHeaders } from '../headers/flat-list.ts';
import type { Outcome } from '../relay/outcome.ts';
import type { HeadWriter } from '../relay/relay-handle.ts';
import { dollarText } from '../spend/record/dollars.ts';
import type { AdmissionPermit } from './admission-permit.ts';
import { callHeaders } from './respond.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import { responseHeaders } from './response-headers.ts';

/** What a step before the first attempt adds to the head: the brake, and the limits of the call. */
interface AddedToHead {
  /** Flat. */
  readonly headers: readonly string[];
  /** How long the call waited there. */
  readonly waitedMs: number;
}

/** Of one call, whichever attempt responds. */
export class CallHead implements HeadWriter {
  readonly #x: Exchange;
  readonly #identity: Identity;
  readonly #attempts: AttemptLog;
  readonly #permit: AdmissionPermit;
  readonly #keyHash: string;
  readonly #added: readonly (AddedToHead | null)[];
  #overheadMs: number | null = null;

  constructor(
    x: Exchange,
    identity: Identity,
    attempts: AttemptLog,
    permit: AdmissionPermit,
    keyHash = '',
    added: readonly (AddedToHead | null)[] = [],
  ) {
    this.#added = added;
    this.#x = x;
    this.#identity = identity;
    this.#attempts = attempts;
    this.#permit = permit;
    this.#keyHash = keyHash;
  }

  /** Flat. Called once, when the head is written. */
  ownHeaders(upstreamStatus: number, upstreamMs: number): string[] {
    const now = this.#x.active.services.clock.mono();
    const overheadMs = (this.#overheadMs = this.#overheadAt(now, upstreamMs));
    const { selected = null, firstByteMs = 0 } = this.#attempts.answering ?? {};
    const { headerNames } = this.#x.active;
    const response = {
      identity: this.#identity,
      selected,
      attempts: this.#attempts,
      overheadMs,
      responseMs: now - this.#x.startedAt,
      upstreamStatus,
    };
    const list = responseHeaders(headerNames, response, callHeaders(this.#x));
    for (const one of this.#added) if (one !== null) addHeaders(list, one.headers);
    if (firstByteMs > 0) list.push(headerNames.timeout, String(firstByteMs / 1000));
    this.#addBudget(list);
    return list;
  }

  /** Of a key with a budget: what its calls have cost that have ended, and its cap. */
  #addBudget(list: string[]): void {
    const { services, headerNames } = this.#x.active;
    const key = this.#keyHash === '' ? null : services.budgets.ofKey(this.#keyHash);
    if (key === null) return;
    const { keySpend, keyMaxBudget } = headerNames;
    list.push(keySpend, dollarText(key.spentPico), keyMaxBudget, dollarText(key.capPico));
  }

  /** The proxy's own overhead, ms; null when the client left before there was a head. */
  overheadMs({ end, upstreamMs }: Outcome): number | null {
    // The head of a gathered response is written after its record; the metric must not wait for it.
    if (this.#overheadMs === null && end !== 'client_gone')
      return this.#overheadAt(this.#x.active.services.clock.mono(), upstreamMs);
    return this.#overheadMs;
  }

  #overheadAt(now: number, upstreamMs: number): number {
    const waitedMs = this.#added.reduce((sum, one) => sum + (one?.waitedMs ?? 0), this.#permit.waitedMs);
    const notOurs = waitedMs + this.#attempts.replacedMs + upstreamMs;
    return Math.max(0, now - this.#x.startedAt - notOurs);
  }
}
