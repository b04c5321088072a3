// The budgets of a process: which caps a call reserves in, what its record adds to them, and what they say. Counters follow the ledger by
// construction: they are seeded with the sums of exactly the records that were settled before, and every record that is settled later
// adds to all caps that its scopes have ever been asked for (counted-caps.ts).
import type { BudgetSettings } from '../../../config/budget-settings.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ledger } from '../../spend/ledger.ts';
import type { SpendRecord } from '../../spend/record/record.ts';
import type { SpentQuery, SpentSum } from '../../spend/store/store.ts';
import type { CounterName, Counters, CounterState } from '../counters.ts';
import type { AccessEvents } from '../events.ts';
import type { BudgetNeed } from './budget-book.ts';
import { CapSources, type CapDirectory } from './cap-sources.ts';
import { capAt, countedMs, coversModel, type Cap } from './caps.ts';
import { CountedCaps } from './counted-caps.ts';
import { furthestOf, scopesBeside, type Present } from './furthest.ts';
import { Marks } from './marks.ts';
import {
  countedIdOf,
  isAttributing,
  isOfDestination,
  scopesOf,
  type Attributing,
  type Scope,
  type ScopedRecord,
  type ScopeKind,
} from './scopes.ts';
import { Seedings } from './seedings.ts';
import { StartSums } from './start-sums.ts';
import type { CounterReading, Tracked } from './tracked.ts';
import { endOf, type CapWindows } from './windows.ts';
import { queriesFor, type SumDirectory, type Unsummed } from './spent-queries.ts';

/** What the configuration says. */
export interface BudgetPolicy {
  readonly budgets: BudgetSettings;
  /** `aliases`: `model_group_alias`. */
  readonly routing: { readonly aliases: ReadonlyMap<string, string> };
  readonly deployments: readonly Attributing[];
}

interface BudgetsOptions {
  readonly ledger: Pick<Ledger, 'spentBefore'>;
  readonly counters: Counters;
  readonly directory: CapDirectory & SumDirectory;
  readonly clock: Clock;
  readonly events: AccessEvents;
}

type SpentPart = CounterName & { readonly pico: bigint };

export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #counted: CountedCaps;
  readonly #seedings: Seedings;
  readonly #marks: Marks;
  readonly #refusals = new Map<ScopeKind, number>();
  #policy: BudgetPolicy;
  #sources: CapSources;
  #attributes: boolean;

  constructor(policy: BudgetPolicy, options: BudgetsOptions) {
    this.#options = options;
    this.#policy = policy;
    this.#sources = new CapSources(options.directory, policy.budgets);
    this.#attributes = policy.deployments.some(isAttributing);
    const { counters, directory, clock } = options;
    const sums = this.sums.bind(this);
    this.#marks = new Marks(options);
    const begun = (tracked: Tracked): void => this.#marks.look(tracked, clock.now());
    this.#counted = new CountedCaps(policy.budgets, {
      counters,
      directory,
      isPassing: (cap) => this.#sources.isPassing(cap),
      resumed: (tracked, nowMs) => this.#marks.look(tracked, nowMs, () => undefined), // told before the start
    });
    this.#seedings = new Seedings({ counters, clock, sums, begun });
  }

  /** Takes another configuration. */
  use(policy: BudgetPolicy): void {
    const { timeZone, resetMinute } = this.#policy.budgets;
    if (policy.budgets.timeZone !== timeZone || policy.budgets.resetMinute !== resetMinute)
      this.#counted.restart(policy.budgets);
    this.#policy = policy;
    this.#attributes = policy.deployments.some(isAttributing);
    this.#sources = new CapSources(this.#options.directory, policy.budgets);
  }

  /** The caps that a call has room to find in: of all its scopes, in the order in which they refuse. */
  capsFor(call: ScopedRecord): readonly Cap[] {
    const sources = this.#sources;
    let caps: Cap[] | null = null;
    for (const scope of scopesOf(call, this.#options.directory, sources.kindsFor(call))) {
      if (scope.kind === 'user' && this.#isPaidByTeam(call)) continue;
      for (const cap of sources.of(scope))
        if (cap.model === null || coversModel(cap, call.modelGroup, this.#meant(call.modelGroup)))
          (caps ??= []).push(cap);
    }
    for (const cap of sources.ofSession(call)) (caps ??= []).push(cap);
    return caps ?? NONE;
  }

  /** As in the dialect: the budget of a user refuses no call with a key of a team. */
  #isPaidByTeam({ teamId }: ScopedRecord): boolean {
    return teamId !== null && !this.#policy.budgets.userBudgetsOnTeamKeys;
  }

  /** A budget that refuses none of its calls is counted all the same, so that it is told when it is used up. */
  watch(call: ScopedRecord, startMs: number): void {
    const { userId } = call;
    if (userId === null || !this.#isPaidByTeam(call)) return;
    const nowMs = this.#options.clock.now();
    for (const cap of this.#sources.of({ kind: 'user', id: userId })) {
      const tracked = this.#counted.track(cap, nowMs);
      this.#countFromNow(tracked, this.#counted.open(tracked, startMs));
    }
  }

  /** No call waits for what refuses none. */
  #countFromNow({ cap, openedMs }: Tracked, windowStartMs: number): void {
    if (openedMs < windowStartMs) this.seed([{ budget: cap.counter, windowStartMs }]).catch(() => undefined);
  }

  /** Whether what a call reserves depends on the deployment that it goes to. */
  get dependsOnDestination(): boolean {
    return this.#attributes || this.#sources.hasDestinationRules;
  }

  /** Whether the budgets of a call's destination alone have room for it, as far as is known. */
  hasRoom(call: ScopedRecord, startMs: number, pico: bigint): boolean {
    if (!this.#sources.hasDestinationRules) return true;
    return this.needsOf(this.capsFor(call).filter(isOfDestination), startMs).every((need) => {
      const state = this.#knownHere(need);
      if (state === null) return true; // reserving finds out
      const usedPico = state.spentPico + state.reservedPico;
      return usedPico < need.capPico && usedPico + pico <= need.capPico;
    });
  }

  /** Counts a refusal. */
  refused({ scope }: Cap): void {
    this.#refusals.set(scope.kind, (this.#refusals.get(scope.kind) ?? 0) + 1);
  }

  /** What a key with a budget has spent in its window, and its cap; null = it has none, or nobody has asked for it yet. */
  ofKey(id: string): { readonly spentPico: bigint; readonly capPico: bigint } | null {
    const [cap] = this.#sources.of({ kind: 'key', id });
    const nowMs = this.#options.clock.now();
    const capPico = cap === undefined || cap.model !== null ? null : capAt(cap, nowMs);
    if (cap === undefined || capPico === null) return null;
    const { startMs } = this.#counted.windows.at(cap, nowMs);
    const state = this.#knownHere({ budget: cap.counter, windowStartMs: startMs });
    return state === null ? null : { spentPico: state.spentPico, capPico };
  }

  /** Other processes are not asked: a call would send a question whose answer it does not wait for. */
  #knownHere(counter: CounterName): CounterState | null {
    const { counters } = this.#options;
    const state = counters.isShared === true ? null : counters.read(counter);
    return state instanceof Promise ? null : state;
  }

  /** How many budgets beside those of the configuration metrics show. */
  get metricsLimit(): number {
    return this.#policy.budgets.metricsLimit;
  }

  get refusals(): ReadonlyMap<ScopeKind, number> {
    return this.#refusals;
  }

  /** When a cap begins anew, epoch milliseconds; null = never. */
  resetOf(cap: Cap): number | null {
    return endOf(this.#counted.windows.at(cap, this.#options.clock.now()));
  }

  /** What a call needs of its caps; in soft budgets it reserves nothing, but they are counted from now on. */
  needsOf(caps: readonly Cap[], startMs: number): readonly BudgetNeed[] {
    const nowMs = this.#options.clock.now();
    const needs: BudgetNeed[] = [];
    for (const cap of caps) {
      const tracked = this.#counted.track(cap, nowMs);
      const windowStartMs = this.#counted.open(tracked, startMs);
      const capPico = capAt(cap, nowMs);
      if (capPico === null) {
        this.#countFromNow(tracked, windowStartMs);
      } else if (cap.letsFreeIn) {
        needs.push({ budget: cap.counter, windowStartMs, capPico, letsFreeIn: true });
      } else needs.push({ budget: cap.counter, windowStartMs, capPico });
    }
    return needs;
  }

  /** Reads what these counters had spent, and begins them. @throws StoreUnavailable */
  async seed(counters: readonly CounterName[]): Promise<void> {
    await this.#seedings.seed(counters, (budget) => this.#counted.tracked.byCounter(budget));
  }

  /** Seeds the caps of all objects and rules at once: at the start, so that no call waits for its own. @throws StoreUnavailable */
  async warm(): Promise<void> {
    const { counters, clock } = this.#options;
    if (counters.isShared === true) return; // most are known there
    const nowMs = clock.now();
    const sums = new StartSums((cap, atMs) => this.#counted.windows.at(cap, atMs));
    const scopes = scopesBeside(sums, this.#present(nowMs), this.#sources.hasRulesFor('key'));
    const queries = sums.ask();
    if (queries.length > 0) {
      this.#counted.startSums = sums;
      sums.add(await this.#options.ledger.spentBefore(queries, () => sums.captured(clock.now())));
    }
    await this.#countAll(scopes, nowMs);
    // What was raised before is known to `alerts/raised-events.ts`.
    for (const tracked of this.#counted.tracked.all()) this.#marks.look(tracked, this.#options.clock.now());
  }

  /**
   * Counts the budgets that metrics show from now on, also where nobody has used them since the start.
   * @param limit how many beside those of the configuration
   * @throws StoreUnavailable
   */
  async countFurthest(limit: number): Promise<void> {
    const nowMs = this.#options.clock.now();
    const { startSums } = this.#counted;
    const kept = startSums?.isReady === true ? startSums : null;
    const read = (queries: readonly SpentQuery[]): Promise<readonly (readonly SpentSum[])[]> =>
      this.#options.ledger.spentBefore(queries, () => undefined);
    const sums = this.sums.bind(this);
    await this.#countAll(await furthestOf({ ...this.#present(nowMs), kept, read, sums }, limit), nowMs);
  }

  #present(nowMs: number): Present {
    return { ...this.inService, directory: this.#options.directory, nowMs };
  }

  /** Begins the counters of all caps of these. @throws StoreUnavailable */
  async #countAll(scopes: readonly Scope[], nowMs: number): Promise<void> {
    const counters: CounterName[] = [];
    for (const scope of scopes)
      for (const cap of this.#sources.of(scope)) {
        const tracked = this.#counted.track(cap, nowMs);
        const windowStartMs = this.#counted.open(tracked, nowMs);
        if (tracked.openedMs !== windowStartMs) counters.push({ budget: cap.counter, windowStartMs });
      }
    if (counters.length > 0) await this.seed(counters);
  }

  /** Counts a record, in the same turn in which it goes to the ledger. */
  settle(record: SpendRecord): void {
    const { requestId, tokens } = record;
    const spent: SpentPart[] = [];
    const touched: Tracked[] = [];
    if (this.#counted.tracked.size > 0 || this.#counted.startSums !== null)
      this.#count(record, spent, touched);
    this.#options.counters.settle({ requestId, spent, tokens: tokens.total });
    if (touched.length > 0) this.#marks.settled(requestId, touched);
  }

  /** @param spent is given what its counters get @param touched the caps that it counts for */
  #count(record: SpendRecord, spent: SpentPart[], touched: Tracked[]): void {
    const { requestId, modelGroup, startMs, endMs } = record;
    const { isShared } = this.#options.counters;
    const pico = BigInt(record.spendPico ?? 0);
    const meant = this.#meant(modelGroup);
    const { directory } = this.#options;
    const { tracked: known, startSums } = this.#counted;
    for (const scope of scopesOf(record, directory, this.#counted)) {
      const { kind, id } = scope;
      const counted = known.of(kind, countedIdOf(scope, directory));
      if (counted.length === 0 && kind === 'key') startSums?.settle(id, startMs, pico);
      for (const one of counted) {
        if (!coversModel(one.cap, modelGroup, meant)) continue;
        const tracked = isShared === true ? this.#asStated(one) : one;
        tracked.used(endMs);
        const windowStartMs = this.#counted.open(tracked, countedMs(tracked.cap, record));
        const part = { budget: tracked.cap.counter, windowStartMs, pico };
        if (this.#seedings.settle(part, requestId, pico)) spent.push(part);
        touched.push(tracked);
      }
    }
  }

  /** With its spend set anew since: others may have begun the counter of that already, without this call. */
  #asStated(tracked: Tracked): Tracked {
    const cap = this.#sources.stated(tracked.cap);
    return cap === null || cap === tracked.cap
      ? tracked
      : this.#counted.track(cap, this.#options.clock.now());
  }

  /** Of a settled record, in a later turn: its row survives this process. Only now other processes are told what it did cost. */
  journaled(requestId: string): void {
    this.#options.counters.journaled?.(requestId);
    this.#marks.journaled(requestId);
  }

  /**
   * What counters say now, of those that somebody has asked for and whose caps are still stated. For metrics.
   * @param wanted asked with the cap as it was counted: its amounts may be others now
   */
  async *states(wanted: (cap: Cap) => boolean = () => true): AsyncGenerator<CounterReading> {
    const nowMs = this.#options.clock.now();
    for (const tracked of this.#counted.tracked.all()) {
      const cap = wanted(tracked.cap) ? this.#sources.stated(tracked.cap) : null;
      if (cap === null) continue;
      const window = this.#counted.windows.at(cap, nowMs);
      const state = await this.#options.counters.read({ budget: cap.counter, windowStartMs: window.startMs });
      if (state !== null) yield { cap, window, state };
    }
  }

  /** The caps of the configuration and the objects in service, and their windows. */
  get inService(): { readonly sources: CapSources; readonly windows: CapWindows } {
    return { sources: this.#sources, windows: this.#counted.windows };
  }

  readonly #meant = (model: string): string => this.#policy.routing.aliases.get(model) ?? model;

  /** What windows have spent by records that are settled before `captured`. @throws StoreUnavailable */
  async sums(asked: readonly Unsummed[], captured: () => void = () => undefined): Promise<readonly bigint[]> {
    const plan = queriesFor(asked, this.#options.directory);
    return await plan.sumsOf(await this.#options.ledger.spentBefore(plan.queries, captured), this.#meant);
  }
}

const NONE: readonly Cap[] = Object.freeze([]);
