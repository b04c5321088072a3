// Begins and settles the spend record of one call: one begin entry at most, and exactly one settle entry, whatever is
// thrown and whenever. It owns what the record needs and no more; who watches is told by observe-call.ts.
import type { Buffer } from 'node:buffer';
import { Fault, toFault } from '../errors/fault.ts';
import type { Outcome } from '../relay/outcome.ts';
import type { AttemptLog, AttemptStart } from './attempt-log.ts';
import type { Caller } from './authenticate.ts';
import type { BillableUnits } from './billable-units.ts';
import type { CallHead } from './call-head.ts';
import type { Exchange } from './exchange.ts';
import { identityOf, type Identity } from './identity.ts';
import { countMissingUsage } from './missing-usage.ts';
import { observeCall, type Observed } from './observe-call.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { beginOf, placeOf, settleFault, settleOf, settleRepeated, withReplaced } from './recording.ts';
import { JournalUnwritable } from '../spend/journal/journal.ts';
import type { SpendBegin, SpendRecord } from '../spend/record/record.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Attempt } from '../spend/record/record.ts';
import type { KeptResponse } from '../downstream/kept-response.ts';

/** What the steps of a call find out, one after the other. */
interface Learnt {
  readonly model: string;
  /** null: the body was not read, and the key and the headers tell alone. */
  readonly identity: Identity | null;
  readonly stream: boolean;
  readonly requestBytes: number;
  /** Where the call goes first. */
  readonly picked: SelectedDeployment | null;
}

/** How a call was answered by an upstream. */
export interface AnsweredCall {
  readonly outcome: Outcome;
  /** What went upstream: it is counted where the upstream states no usage. */
  readonly body: Buffer | null;
  readonly billable: BillableUnits;
  readonly head: Pick<CallHead, 'overheadMs'>;
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'begun'; readonly begin: SpendBegin }
  | { readonly kind: 'settled'; readonly record: SpendRecord };

/** What is observed of a call that no upstream answered. */
const UNANSWERED = { overheadMs: null, responseModel: null } as const;

export class SpendRecorder {
  readonly #x: Exchange;
  readonly #caller: Caller;
  readonly #endpoint: Endpoint;
  readonly #attempts: AttemptLog;
  #learnt: Learnt;
  #state: State = { kind: 'open' };

  /** @param model what the path names; '' when it names none */
  constructor(x: Exchange, caller: Caller, endpoint: Endpoint, attempts: AttemptLog, model = '') {
    this.#x = x;
    this.#caller = caller;
    this.#endpoint = endpoint;
    this.#attempts = attempts;
    this.#learnt = { model, identity: null, stream: false, requestBytes: 0, picked: null };
  }

  /** Notes what a step has found out; the record of a call that ends here tells it. */
  learn(more: Partial<Learnt>): void {
    this.#learnt = { ...this.#learnt, ...more };
  }

  /** Where the call went last, or is about to go; null before that is known. */
  get picked(): SelectedDeployment | null {
    return this.#attempts.answering?.selected ?? this.#learnt.picked;
  }

  /** The row, once it was handed over. */
  get record(): SpendRecord | null {
    return this.#state.kind === 'settled' ? this.#state.record : null;
  }

  /** Writes the begin entry: from here on the call leaves a row even if the process is killed. @throws Fault */
  async begin(): Promise<void> {
    const begin = this.#newBegin();
    try {
      await this.#x.active.services.ledger.begin(begin);
    } catch (cause) {
      if (!(cause instanceof JournalUnwritable)) throw cause;
      const text = 'Spend records cannot be written at the moment, so no request is served.';
      throw new Fault('journal_unwritable', text, { cause, headers: [['retry-after', '5']] });
    }
    this.#state = { kind: 'begun', begin };
  }

  /** Writes the end of a call that an upstream answered. */
  async settle({ outcome, body, billable, head }: AnsweredCall): Promise<SpendRecord> {
    const { picked } = this;
    const endpoint = this.#endpoint;
    if (picked === null) throw new Error('an answer from nowhere');
    const counting = countMissingUsage(this.#x, endpoint, outcome, body);
    const estimate = counting === null ? null : await counting;
    const answered = { endpoint, picked, outcome, billable, estimate };
    const last = settleOf(this.#x, this.#begun(), answered);
    const others = this.#attempts.others();
    const record = others === null ? last : this.#withOthers(last, await others);
    const { fault, reading } = outcome;
    const observed = { picked, overheadMs: head.overheadMs(outcome), responseModel: reading.model, fault };
    return await this.#write(record, observed);
  }

  /** Writes the end of a call that gets the answer of an earlier one. */
  async settleRepeated(id: string, answer: KeptResponse): Promise<SpendRecord> {
    const record = settleRepeated(this.#x, this.#begun(), id, answer);
    return await this.#write(record, { ...UNANSWERED, picked: null, fault: null });
  }

  /** Writes the end of a call that came to nothing; whatever was thrown becomes a fault. */
  async fail(thrown: unknown): Promise<Fault> {
    const fault = toFault(thrown);
    if (this.#state.kind === 'settled') {
      this.#x.active.services.log.error({ call_id: this.#x.id, err: thrown }, 'failed after its end');
      return fault;
    }
    const last = settleFault(this.#x, this.#begun(), fault, this.#attempts.answering !== null);
    const others = this.#attempts.others();
    const record = others === null ? last : this.#withOthers(last, await others);
    await this.#write(record, { ...UNANSWERED, picked: this.picked, fault });
    return fault;
  }

  #begun(): SpendBegin {
    return this.#state.kind === 'begun' ? this.#state.begin : this.#newBegin();
  }

  #newBegin(): SpendBegin {
    const [caller, endpoint] = [this.#caller, this.#endpoint];
    return beginOf(this.#x, { ...this.#learnt, caller, endpoint, identity: this.#identity() });
  }

  #identity(): Identity {
    return this.#learnt.identity ?? identityOf(this.#x, this.#caller);
  }

  #withOthers(last: SpendRecord, others: readonly Attempt[]): SpendRecord {
    const start: AttemptStart | null = this.#attempts.answering;
    if (start === null) return last;
    return withReplaced({ ...last, ...placeOf(start.selected, this.#identity()) }, others, start);
  }

  async #write(record: SpendRecord, observed: Observed): Promise<SpendRecord> {
    if (this.#state.kind === 'settled') throw new Error('a call ends once');
    const written = this.#x.active.services.ledger.settle(record); // the journal has it from here on: never before, never twice
    this.#state = { kind: 'settled', record };
    await written;
    observeCall(this.#x, record, observed);
    return record;
  }
}
