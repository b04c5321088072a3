// The spend record in the making. It follows one request from authentication to its end and guarantees that the end
// is written exactly once, aborts and bugs included; log line and metrics come with it.
import { Fault, toFault } from '../errors/fault.ts';
import type { WholeAnswer } from '../http/replays.ts';
import { JournalUnwritable } from '../spend/journal/journal.ts';
import type { Estimate } from '../spend/estimate/estimator.ts';
import { usd } from '../spend/record/cost.ts';
import type { Attempt, SpendBegin, SpendRecord } from '../spend/record/record.ts';
import type { Call } from '../upstream/call.ts';
import type { Outcome } from '../upstream/outcome.ts';
import { corsHeaders } from './answer.ts';
import type { Ask } from './ask.ts';
import type { Caller } from './authenticate.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Exchange } from './exchange.ts';
import { stamped, unidentified, type Identity } from './identity.ts';
import { NO_MEASURES, type Measures } from './measures.ts';
import type { Picked } from './pick.ts';
import {
  attemptAt,
  beginOf,
  chargeOf,
  faultPico,
  partOf,
  placeOf,
  settleFault,
  settleOf,
  settleRepeated,
  withReplaced,
  type Found,
  type Mark,
} from './recording.ts';
import type { Ended } from './verdict.ts';

export class Draft {
  readonly #x: Exchange;
  #found: Omit<Found, 'identity'>;
  #identity: Identity | null = null;
  #measures: Measures = NO_MEASURES;
  #begin: SpendBegin | null = null;
  #settled = false;
  #overheadMs = -1;
  #waitedMs = 0;
  #record: SpendRecord | null = null;
  #responseModel: string | null = null;
  /** Attempts beside the one that is the answer, and that one. */
  #replaced: { readonly sentAt: number; readonly attempt: Promise<Attempt> }[] | null = null;
  #firstSentAt: number | null = null;
  #mark: Mark | null = null;
  #retries = 0;
  #fallbacks = 0;

  constructor(x: Exchange, caller: Caller, endpoint: Endpoint, model = '') {
    this.#x = x;
    this.#found = { caller, endpoint, model, stream: false, requestBytes: 0, picked: null };
  }

  /** Whose call it is, as far as is known: before the body was read, by the headers alone. */
  get identity(): Identity {
    return (this.#identity ??= this.#own(
      unidentified(this.#x.headers, this.#x.live.snapshot.dialect.brand, this.#x.id),
    ));
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
    this.#measures = ask.measures;
    return this.#identity === ask.identity ? ask : { ...ask, identity: this.#identity };
  }

  /** Notes where the request goes; `model` when the request itself did not name one. */
  routed(picked: Picked, model = this.#found.model): Picked {
    this.#found = { ...this.#found, picked, model };
    return picked;
  }

  /** Notes how long the call has waited for its turn: no overhead of ours. */
  waited(ms: number): void {
    this.#waitedMs = ms;
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

  /** An attempt begins; the answer's headers and the row tell of the last one that began, or was resumed. */
  attempt(
    picked: Picked,
    { retries, fallbacks }: { readonly retries: number; readonly fallbacks: number },
  ): Mark {
    const { clock } = this.#x.live.house;
    this.#retries = retries;
    this.#fallbacks = fallbacks;
    const mark = { picked, sentAt: clock.mono(), sentMs: clock.now() };
    this.#firstSentAt ??= mark.sentAt;
    this.resume(mark);
    return mark;
  }

  /** That attempt is the one to tell of, although another one has begun since. */
  resume(mark: Mark): void {
    this.#mark = mark;
    this.routed(mark.picked);
  }

  /** An attempt came to nothing, and another one is the answer. `error`: in one word why. */
  replaced(mark: Mark, { outcome, fault }: Ended, error: string): void {
    const { endpoint } = this.#found;
    const answered = { endpoint, picked: mark.picked, measures: this.#measures, estimate: null };
    const charge = outcome === undefined ? null : chargeOf(this.#x, { ...answered, outcome });
    const attempt = {
      ...attemptAt(mark, this.#x.live.house.clock.now()),
      status: outcome?.status ?? null,
      error: fault?.code ?? error,
      usage: charge?.used.usage ?? null,
      spendPico: charge === null ? faultPico(fault as Fault) : charge.cost.spendPico,
    };
    (this.#replaced ??= []).push({ sentAt: mark.sentAt, attempt: Promise.resolve(attempt) });
  }

  /** The stream of an attempt broke off, and another one went on with it: both have written the answer. */
  continued(mark: Mark, outcome: Outcome, call: Call): void {
    const { endpoint } = this.#found;
    const answered = { endpoint, picked: mark.picked, outcome, measures: this.#measures };
    const part = async (): Promise<Attempt> =>
      partOf(this.#x, mark, { ...answered, estimate: await this.#estimateOf(outcome, call) });
    (this.#replaced ??= []).push({ sentAt: mark.sentAt, attempt: part() });
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
      list.push(...this.#found.picked.target.responseHeaders);
      list.push(`${prefix}attempted-retries`, String(this.#retries));
      list.push(`${prefix}attempted-fallbacks`, String(this.#fallbacks));
    }
    return list;
  }

  /**
   * Writes the end of an answered request.
   * @param call that of the attempt that answered: its body is counted where the upstream states no usage
   * @returns headers that are known only now: the cost
   */
  async settle(outcome: Outcome, call: Call): Promise<string[]> {
    const { endpoint, picked } = this.#found;
    this.#responseModel = outcome.reading.model;
    const counting = this.#estimateOf(outcome, call);
    const estimate = counting === null ? null : await counting;
    const settled = settleOf(this.#x, this.#begin as SpendBegin, {
      endpoint,
      picked: picked as Picked,
      outcome,
      measures: this.#measures,
      estimate,
    });
    // The head of a gathered answer is written after its record; the metric must not wait for it.
    if (this.#overheadMs < 0 && outcome.end !== 'client_gone')
      this.#overheadMs = this.#overheadSince(outcome.upstreamMs);
    const record = await this.#write(settled, outcome.fault);
    if (record.spendPico === null || record.status !== 'success') return [];
    return [`${this.#x.live.snapshot.dialect.headerPrefix}response-cost`, usd(record.spendPico)];
  }

  /** Writes the end of a call that gets the answer of an earlier one. */
  async repeated(id: string, answer: WholeAnswer): Promise<void> {
    await this.#write(settleRepeated(this.#x, this.#opening(), id, answer), null);
  }

  /** The row, once it was handed over. */
  get record(): SpendRecord | null {
    return this.#record;
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

  /** What must be counted here, since the upstream began to answer and did not state its usage; mostly nothing. */
  #estimateOf({ reading, end, status }: Outcome, { body }: Call): Promise<Estimate> | null {
    if (reading.usage !== null && !reading.usageIsPartial) return null;
    const { counted, protocol } = this.#found.endpoint;
    const { estimateMissingUsage } = this.#x.live.snapshot;
    if (counted === 'nothing' || !estimateMissingUsage || body === null || end === 'upstream_error')
      return null;
    if (status === null || status >= 300) return null;
    const answer = counted === 'prompt' ? null : reading.delivered;
    if (counted === 'prompt' ? end !== 'complete' : answer === null) return null;
    return this.#x.live.house.estimator.estimate({ protocol, request: body, answer });
  }

  #own(identity: Identity): Identity {
    const { caller } = this.#found;
    return caller.identity === undefined ? identity : stamped(identity, caller.identity);
  }

  #overheadSince(upstreamMs: number): number {
    const replacedMs = (this.#mark?.sentAt ?? 0) - (this.#firstSentAt ?? 0); // attempts before, and the pauses between
    const notOurs = this.#waitedMs + replacedMs + upstreamMs;
    return Math.max(0, this.#x.live.house.clock.mono() - this.#x.startedAt - notOurs);
  }

  #opening(): SpendBegin {
    return beginOf(this.#x, { ...this.#found, identity: this.identity });
  }

  #withReplaced(last: SpendRecord, replaced: readonly Attempt[]): SpendRecord {
    const mark = this.#mark as Mark;
    return withReplaced({ ...last, ...placeOf(mark.picked, this.identity) }, replaced, mark);
  }

  /** @returns the record as written: with all attempts */
  async #write(last: SpendRecord, fault: Fault | null): Promise<SpendRecord> {
    this.#settled = true;
    // Two may have begun in the same millisecond, which is all that the record tells.
    const inOrder = this.#replaced?.toSorted((a, b) => a.sentAt - b.sentAt) ?? null;
    const others = inOrder === null ? null : await Promise.all(inOrder.map(({ attempt }) => attempt));
    const record = others === null ? last : this.#withReplaced(last, others);
    this.#record = record;
    const { house } = this.#x.live;
    await house.ledger.settle(record);
    (this.#found.picked?.target.metrics ?? house.unrouted).observe(record, this.#overheadMs);
    house.spans?.ended(record, this.#responseModel);
    const line = {
      ...(record.attempts > 1 ? { attempts: record.attempts } : {}),
      ...(record.trace === undefined ? {} : { trace_id: record.trace.traceId }),
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
    else house.log.access(line);
    return record;
  }
}
