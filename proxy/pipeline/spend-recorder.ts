// Begins and settles the spend record of one call: at most one begin entry and exactly one settle entry, whatever is
// thrown and whenever. It holds what the record needs and no more; observe-call.ts reports to metrics, traces and logs.
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
import type { ParsedRequest } from './parse-request.ts';
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
import { rememberResponse } from './stored-response.ts';
import { withReplaced } from './replaced-attempts.ts';
import { withReservedCost, withReservedCosts } from './unknown-cost.ts';
import { JournalUnwritable } from '../spend/journal/journal-state.ts';
import type { SpendBegin, SpendRecord } from '../spend/record/record.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { KeptResponse } from '../downstream/kept-response.ts';

/** Of a call that ends here, key and headers say whose it is. */
interface Received {
  readonly kind: 'received';
  readonly request: Pick<ParsedRequest, 'model' | 'stream' | 'isBackground'>;
  readonly requestBytes: number;
}

interface Read extends Omit<Received, 'kind'> {
  readonly kind: 'read';
  readonly identity: Identity;
  /** null: it holds nothing of budgets. */
  readonly reservation: CallCost | null;
}

/** From here on the call leaves a row even if the process is killed. */
interface Begun {
  readonly kind: 'begun';
  readonly read: Read;
  /** Where it goes first. */
  readonly selected: SelectedDeployment;
  readonly begin: SpendBegin;
}

interface Settled {
  readonly kind: 'settled';
  readonly record: SpendRecord;
  /** Where it went last. */
  readonly selected: SelectedDeployment | null;
}

type State = Received | Read | Begun | Settled;

/** A call that got a response from an upstream. */
export interface AnsweredCall {
  readonly outcome: Outcome;
  /** What went upstream: its tokens are counted where the upstream states no usage. */
  readonly call: Pick<UpstreamRequest, 'body' | 'protocol'>;
  readonly billable: BillableUnits;
  readonly head: Pick<CallHead, 'overheadMs'>;
  /** The usage of a stored response was not counted when it was made, so this call counts it. */
  readonly countsStored?: boolean;
}

type Answer = Omit<Observed, 'selected' | 'fault'>;
const NO_ANSWER: Answer = { overheadMs: null, responseModel: null, protocol: null };

const isIn = <Kind extends State['kind']>(
  state: State,
  kind: Kind,
): state is Extract<State, { kind: Kind }> => state.kind === kind;

/** Of one call. Settled once: by `settle`, `settleRepeated`, `settleCounted` or `fail`, which only logs what is thrown after that. */
export class SpendRecorder {
  readonly #x: Exchange;
  readonly #caller: Caller;
  readonly endpoint: Endpoint;
  readonly attempts: AttemptLog;
  #state: State;
  /** The fault that the call asks for; null: none. */
  #chaos: Chaos | null = null;
  /** What the runaway brake says of the call; null: nothing. */
  #braked: BrakedCall | null = null;

  constructor(x: Exchange, caller: Caller, endpoint: Endpoint, attempts: AttemptLog, model = '') {
    this.#x = x;
    this.#caller = caller;
    this.endpoint = endpoint;
    this.attempts = attempts;
    const request = { model, stream: false, isBackground: false };
    this.#state = { kind: 'received', request, requestBytes: 0 };
  }

  /** The size of its body is known. */
  received(requestBytes: number): void {
    this.#state = { ...this.#in('received'), requestBytes };
  }

  /** It is known what the call asks for, and for whom. */
  read(request: Read['request'], identity: Identity): void {
    const { requestBytes } = this.#in('received');
    this.#state = { kind: 'read', request, identity, requestBytes, reservation: null };
  }

  asked(chaos: Chaos): void {
    this.#chaos = chaos;
  }

  braked(braked: BrakedCall): void {
    this.#braked = braked;
  }

  /** What the call costs if the process dies before its end. */
  reserved(reservation: CallCost): void {
    this.#state = { ...this.#in('read'), reservation };
  }

  /** Where the call went last, or is about to go; null before that is known. */
  get selected(): SelectedDeployment | null {
    const state = this.#state;
    return this.attempts.last?.selected ?? ('selected' in state ? state.selected : null);
  }

  /** The record, once it is settled. */
  get record(): SpendRecord | null {
    return this.#state.kind === 'settled' ? this.#state.record : null;
  }

  /**
   * Writes the begin entry.
   * @param selected where the call goes first. @throws Fault
   */
  async begin(selected: SelectedDeployment): Promise<void> {
    const read = this.#in('read');
    const begin = this.#beginOf(read, selected);
    this.#state = { kind: 'begun', read, selected, begin };
    try {
      await this.#x.active.services.ledger.begin(begin);
    } catch (cause) {
      if (!(cause instanceof JournalUnwritable)) throw cause;
      const text = 'Spend records cannot be written at the moment, so no request is served.';
      throw new Fault('journal_unwritable', text, { cause, headers: [['retry-after', '5']] });
    }
  }

  /** Settles a call that got a response from an upstream. */
  async settle({ outcome, call, billable, head, countsStored = false }: AnsweredCall): Promise<SpendRecord> {
    const begun = this.#in('begun');
    const selected = this.selected ?? begun.selected;
    const endpoint = this.endpoint;
    const { isBackground } = begun.read.request;
    const { body, protocol } = call;
    const counting = countMissingUsage(this.#x, endpoint, outcome, { body, protocol, isBackground });
    const estimate = counting === null ? null : await counting;
    const settled = countsStored
      ? // The cost that a gateway states is that of the call, not of the response that it returns.
        { endpoint: { ...endpoint, returnsStored: false }, outcome: { ...outcome, upstreamCost: null } }
      : { endpoint, outcome };
    const row = settleOf(this.#x, begun.begin, { ...settled, selected, protocol, billable, estimate });
    const whole = this.#withOthers(begun, row);
    const record = whole instanceof Promise ? await whole : whole;
    const overheadMs = head.overheadMs(outcome);
    const answer = { overheadMs, responseModel: outcome.reading.model, protocol: protocol.name };
    return await this.#write(record, outcome.fault, answer);
  }

  /** Settles a call that gets the response of an earlier one. */
  async settleRepeated(id: string, response: KeptResponse): Promise<SpendRecord> {
    const record = settleRepeated(this.#x, this.#beginOf(this.#in('read'), null), id, response);
    return await this.#write(record, null);
  }

  /** Settles a call whose tokens were counted here. @param by what counted them */
  async settleCounted(bytes: number, by: string): Promise<SpendRecord> {
    const attempts = this.attempts.answering === null ? 0 : 1;
    const record = settleCounted(this.#x, this.#in('begun').begin, { bytes, by, attempts });
    return await this.#write(record, null);
  }

  /** Settles a call that failed; whatever was thrown becomes a fault. */
  async fail(thrown: unknown): Promise<Fault> {
    const fault = toFault(thrown);
    const state = this.#state;
    if (state.kind === 'settled') {
      this.#x.active.services.log.error({ call_id: this.#x.id, err: thrown }, 'failed after its end');
      return fault;
    }
    const reached = this.attempts.answering !== null;
    const begin = state.kind === 'begun' ? state.begin : this.#beginOf(state, null);
    const row = settleFault(this.#x, begin, fault, reached);
    const record = state.kind === 'begun' ? await this.#withOthers(state, row) : row;
    await this.#write(record, fault);
    return fault;
  }

  #in<Kind extends State['kind']>(kind: Kind): Extract<State, { kind: Kind }> {
    if (isIn(this.#state, kind)) return this.#state;
    throw new Error(this.#state.kind === 'settled' ? 'a call is settled once' : `a call is to be ${kind}`);
  }

  #beginOf(call: Received | Read, selected: SelectedDeployment | null): SpendBegin {
    const { endpoint } = this;
    const caller = this.#caller;
    const { model, stream } = call.request;
    const { requestBytes } = call;
    const isRead = call.kind === 'read';
    const identity = isRead ? call.identity : identityOf(this.#x, caller);
    const reserved = (isRead ? call.reservation?.whole : null) ?? null;
    const reservedPico = reserved === null ? null : Number(reserved.pico);
    const notes: string[] = [];
    if (reserved !== null && reserved.reason !== '')
      notes.push(`its budgets reserved nothing for it: ${reserved.reason}`);
    if (this.#braked !== null) notes.push(...this.#braked.notes);
    if (this.#chaos !== null) notes.push(chaosNote(this.#chaos));
    const facts = { caller, endpoint, model, stream, identity, requestBytes, reservedPico, notes, selected };
    return beginOf(this.#x, facts);
  }

  /** The row with the attempts beside the last one, and with what each of unknown cost counts for. */
  #withOthers({ read, selected: first }: Begun, row: SpendRecord): SpendRecord | Promise<SpendRecord> {
    const reservation = read.reservation?.whole.reason === '' ? read.reservation : null; // else nobody knows what it may cost
    const last = withReservedCost(row, reservation);
    const others = this.attempts.others();
    if (others === null) return last;
    const selected = this.selected ?? first;
    const to = destinationOf(this.#caller, selected, read.identity);
    const record = { ...last, model: upstreamModelOf(this.#x, selected), ...to };
    return others.then((ended) =>
      withReplaced(record, withReservedCosts(ended, last.spendPico, reservation), this.attempts.answering),
    );
  }

  #write(record: SpendRecord, fault: Fault | null, answer: Answer = NO_ANSWER): Promise<SpendRecord> {
    const { selected } = this;
    if (this.#state.kind === 'settled') throw new Error('a call is settled once');
    const { ledger, budgets, counters } = this.#x.active.services;
    const journaled = counters.isShared === true ? () => budgets.journaled(record.requestId) : undefined;
    const written = ledger.settle(record, journaled); // queued in the journal by this call, so it must not happen twice
    this.#state = { kind: 'settled', record, selected };
    budgets.settle(record); // in the same turn: sums of the ledger hold both or neither
    this.#braked?.ended(record);
    rememberResponse(this.#x, this.endpoint, record); // before the client can ask for it
    return written.then(() => {
      observeCall(this.#x, record, { ...answer, selected, fault }, this.#chaos);
      return record;
    });
  }
}
