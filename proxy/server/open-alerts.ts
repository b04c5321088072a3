// Alerts of a running proxy: their files in the data directory, their requests through undici, and who looks for keys that
// expire and for spend that is not usual.
import { join } from 'node:path';
import type { AlertSettings } from '../../config/alert-settings.ts';
import { AlertHistory } from '../access/alerts/alert-history.ts';
import type { RaisedAlert } from '../access/alerts/raised-alert.ts';
import { Alerts } from '../access/alerts/alerts.ts';
import type { Post } from '../access/alerts/delivery.ts';
import { tellExpiringKeys } from '../access/alerts/expiring-keys.ts';
import { Outbox } from '../access/alerts/outbox.ts';
import { SpendAnomalies, type SpentSums } from '../access/alerts/spend-anomaly.ts';
import { RaisedEvents } from '../access/alerts/raised-events.ts';
import type { AccessEvents } from '../access/events.ts';
import { loggedEvents } from '../access/logged-events.ts';
import type { AccessDirectory } from '../access/objects/directory.ts';
import type { WorkerRole } from '../active-config/cluster-peers.ts';
import type { Clock } from '../base/clock.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { History, type HistoryBounds, type HistoryKind } from '../items/history.ts';
import type { ItemStore } from '../items/item-store.ts';
import type { Log } from '../observability/logger.ts';
import { post } from '../upstream/get.ts';
import type { Pools } from '../upstream/pools.ts';

interface Process {
  readonly dataDir: string;
  readonly worker?: Pick<WorkerRole, 'welcome'> | undefined;
  readonly log: Log;
}

interface AlertParts {
  readonly store: ItemStore<HistoryKind>;
  readonly settings: () => AlertSettings;
  readonly directory: AccessDirectory;
  readonly ledger: SpentSums;
  readonly pools: Pools;
  readonly clock: Clock;
  readonly count: (kind: string, outcome: string) => void;
}

export interface OpenedAlerts {
  readonly alerts: Alerts;
  /** For whoever lists them. */
  readonly history: History<RaisedAlert>;
  /** Sends what was left, and begins to look for what nobody reports. Call it when keys are loaded. */
  watch(): void;
  close(): Promise<void>;
}

const ANSWER_MS = 15_000;
const MOST_BYTES = 65_536;
const LOOK_MS = 3_600_000;
const LOOK_AT_SPEND_MS = 300_000;
/** Some 600 bytes each. */
const KEPT: HistoryBounds = { most: 5_000, keptMs: 90 * 86_400_000 };

/** @throws CannotStart when the data directory cannot be written */
export async function openAlerts(
  { dataDir, worker, log }: Process,
  { store, pools, directory, ledger, clock, count, settings }: AlertParts,
): Promise<OpenedAlerts> {
  const { number, count: workers } = worker?.welcome ?? { number: 1, count: 1 };
  const dir = join(dataDir, 'alerts');
  const unwritable = (error: Error): never => {
    throw new CannotStart(`alerts cannot be kept in ${dir}: ${error.message}`);
  };
  const outbox = await Outbox.open(dir, { number, count: workers }).catch(unwritable);
  const raised = await RaisedEvents.open(join(dir, 'told')).catch(unwritable);
  const history = new History<RaisedAlert>(store, 'alert', KEPT);
  const alerts = new Alerts({
    outbox,
    raised,
    history: new AlertHistory({ history, log, nowMs: clock.now }),
    settings,
    directory,
    post: poster(pools),
    clock,
    log,
    logged: loggedEvents(log),
    count,
  });
  let isClosed = false;
  const events: AccessEvents = { emit: (event) => void (isClosed || alerts.emit(event)) };
  const anomalies = new SpendAnomalies({ ledger, directory, events });
  const timers: NodeJS.Timeout[] = [];
  const look = (): void => {
    alerts.sweep();
    tellExpiringKeys(directory, alerts, clock.now(), settings().keyExpiryMs);
  };
  let underWay: Promise<void> | null = null;
  const lookAtSpend = (): void => {
    const { spendAnomaly } = settings();
    if (spendAnomaly === null || underWay !== null) return;
    underWay = anomalies
      .look(spendAnomaly, clock.now())
      .catch((err: unknown) => {
        if (!isClosed) log.warn({ err }, 'spend cannot be compared with what is usual');
      })
      .finally(() => (underWay = null));
  };
  return {
    alerts,
    history,
    watch: () => {
      alerts.start();
      if (number !== 1) return; // one worker is enough
      look();
      lookAtSpend();
      timers.push(setInterval(look, LOOK_MS).unref(), setInterval(lookAtSpend, LOOK_AT_SPEND_MS).unref());
    },
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      isClosed = true; // a slow comparison is not waited for: the next start makes it anew
      await alerts.close();
    },
  };
}

/** Redirects are not followed: what is signed goes where the operator says. */
const poster =
  (pools: Pools): Post =>
  async (url, headers, body) => {
    const { origin, pathname, search } = new URL(url);
    const key = { origin, allowH2: false, refuseLinkLocal: true };
    const pool = pools.acquire(key);
    try {
      const options = { path: `${pathname}${search}`, headers, timeoutMs: ANSWER_MS, maxBytes: MOST_BYTES };
      return (await post(pool, body, options)).status;
    } finally {
      pools.release(key);
    }
  };
