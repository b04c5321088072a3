// Begins and settles the spend record of one call: at most one begin entry and exactly one settle entry, whatever is
// thrown and whenever. It holds what the record needs and no more; observe-call.ts reports to metrics, traces and logs.
import type { Mutable } from '../base/mutable.ts';
import { Fault, toFault } from '../errors/fault.ts';
import type { Outcome } from '../relay/outcome.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { CallCost } from '../access/budgets/reservation.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Chaos } from '../chaos/faults.ts';
import type { Caller } from '../access/caller.ts';
import type { BillableUnits } from './billable-units.ts';
import type { BrakedCall } from './braked-call.ts';
import type { CallHead } from './call-head.ts';
import { chaosNote } from './chaos-call.ts';
import type { Exchange } from './exchange.ts';
import { identityOf, type Identity } from './identity.ts';
import { countMissingUsage } from './missing-usage.ts';
import { observeCall, type Observed } from './observe-call.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import {
  beginOf,
  destinationOf,
  settleCounted,
  settleFault,
  settleOf,
  settleRepeated,
  upstreamModelOf,
} from './spend-entries.ts';
import { withReplaced } from './replaced-attempts.ts';
import { withReservedCost, withReservedCosts, type ReservedPico } from './unknown-cost.ts';
import { JournalUnwritable } from '../spend/journal/journal.ts';
import type { SpendBegin, SpendRecord } from '../spend/record/record.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Attempt } from '../spend/record/record.ts';
import type { KeptResponse } from '../downstream/kept-response.ts';

/** What is known of the call so far. */
interface KnownFacts {
  readonly model: string;
  /** null: the body was not read, so key and headers alone decide. */
  readonly identity: Identity | null;
  readonly stream: boolean;
  /** The upstream goes on with the answer when its stream ends early. */
  readonly isBackground: boolean;
  readonly requestBytes: number;
  /** Where the call goes first. */
  readonly selected: SelectedDeployment | null;
  readonly reservedPico: number | null;
  readonly warning: string | null;
  /** The usage of a stored response was not counted when it was made, so this call counts it. */
  readonly countsStored: boolean;
  /** What the runaway brake says of the call; null: nothing. */
  readonly braked: BrakedCall | null;
  /** The fault that the call asks for; null: none. */
  readonly chaos: Chaos | null;
}

/** A call that got a response from an upstream. */
export interface AnsweredCall {
  readonly outcome: Outcome;
  /** What went upstream: its tokens are counted where the upstream states no usage. */
  readonly call: Pick<UpstreamRequest, 'body' | 'protocol'>;
  readonly billable: BillableUnits;
  readonly head: Pick<CallHead, 'overheadMs'>;
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'begun'; readonly begin: SpendBegin }
  | { readonly kind: 'settled'; readonly record: SpendRecord };

const NOTHING_KNOWN: KnownFacts = {
  model: '',
  identity: null,
  stream: false,
  isBackground: false,
  requestBytes: 0,
  selected: null,
  reservedPico: null,
  warning: null,
  countsStored: false,
  braked: null,
  chaos: null,
};
/** What is observed of a call that no upstream answered. */
const UNANSWERED = { overheadMs: null, responseModel: null, protocol: null } as const;

/** Of one call. Settled once: by `settle`, `settleRepeated`, `settleCounted` or `fail`, which only logs what is thrown after that. */
export class SpendRecorder {
  readonly #x: Exchange;
  readonly #caller: Caller;
  readonly endpoint: Endpoint;
  readonly attempts: AttemptLog;
  readonly #known: Mutable<KnownFacts>;
  #state: State = { kind: 'open' };
  /** null = it has reserved nothing of budgets. */
  #reserved: ReservedPico | null = null;

  /** @param model what the path names; '' when it names none */
  constructor(x: Exchange, caller: Caller, endpoint: Endpoint, attempts: AttemptLog, model = '') {
    this.#x = x;
    this.#caller = caller;
    this.endpoint = endpoint;
    this.attempts = attempts;
    this.#known = { ...NOTHING_KNOWN, model };
  }

  /** Adds what a step has returned; the record of a call that ends here states it. */
  note(more: Partial<KnownFacts>): void {
    Object.assign(this.#known, more);
  }

  /** The call has reserved this much of its budgets: what it costs if the process dies before its end. */
  reserved({ whole, answer }: CallCost): void {
    const { reason } = whole;
    const [pico, answerPico] = [Number(whole.pico), Number(answer.pico)];
    const promptPico = (): number => Number(answer.inputPico());
    this.#reserved = reason === '' ? { pico, answerPico, promptPico } : null;
    const warning = reason === '' ? null : `its budgets reserved nothing for it: ${reason}`;
    this.note({ reservedPico: pico, warning });
  }

  /** Where the call went last, or is about to go; null before that is known. */
  get selected(): SelectedDeployment | null {
    return this.attempts.last?.selected ?? this.#known.selected;
  }

  /** The record, once it is settled. */
  get record(): SpendRecord | null {
    return this.#state.kind === 'settled' ? this.#state.record : null;
  }

  /**
   * Writes the begin entry: from here on the call leaves a row even if the process is killed.
   * @param selected where the call goes first. @throws Fault
   */
  async begin(selected: SelectedDeployment): Promise<void> {
    this.note({ selected });
    const begin = this.#createBegin();
    try {
      await this.#x.active.services.ledger.begin(begin);
    } catch (cause) {
      if (!(cause instanceof JournalUnwritable)) throw cause;
      const text = 'Spend records cannot be written at the moment, so no request is served.';
      throw new Fault('journal_unwritable', text, { cause, headers: [['retry-after', '5']] });
    }
    this.#state = { kind: 'begun', begin };
  }

  /** Settles a call that got a response from an upstream. */
  async settle({ outcome, call, billable, head }: AnsweredCall): Promise<SpendRecord> {
    const { selected } = this;
    const endpoint = this.endpoint;
    if (selected === null) throw new Error('a response without a deployment');
    const { isBackground } = this.#known;
    const { body, protocol } = call;
    const counting = countMissingUsage(this.#x, endpoint, outcome, { body, protocol, isBackground });
    const estimate = counting === null ? null : await counting;
    const settled = this.#known.countsStored
      ? // The cost that a gateway states is that of the call, not of the response that it returns.
        { endpoint: { ...endpoint, returnsStored: false }, outcome: { ...outcome, upstreamCost: null } }
      : { endpoint, outcome };
    const answered = { ...settled, selected, billable, estimate };
    const last = withReservedCost(settleOf(this.#x, this.#begun(), answered), this.#reserved);
    const others = this.attempts.others();
    const record = others === null ? last : this.#withOthers(last, await others);
    const { fault, reading } = outcome;
    const overheadMs = head.overheadMs(outcome);
    const responseModel = reading.model;
    const observed = { selected, overheadMs, responseModel, protocol: protocol.name, fault };
    return await this.#write(record, observed);
  }

  /** Settles a call that gets the response of an earlier one. */
  async settleRepeated(id: string, response: KeptResponse): Promise<SpendRecord> {
    const record = settleRepeated(this.#x, this.#begun(), id, response);
    return await this.#write(record, { ...UNANSWERED, selected: null, fault: null });
  }

  /** Settles a call whose tokens were counted here. @param by what counted them */
  async settleCounted(bytes: number, by: string): Promise<SpendRecord> {
    const attempts = this.attempts.answering === null ? 0 : 1;
    const record = settleCounted(this.#x, this.#begun(), { bytes, by, attempts });
    return await this.#write(record, { ...UNANSWERED, selected: this.selected, fault: null });
  }

  /** Settles a call that failed; whatever was thrown becomes a fault. */
  async fail(thrown: unknown): Promise<Fault> {
    const fault = toFault(thrown);
    if (this.#state.kind === 'settled') {
      this.#x.active.services.log.error({ call_id: this.#x.id, err: thrown }, 'failed after its end');
      return fault;
    }
    const reached = this.attempts.answering !== null;
    const last = withReservedCost(settleFault(this.#x, this.#begun(), fault, reached), this.#reserved);
    const others = this.attempts.others();
    const record = others === null ? last : this.#withOthers(last, await others);
    await this.#write(record, { ...UNANSWERED, selected: this.selected, fault });
    return fault;
  }

  #begun(): SpendBegin {
    return this.#state.kind === 'begun' ? this.#state.begin : this.#createBegin();
  }

  #createBegin(): SpendBegin {
    const [caller, endpoint] = [this.#caller, this.endpoint];
    const begin = beginOf(this.#x, { ...this.#known, caller, endpoint, identity: this.#identity() });
    const { braked, chaos } = this.#known;
    const notes = [...(braked?.notes ?? []), ...(chaos === null ? [] : [chaosNote(chaos)])];
    return notes.length === 0 ? begin : { ...begin, warnings: [...begin.warnings, ...notes] };
  }

  #identity(): Identity {
    return this.#known.identity ?? identityOf(this.#x, this.#caller);
  }

  #withOthers(last: SpendRecord, others: readonly Attempt[]): SpendRecord {
    const { selected } = this;
    if (selected === null) return last;
    return withReplaced(
      {
        ...last,
        model: upstreamModelOf(this.#x, selected),
        ...destinationOf(this.#caller, selected, this.#identity()),
      },
      withReservedCosts(others, last.spendPico, this.#reserved),
      this.attempts.answering,
    );
  }

  #rememberResponse(record: SpendRecord): void {
    const { upstreamId, modelId, modelGroup, model, apiKeyHash, spendPico, usageSource, tokens } = record;
    const { protocol, returnsStored } = this.endpoint;
    if (upstreamId === null || protocol.stored.length === 0 || returnsStored) return;
    const isOpen = usageSource === 'none' && (spendPico ?? 0) === 0;
    const made = { modelId, modelGroup, model, apiKeyHash, tokens: tokens.total ?? 0 };
    this.#x.active.services.recentResponses.put(upstreamId, made, isOpen);
  }

  #write(record: SpendRecord, observed: Observed): Promise<SpendRecord> {
    if (this.#state.kind === 'settled') throw new Error('a call is settled once');
    const { ledger, budgets, counters } = this.#x.active.services;
    const journaled = counters.isShared === true ? () => budgets.journaled(record.requestId) : undefined;
    const written = ledger.settle(record, journaled); // queued in the journal by this call, so it must not happen twice
    this.#state = { kind: 'settled', record };
    budgets.settle(record); // in the same turn: sums of the ledger hold both or neither
    this.#known.braked?.ended(record);
    this.#rememberResponse(record); // before the client can ask for it
    return written.then(() => {
      observeCall(this.#x, record, observed, this.#known.chaos);
      return record;
    });
  }
}
