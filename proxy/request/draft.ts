// The spend record in the making. It follows one request from authentication to its end and guarantees that the end
// is written exactly once, aborts and bugs included; log line and metrics come with it.
import { Fault, toFault } from '../errors/fault.ts';
import { JournalUnwritable } from '../ledger/journal.ts';
import type { SpendBegin, SpendRecord } from '../record/record.ts';
import type { Outcome } from '../upstream/relay.ts';
import { corsHeaders } from './answer.ts';
import type { Ask } from './ask.ts';
import type { Caller } from './authenticate.ts';
import type { Endpoint } from './endpoints.ts';
import type { Exchange } from './exchange.ts';
import { stamped, unidentified, type Identity } from './identity.ts';
import type { Picked } from './pick.ts';
import { beginOf, settleFault, settleOf, type Found } from './recording.ts';

export class Draft {
  readonly #x: Exchange;
  #found: Omit<Found, 'identity'>;
  #identity: Identity | null = null;
  #begin: SpendBegin | null = null;
  #settled = false;
  #overheadMs = -1;

  constructor(x: Exchange, caller: Caller, endpoint: Endpoint, model = '') {
    this.#x = x;
    this.#found = { caller, endpoint, model, stream: false, requestBytes: 0, picked: null };
  }

  /** Whose call it is, as far as is known: before the body was read, by the headers alone. */
  get identity(): Identity {
    return (this.#identity ??= this.#own(unidentified(this.#x.headers, this.#x.live.snapshot.dialect.brand)));
  }

  /** Notes the size of the body that was read. */
  read(body: Buffer): Buffer {
    this.#found = { ...this.#found, requestBytes: body.length };
    return body;
  }

  /** Notes what the client asks for. @returns the same, with the identity that counts */
  asked(ask: Ask): Ask {
    this.#found = { ...this.#found, model: ask.model, stream: ask.stream };
    this.#identity = this.#own(ask.identity);
    return this.#identity === ask.identity ? ask : { ...ask, identity: this.#identity };
  }

  /** Notes where the request goes; `model` when the request itself did not name one. */
  routed(picked: Picked, model = this.#found.model): Picked {
    this.#found = { ...this.#found, picked, model };
    return picked;
  }

  /** Writes the begin entry: from here on the request leaves a row even if the process is killed. @throws Fault */
  async admit(): Promise<void> {
    const begin = this.#opening();
    try {
      await this.#x.live.house.ledger.begin(begin);
    } catch (cause) {
      if (!(cause instanceof JournalUnwritable)) throw cause;
      const text = 'Spend records cannot be written at the moment, so no request is served.';
      throw new Fault('journal_unwritable', text, { cause, headers: [['retry-after', '5']] });
    }
    this.#begin = begin;
  }

  /** Our response headers, flat. Called once, when the head of an upstream's answer goes to the client. */
  ownHeaders(upstreamStatus: number, upstreamMs: number): string[] {
    const prefix = this.#x.live.snapshot.dialect.headerPrefix;
    this.#overheadMs = this.#overheadSince(upstreamMs);
    const list = [`${prefix}call-id`, this.#x.id, ...corsHeaders(this.#x), ...this.identityHeaders()];
    list.push(`${prefix}overhead-duration-ms`, this.#overheadMs.toFixed(3));
    if (upstreamStatus >= 400) list.push(`${prefix}error-source`, 'upstream');
    return list;
  }

  /** The headers that also an answer of our own carries: session, and the route once there is one. Flat. */
  identityHeaders(): string[] {
    const prefix = this.#x.live.snapshot.dialect.headerPrefix;
    const list = [`${prefix}session-id`, this.identity.sessionId];
    if (this.#found.picked !== null) {
      list.push(...this.#found.picked.target.responseHeaders, `${prefix}attempted-retries`, '0');
    }
    return list;
  }

  /** Writes the end of an answered request. @returns headers that are known only now: the cost. */
  async settle(outcome: Outcome): Promise<string[]> {
    const { endpoint, picked } = this.#found;
    const record = settleOf(this.#x, this.#begin as SpendBegin, endpoint, picked as Picked, outcome);
    // The head of a gathered answer is written after its record; the metric must not wait for it.
    if (this.#overheadMs < 0 && outcome.end !== 'client_gone')
      this.#overheadMs = this.#overheadSince(outcome.upstreamMs);
    await this.#write(record, outcome.fault);
    if (record.spendPico === null || record.status !== 'success') return [];
    return [`${this.#x.live.snapshot.dialect.headerPrefix}response-cost`, usd(record.spendPico)];
  }

  /** Writes the end of a request that came to nothing; whatever was thrown becomes a fault. */
  async fail(thrown: unknown): Promise<Fault> {
    const fault = toFault(thrown);
    const begin = this.#begin ?? this.#opening();
    if (this.#settled)
      this.#x.live.house.log.error({ call_id: this.#x.id, err: thrown }, 'failed after its end');
    else await this.#write(settleFault(this.#x, begin, fault, this.#begin !== null), fault);
    return fault;
  }

  #own(identity: Identity): Identity {
    const { caller } = this.#found;
    return caller.identity === undefined ? identity : stamped(identity, caller.identity);
  }

  #overheadSince(upstreamMs: number): number {
    return Math.max(0, this.#x.live.house.clock.mono() - this.#x.startedAt - upstreamMs);
  }

  #opening(): SpendBegin {
    return beginOf(this.#x, { ...this.#found, identity: this.identity });
  }

  async #write(record: SpendRecord, fault: Fault | null): Promise<void> {
    this.#settled = true;
    const { house } = this.#x.live;
    await house.ledger.settle(record);
    (this.#found.picked?.target.metrics ?? house.unrouted).observe(record, this.#overheadMs);
    const line = {
      call_id: record.requestId,
      call_type: record.callType,
      model: record.modelGroup,
      upstream: record.apiBase,
      status: record.httpStatus,
      end: record.endReason,
      ms: record.endMs - record.startMs,
      first_byte_ms: record.firstByteMs === null ? null : record.firstByteMs - record.startMs,
      session: record.sessionId,
      tokens: record.tokens.total,
      error: record.errorCode,
    };
    if (fault?.code === 'internal_error') house.log.error({ ...line, err: fault.cause }, 'request');
    else if (fault !== null && fault.source !== 'client')
      house.log.warn({ ...line, why: fault.message }, 'request');
    else house.log.info(line, 'request');
  }
}

/** Pico-dollars as a plain decimal of US dollars: `0.00125`, never an exponent, never `None`. */
function usd(pico: number): string {
  const digits = String(Math.max(0, pico)).padStart(13, '0');
  const fraction = digits.slice(-12).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${fraction}`;
}
