// Finds keys, teams and the proxy that spend far more than usual. The rule: the hour of the clock (UTC) that runs, or the last
// one, has cost at least `minPico`, and more than `factor` times what is usual: the median of the same hour of the last 14 days,
// or, for what happens once a week, the lower of the same hour one week and two weeks ago. Days on which nobody called are no
// days to compare with; with less than three of them nothing is said of anybody.
import type { SpendAnomalySettings } from '../../../config/alert-settings.ts';
import type { SpentQuery, SpentSum } from '../../spend/store/store.ts';
import type { Scope } from '../budgets/scopes.ts';
import type { AccessEvents, SpendAnomalyEvent } from '../events.ts';

/** Of `Ledger`. */
export interface SpentSums {
  /** @throws StoreUnavailable */
  spentBefore(
    queries: readonly SpentQuery[],
    captured: () => void,
  ): Promise<readonly (readonly SpentSum[])[]>;
}

/** Of `AccessDirectory`: the key that a credential was before it was regenerated. */
interface KeyDirectory {
  keyOfCredential(sha256: string, nowMs: number): { readonly id: string } | null;
}

interface AnomalySources {
  readonly ledger: SpentSums;
  readonly directory: KeyDirectory;
  readonly events: AccessEvents;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const LEAST_DAYS = 3;
const BY = ['apiKeyHash', 'team'] as const;

type Totals = ReadonlyMap<string, { readonly scope: Scope; readonly pico: bigint }>;

export class SpendAnomalies {
  readonly #sources: AnomalySources;
  /** The last hour that was looked at after its end. */
  #endedHourMs = -1;
  /** Whose spend was found today: nothing older is read for it again. */
  #found = new Set<string>();
  #foundDayMs = -1;

  constructor(sources: AnomalySources) {
    this.#sources = sources;
  }

  /** Looks at the hour that runs, and once at the one before. @throws StoreUnavailable */
  async look(settings: SpendAnomalySettings, nowMs: number): Promise<void> {
    const hourMs = nowMs - (nowMs % HOUR_MS);
    if (this.#endedHourMs < hourMs - HOUR_MS) {
      await this.#lookAt(hourMs - HOUR_MS, settings, nowMs);
      this.#endedHourMs = hourMs - HOUR_MS;
    }
    await this.#lookAt(hourMs, settings, nowMs);
  }

  async #lookAt(hourMs: number, settings: SpendAnomalySettings, nowMs: number): Promise<void> {
    const dayMs = hourMs - (hourMs % DAY_MS);
    if (dayMs !== this.#foundDayMs) this.#found = new Set();
    this.#foundDayMs = dayMs;
    const [hour = new Map() as Totals] = await this.#totals([hourMs]);
    const dear = [...hour].filter(
      ([name, { scope, pico }]) =>
        pico >= settings.minPico && isWanted(scope, settings) && !this.#found.has(name),
    );
    if (dear.length === 0) return; // most hours: nothing older is read
    const counted = await this.#daysBefore(dayMs, settings.days);
    if (counted.length < LEAST_DAYS) return;
    const history = await this.#totals(counted.map((days) => hourMs - days * DAY_MS));
    for (const [name, { scope, pico }] of dear) {
      const past = new Map(counted.map((days, i) => [days, history[i]?.get(name)?.pico ?? 0n]));
      const usualPico = usual(past);
      if (Number(pico) <= settings.factor * Number(usualPico)) continue;
      this.#found.add(name);
      const event: SpendAnomalyEvent = {
        kind: 'spend_anomaly',
        atMs: nowMs,
        scope,
        hourMs,
        spentPico: pico,
        usualPico,
      };
      this.#sources.events.emit(event);
    }
  }

  /** How many days ago somebody has spent something, of the last `days`. From the daily sums, which are few. */
  async #daysBefore(dayMs: number, days: number): Promise<readonly number[]> {
    const ago = Array.from({ length: days + 1 }, (_, i) => i);
    const sums = await this.#sources.ledger.spentBefore(
      ago.map((i) => ({ by: [], ids: null, sinceMs: dayMs - i * DAY_MS })),
      () => undefined,
    );
    const since = sums.map((sum) => sum[0]?.pico ?? 0n);
    return ago.filter((i) => i > 0 && (since[i] ?? 0n) > (since[i - 1] ?? 0n));
  }

  /** What each scope has spent in these hours. */
  async #totals(hoursMs: readonly number[]): Promise<readonly Totals[]> {
    const queries = hoursMs.map((sinceMs) => ({
      by: BY,
      ids: null,
      sinceMs,
      untilMs: sinceMs + HOUR_MS,
    }));
    const results = await this.#sources.ledger.spentBefore(queries, () => undefined);
    return results.map((sums) => {
      const totals = new Map<string, { scope: Scope; pico: bigint }>();
      for (const { values, pico } of sums) {
        const [credential = '', teamId = ''] = values;
        const key = this.#sources.directory.keyOfCredential(credential, 0)?.id ?? credential;
        add(totals, { kind: 'key', id: key }, pico);
        add(totals, { kind: 'team', id: teamId }, pico);
        add(totals, { kind: 'proxy', id: '' }, pico);
      }
      return totals;
    });
  }
}

function add(totals: Map<string, { scope: Scope; pico: bigint }>, scope: Scope, pico: bigint): void {
  if (scope.id === '' && scope.kind !== 'proxy') return;
  const name = `${scope.kind}:${scope.id}`;
  const total = totals.get(name);
  if (total === undefined) totals.set(name, { scope, pico });
  else total.pico += pico;
}

const isWanted = ({ kind }: Scope, { scopes }: SpendAnomalySettings): boolean =>
  (kind === 'key' || kind === 'team' || kind === 'proxy') && scopes.has(kind);

/** @param past what this hour has cost so many days ago */
function usual(past: ReadonlyMap<number, bigint>): bigint {
  const sorted = [...past.values()].sort((a, b) => (a < b ? -1 : Number(a > b)));
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0n;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0n) + upper) / 2n;
  const [week, weeks] = [past.get(7) ?? 0n, past.get(14) ?? 0n];
  const weekly = week < weeks ? week : weeks;
  return weekly > median ? weekly : median;
}
