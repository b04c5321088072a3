// What alerts were raised and what became of each, for whoever looks later: kept in the history of the installation, where several
// servers may tell of one alert. What cannot be written now waits in memory; no alert waits for it.
import type { History } from '../../items/history.ts';
import type { Log } from '../../observability/logger.ts';
import { acknowledgementOf } from './acknowledgements.ts';
import type { Alert } from './alert.ts';
import { alertText, type Acknowledgement, type AlertDelivery, type RaisedAlert } from './raised-alert.ts';

/** What happened to an alert at a receiver. */
export interface DeliveryNews extends Pick<AlertDelivery, 'channel' | 'state' | 'reason'> {
  /** Whether a request was made. */
  readonly tried: boolean;
}

interface AlertHistoryOptions {
  readonly history: History<RaisedAlert>;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Before what could not be written is tried again. */
  readonly retryMs?: number;
}

interface Note {
  readonly alert: Alert;
  readonly news: readonly (DeliveryNews & { readonly changedMs: number })[];
}

const RETRY_MS = 30_000;
/** Notes that wait while the store is away; the oldest go first. */
const MOST_WAITING = 1_000;

export class AlertHistory {
  readonly #options: AlertHistoryOptions;
  readonly #waiting: Note[] = [];
  #writing: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #isTroubled = false;
  /** Something was kept since old ones were removed. */
  #hasGrown = false;
  #isClosed = false;

  constructor(options: AlertHistoryOptions) {
    this.#options = options;
  }

  /** An alert was raised, or something happened to one. Never throws, never waits. */
  note(alert: Alert, news: readonly DeliveryNews[]): void {
    if (this.#isClosed) return;
    const changedMs = this.#options.nowMs();
    this.#waiting.push({ alert, news: news.map((one) => ({ ...one, changedMs })) });
    if (this.#waiting.length > MOST_WAITING) this.#waiting.splice(1, 1); // the first one may be under way
    if (this.#retry === null) this.#writing ??= this.#write();
  }

  /** Forgets what is old, where something new was kept: asking opens the store, whose thread holds some 15 MB. */
  prune(): void {
    if (!this.#hasGrown) return;
    this.#hasGrown = false;
    const { history, nowMs, log } = this.#options;
    history
      .prune(nowMs())
      .catch((err: unknown) => log.warn({ err }, 'old alerts of the history cannot be removed'));
  }

  /** Writes what waits, once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    await (this.#writing ??= this.#write());
  }

  async #write(): Promise<void> {
    const { history, log, retryMs = RETRY_MS } = this.#options;
    try {
      for (let note = this.#waiting[0]; note !== undefined; note = this.#waiting[0]) {
        const { alert, news } = note;
        // What is told once is its own cause, and no other alert's acknowledgement can be its own.
        const seen =
          alert.cause === alert.id ? null : await acknowledgementOf(history, alert.cause, alert.atMs);
        await history.put({ id: alert.id, atMs: alert.atMs }, (before) =>
          alertText(changed(alert, before, news, seen), alert.cause),
        );
        this.#waiting.shift();
        this.#hasGrown = true;
      }
      this.#isTroubled = false;
    } catch (err) {
      if (!this.#isTroubled)
        log.warn({ err }, 'the history of alerts cannot be written; the alerts themselves are sent');
      this.#isTroubled = true;
      if (!this.#isClosed)
        this.#retry = setTimeout(() => {
          this.#retry = null;
          this.#writing ??= this.#write();
        }, retryMs).unref();
    } finally {
      this.#writing = null;
    }
  }
}

/**
 * Of two servers that send one alert, the one that has delivered it counts.
 * @param seen the acknowledgement of its cause, for an alert that is new
 */
function changed(
  { kind, level, subject, text }: Alert,
  before: RaisedAlert | null,
  news: Note['news'],
  seen: Acknowledgement | null,
): RaisedAlert {
  const deliveries = new Map(before?.deliveries.map((one) => [one.channel, one]));
  for (const { channel, state, reason, tried, changedMs } of news) {
    const known = deliveries.get(channel);
    const attempts = (known?.attempts ?? 0) + (tried ? 1 : 0);
    const isOver = known?.state === 'delivered' && state !== 'delivered';
    deliveries.set(
      channel,
      isOver ? { ...known, attempts } : { channel, state, attempts, reason, changedMs },
    );
  }
  const acknowledged = before === null ? seen : (before.acknowledged ?? null);
  return { kind, level, subject, text, deliveries: [...deliveries.values()], acknowledged };
}
