// `GET /chain`: the way of the calls as it is now: this proxy, each gateway, each deployment, the ledger. From memory; one
// snapshot a second is made for all who look, so that many open pages cost as much as one.
import { hostname } from 'node:os';
import type { ConfigReloader } from '../../active-config/config-reloader.ts';
import type { ActiveConfig } from '../../active-config/active-config.ts';
import { VERSION } from '../../active-config/version.ts';
import { countersOf } from '../../active-config/cluster-peers.ts';
import { processReport } from '../../active-config/process-report.ts';
import { within } from '../../base/within.ts';
import type { LedgerStatus } from '../../spend/ledger.ts';
import type { SpendReader } from '../../spend/store/store.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import type { ServerState } from '../health.ts';
import { dollarsOf } from '../../spend/record/cost.ts';
import { etagOf, sendTaggedBytes } from '../tagged-json.ts';
import { chainParts, type LedgerSums } from './chain-parts.ts';
import { ChainNewsReader } from './chain-news.ts';
import { alertCounts, isSilent, newsFindings, presentServers } from './chain-news-findings.ts';
import { findingsOf, verdictOf } from './chain-findings.ts';

/** What one looks at first. */
const MOST_FINDINGS = 5;
const FRESH_MS = 1_000;
/** Sums of today are read from the store, so not each second. */
const SPEND_FRESH_MS = 30_000;
/** Whoever looks waits no longer for the store. */
const STORE_WAIT_MS = 200;

interface ChainOwner {
  readonly reloader: ConfigReloader;
  readonly state: ServerState;
}

interface Made {
  readonly at: number;
  readonly version: string;
  readonly body: Buffer;
  readonly etag: string;
}

/** What was spent on a UTC day. */
interface SpendToday {
  readonly usd: number;
  readonly calls: number;
  readonly unpriced: number;
  readonly day: string;
  readonly as_of: string;
}

export class ChainRoute {
  readonly #owner: ChainOwner;
  #made: Made | null = null;
  #making: Promise<Made> | null = null;
  #spend: SpendToday | null = null;
  #spendReadAt = -Infinity;
  #spendReading: Promise<void> | null = null;
  readonly #news = new ChainNewsReader();
  #newsReading: Promise<void> | null = null;

  constructor(owner: ChainOwner) {
    this.#owner = owner;
  }

  async show(x: Exchange): Promise<void> {
    const { body, etag } = await this.#current(x.active);
    sendTaggedBytes(x, body, etag);
  }

  #current(active: ActiveConfig): Promise<Made> {
    const now = active.services.clock.now();
    const made = this.#made;
    if (made !== null && Math.abs(now - made.at) < FRESH_MS && made.version === active.snapshot.version)
      return Promise.resolve(made);
    this.#making ??= this.#make(active).finally(() => (this.#making = null));
    return this.#making;
  }

  async #make(active: ActiveConfig): Promise<Made> {
    const { services, snapshot } = active;
    const { reloader, state } = this.#owner;
    await this.#readStore(active);
    const status = await services.peers.status();
    const { reports, silent } = await services.peers.reports(() => processReport(active, 1));
    const now = services.clock.now();
    const ledger = ledgerSums(status.workers.map((one) => one.ledger));
    const keysLoaded = status.workers.every((one) => one.keysLoaded);
    const parts = chainParts(active, reports, now);
    const workers = { configured: status.configured, serving: reports.length, silent };
    const servers = presentServers(services.servers.all(now), now);
    const more = newsFindings(this.#news.known, servers, now);
    const known = {
      active,
      parts,
      ledger,
      keysLoaded,
      counters: countersOf(status.workers),
      workers,
      reload: reloader.state,
      draining: state.draining,
      more,
    };
    const findings = findingsOf(known);
    const shown = {
      window_s: parts.windowSeconds,
      verdict: verdictOf(known, findings),
      proxy: {
        version: VERSION,
        config_version: snapshot.version,
        started_at: new Date(performance.timeOrigin).toISOString(),
        host: hostname(),
        workers,
        draining: state.draining,
        ...parts.proxy,
      },
      traffic: parts.traffic,
      gateways: parts.gateways,
      deployments: parts.deployments,
      deployments_total: snapshot.deployments.length,
      ledger,
      reload: {
        result: reloader.state.result,
        at: new Date(reloader.state.atMs).toISOString(),
        since: new Date(reloader.state.inForceMs).toISOString(),
        errors: reloader.state.issues.filter(({ severity }) => severity === 'error').length,
        warnings: snapshot.warnings.length,
      },
      findings: findings.slice(0, MOST_FINDINGS),
      findings_total: findings.length,
      alerts: alertCounts(this.#news.known),
      replicas: servers.map((one) => ({
        name: one.name,
        version: one.version,
        started_at: one.startedMs === null ? null : new Date(one.startedMs).toISOString(),
        state: isSilent(one, now) ? 'silent' : 'serving',
        this: one.isThis,
        shared_by: one.sharedBy,
      })),
      history: parts.history,
    };
    const { as_of: asOf = null, ...sums } = this.#spend ?? {};
    const spendToday = this.#spend === null ? null : sums;
    // What changes by itself is no news: a page that has the rest keeps it.
    const etag = etagOf(JSON.stringify([shown, spendToday]));
    const whole = {
      at: new Date(now).toISOString(),
      ...shown,
      proxy: { ...shown.proxy, uptime_s: Math.floor(process.uptime()), ...parts.machine },
      replicas: shown.replicas.map((one, i) => ({
        ...one,
        last_seen: new Date(servers[i]?.seenMs ?? now).toISOString(),
      })),
      spend_today: spendToday === null ? null : { ...spendToday, as_of: asOf },
    };
    const body = Buffer.from(JSON.stringify(whole));
    this.#made = { at: services.clock.now(), version: snapshot.version, body, etag };
    return this.#made;
  }

  /** Of a store that is away, what it said last. */
  async #readStore(active: ActiveConfig): Promise<void> {
    const { clock, ledger } = active.services;
    if (this.#spendReading === null && clock.mono() - this.#spendReadAt >= SPEND_FRESH_MS) {
      this.#spendReadAt = clock.mono();
      this.#spendReading = this.#readToday(ledger.reader, clock.now());
    }
    this.#newsReading ??= this.#news.read(active)?.finally(() => (this.#newsReading = null)) ?? null;
    const readings = [this.#spend === null ? this.#spendReading : null, this.#newsReading];
    const first = readings.filter((one) => one !== null);
    if (first.length > 0) await within(STORE_WAIT_MS, Promise.all(first), () => null);
  }

  async #readToday(reader: Pick<SpendReader, 'activity'>, nowMs: number): Promise<void> {
    const as_of = new Date(nowMs).toISOString();
    const day = as_of.slice(0, 10);
    try {
      const [all] = await reader.activity({ startDay: day, endDay: day }, [], 1);
      const { spendPico = 0n, requests = 0, unpriced = 0 } = all?.sums ?? {};
      this.#spend = { usd: dollarsOf(spendPico), calls: requests, unpriced, day, as_of };
    } catch {
      // that the store is away stands in `ledger`
    } finally {
      this.#spendReading = null;
    }
  }
}

function ledgerSums(ledgers: readonly LedgerStatus[]): LedgerSums {
  const sum = (of: 'rowsAtRisk' | 'rowsLost' | 'open' | 'pendingShip'): number =>
    ledgers.reduce((total, one) => total + one[of], 0);
  const stuck = ledgers.find(({ writable }) => !writable);
  return {
    writable: stuck === undefined,
    reason: stuck?.reason ?? '',
    open: sum('open'),
    rows_at_risk: sum('rowsAtRisk'),
    rows_lost: sum('rowsLost'),
    backlog_bytes: sum('pendingShip'),
    store_reachable: ledgers.every(({ storeReachable }) => storeReachable),
  };
}
