// The budgets of a process: which caps a call reserves in, what its record adds to them, and where counters begin. Counters follow
// the ledger by construction: they are seeded with the sums of exactly the records that were settled before, and every
// record that is settled later adds to all caps that its scopes have ever been asked for.
import type { BudgetSettings } from '../../../config/budget-settings.ts';
import type { Clock } from '../../base/clock.ts';
import type { Ledger } from '../../spend/ledger.ts';
import type { SpendRecord } from '../../spend/record/record.ts';
import type { SpentQuery, SpentSum } from '../../spend/store/store.ts';
import type { CounterName, Counters, CounterState } from '../counters.ts';
import type { AccessEvents } from '../events.ts';
import type { BudgetNeed } from './budget-book.ts';
import { CapSources, type CapDirectory } from './cap-sources.ts';
import { basePico, capAt, countedMs, coversModel, type Cap } from './caps.ts';
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
import { Tracked, TrackedCaps, type CounterReading } from './tracked.ts';
import { CapWindows, endOf, SeenTime } from './windows.ts';
import { queriesFor, storedIds, type SumDirectory, type Unsummed } from './spent-queries.ts';

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
  readonly #tracked = new TrackedCaps();
  readonly #seedings: Seedings;
  readonly #marks: Marks;
  readonly #refusals = new Map<ScopeKind, number>();
  /** null: every budget has a counter. */
  #startSums: StartSums | null = null;
  #policy: BudgetPolicy;
  #sources: CapSources;
  #attributes: boolean;
  #windows: CapWindows;
  readonly #seen = new SeenTime();

  constructor(policy: BudgetPolicy, options: BudgetsOptions) {
    this.#options = options;
    this.#policy = policy;
    this.#sources = new CapSources(options.directory, policy.budgets);
    this.#attributes = policy.deployments.some(isAttributing);
    this.#windows = new CapWindows(policy.budgets);
    const { counters, clock } = options;
    const sums = this.sums.bind(this);
    this.#marks = new Marks(options);
    const begun = (tracked: Tracked): void => this.#marks.look(tracked, clock.now());
    this.#seedings = new Seedings({ counters, clock, sums, begun });
  }

  /** Takes another configuration. */
  use(policy: BudgetPolicy): void {
    const { timeZone, resetMinute } = this.#policy.budgets;
    if (policy.budgets.timeZone !== timeZone || policy.budgets.resetMinute !== resetMinute) {
      this.#windows = new CapWindows(policy.budgets);
      for (const tracked of this.#tracked.all()) this.#forget(tracked);
      this.#startSums = null;
    }
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
      const tracked = this.#track(cap, nowMs);
      this.#countFromNow(tracked, this.#open(tracked, startMs));
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
    const { startMs } = this.#windows.at(cap, nowMs);
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
    return endOf(this.#windows.at(cap, this.#options.clock.now()));
  }

  /** What a call needs of its caps; in soft budgets it reserves nothing, but they are counted from now on. */
  needsOf(caps: readonly Cap[], startMs: number): readonly BudgetNeed[] {
    const nowMs = this.#options.clock.now();
    const needs: BudgetNeed[] = [];
    for (const cap of caps) {
      const tracked = this.#track(cap, nowMs);
      const windowStartMs = this.#open(tracked, startMs);
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
    await this.#seedings.seed(counters, (budget) => this.#tracked.byCounter(budget));
  }

  /** Seeds the caps of all objects and rules at once: at the start, so that no call waits for its own. @throws StoreUnavailable */
  async warm(): Promise<void> {
    const { counters, clock } = this.#options;
    if (counters.isShared === true) return; // most are known there
    const nowMs = clock.now();
    const sums = new StartSums((cap, atMs) => this.#windows.at(cap, atMs));
    const scopes = scopesBeside(sums, this.#present(nowMs), this.#sources.hasRulesFor('key'));
    const queries = sums.ask();
    if (queries.length > 0) {
      this.#startSums = sums;
      sums.add(await this.#options.ledger.spentBefore(queries, () => sums.captured(clock.now())));
    }
    await this.#countAll(scopes, nowMs);
    // What was raised before is known to `alerts/raised-events.ts`.
    for (const tracked of this.#tracked.all()) this.#marks.look(tracked, this.#options.clock.now());
  }

  /**
   * Counts the budgets that metrics show from now on, also where nobody has used them since the start.
   * @param limit how many beside those of the configuration
   * @throws StoreUnavailable
   */
  async countFurthest(limit: number): Promise<void> {
    const nowMs = this.#options.clock.now();
    const kept = this.#startSums?.isReady === true ? this.#startSums : null;
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
        const tracked = this.#track(cap, nowMs);
        const windowStartMs = this.#open(tracked, nowMs);
        if (tracked.openedMs !== windowStartMs) counters.push({ budget: cap.counter, windowStartMs });
      }
    if (counters.length > 0) await this.seed(counters);
  }

  /** Counts a record, in the same turn in which it goes to the ledger. */
  settle(record: SpendRecord): void {
    const { requestId, tokens } = record;
    const spent: SpentPart[] = [];
    const touched: Tracked[] = [];
    if (this.#tracked.size > 0 || this.#startSums !== null) this.#count(record, spent, touched);
    this.#options.counters.settle({ requestId, spent, tokens: tokens.total });
    if (touched.length > 0) this.#marks.settled(requestId, touched);
  }

  /** @param spent is given what its counters get @param touched the caps that it counts for */
  #count(record: SpendRecord, spent: SpentPart[], touched: Tracked[]): void {
    const { requestId, modelGroup, startMs } = record;
    const { isShared } = this.#options.counters;
    const pico = BigInt(record.spendPico ?? 0);
    const meant = this.#meant(modelGroup);
    const { directory } = this.#options;
    for (const scope of scopesOf(record, directory, this.#settled)) {
      const { kind, id } = scope;
      const counted = this.#tracked.of(kind, countedIdOf(scope, directory));
      if (counted.length === 0 && kind === 'key') this.#startSums?.settle(id, startMs, pico);
      for (const one of counted) {
        if (!coversModel(one.cap, modelGroup, meant)) continue;
        const tracked = isShared === true ? this.#asStated(one) : one;
        const windowStartMs = this.#open(tracked, countedMs(tracked.cap, record));
        const part = { budget: tracked.cap.counter, windowStartMs, pico };
        if (this.#seedings.settle(part, requestId, pico)) spent.push(part);
        touched.push(tracked);
      }
    }
  }

  /** With its spend set anew since: others may have begun the counter of that already, without this call. */
  #asStated(tracked: Tracked): Tracked {
    const cap = this.#sources.stated(tracked.cap);
    return cap === null || cap === tracked.cap ? tracked : this.#track(cap, this.#options.clock.now());
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
    for (const tracked of this.#tracked.all()) {
      const cap = wanted(tracked.cap) ? this.#sources.stated(tracked.cap) : null;
      if (cap === null) continue;
      const window = this.#windows.at(cap, nowMs);
      const state = await this.#options.counters.read({ budget: cap.counter, windowStartMs: window.startMs });
      if (state !== null) yield { cap, window, state };
    }
  }

  /** The caps of the configuration and the objects in service, and their windows. */
  get inService(): { readonly sources: CapSources; readonly windows: CapWindows } {
    return { sources: this.#sources, windows: this.#windows };
  }

  /** Scopes that records count for. */
  readonly #settled = {
    has: (kind: ScopeKind): boolean =>
      this.#tracked.has(kind) || (kind === 'key' && this.#startSums !== null),
  };

  readonly #meant = (model: string): string => this.#policy.routing.aliases.get(model) ?? model;

  /** What windows have spent by records that are settled before `captured`. @throws StoreUnavailable */
  async sums(asked: readonly Unsummed[], captured: () => void = () => undefined): Promise<readonly bigint[]> {
    const plan = queriesFor(asked, this.#options.directory);
    return await plan.sumsOf(await this.#options.ledger.spentBefore(plan.queries, captured), this.#meant);
  }

  #track(cap: Cap, nowMs: number): Tracked {
    // The settlement looks here as well; the table by counter is as large and seldom in a cache of the processor.
    const known = this.#tracked.of(cap.scope.kind, cap.countedId);
    const before = known.find((one) => one.cap === cap) ?? this.#tracked.byCounter(cap.counter);
    this.#seen.saw(nowMs);
    // A clock that was set back has begun its window too early: a counter has one window, and none before it counts.
    if (before !== undefined && before.window.startMs > nowMs) this.#forget(before);
    else if (before !== undefined) {
      before.used(nowMs);
      if (before.cap === cap) return before;
      const isSame =
        before.cap.countFrom?.atMs === cap.countFrom?.atMs &&
        before.cap.countFrom?.pico === cap.countFrom?.pico;
      before.stated(cap);
      if (isSame) return before;
      this.#forget(before);
    }
    const isGone = (one: Cap): boolean => this.#sources.isGone(one);
    for (const idle of this.#tracked.idle(nowMs, isGone)) this.#forget(idle);
    const tracked = new Tracked(cap, nowMs);
    this.#tracked.add(tracked);
    if (cap.scope.kind === 'key' && this.#startSums !== null) this.#takeSum(this.#startSums, tracked, nowMs);
    return tracked;
  }

  /** The first call of a key since the start begins its counter with what it had spent. */
  #takeSum(sums: StartSums, tracked: Tracked, nowMs: number): void {
    const { cap } = tracked;
    const sum = sums.take(storedIds('key', cap.scope.id, this.#options.directory), cap, nowMs);
    if (sum === null || sum.window.startMs > nowMs) return; // the clock was set back since
    const { startMs } = sum.window;
    tracked.moved(sum.window);
    void this.#options.counters.seed({ budget: cap.counter, windowStartMs: startMs }, sum.pico);
    tracked.opened(startMs, sums.countedFromMs);
    this.#marks.look(tracked, nowMs, () => undefined); // told before the start
  }

  /** The start of a cap's window at a time. One that began while all records were counted begins with nothing. */
  #open(tracked: Tracked, atMs: number): number {
    if (atMs < tracked.window.startMs || atMs >= tracked.window.endMs) {
      const window = this.#windows.at(tracked.cap, atMs);
      if (window.startMs < tracked.window.startMs) return window.startMs; // of an older call
      tracked.moved(window);
    }
    const { startMs } = tracked.window;
    if (this.#options.counters.isShared === true) return startMs;
    if (startMs > tracked.openedMs && startMs >= tracked.sinceMs && !this.#seen.comesAgain(startMs)) {
      void this.#options.counters.seed(
        { budget: tracked.cap.counter, windowStartMs: startMs },
        basePico(tracked.cap, startMs),
      );
      tracked.opened(startMs);
    }
    return startMs;
  }

  #forget(tracked: Tracked): void {
    this.#tracked.remove(tracked);
    this.#options.counters.forget?.({ budget: tracked.cap.counter, windowStartMs: tracked.window.startMs });
  }
}

const NONE: readonly Cap[] = Object.freeze([]);
