// Alerts: takes events of access, and sees to it that each is told once, is on the disk before it is sent, and reaches each of
// the configured receivers. `emit` only puts an event into a list: no call waits for a disk or a receiver.
import type { AlertSettings } from '../../../config/alert-settings.ts';
import type { Clock } from '../../base/clock.ts';
import { within } from '../../base/within.ts';
import type { Log } from '../../observability/logger.ts';
import type { AccessEvent, AccessEvents } from '../events.ts';
import { alertOf, type Alert, type NameDirectory } from './alert.ts';
import { Delivery, type Post, type RetryTimes } from './delivery.ts';
import type { AlertHistory, DeliveryNews } from './alert-history.ts';
import type { Outbox, PendingAlert } from './outbox.ts';
import type { RaisedEvents } from './raised-events.ts';

interface AlertsOptions {
  readonly outbox: Outbox;
  readonly raised: RaisedEvents;
  /** null: nobody can look later. */
  readonly history: AlertHistory | null;
  /** As they are configured now. */
  readonly settings: () => AlertSettings;
  readonly directory: NameDirectory;
  readonly post: Post;
  readonly clock: Clock;
  readonly log: Log;
  /** Told in any case. */
  readonly logged: AccessEvents;
  readonly count: (kind: string, outcome: string) => void;
  readonly times?: RetryTimes;
}

/** A receiver that is slow must not delay a restart. */
const CLOSE_MS = 2_000;
/** Events that wait for the disk; more are logged and counted, but not sent. */
const MOST_EVENTS = 10_000;
const TIMES: RetryTimes = { firstMs: 1_000, mostMs: 300_000, giveUpMs: 86_400_000 };

export class Alerts implements AccessEvents {
  readonly #options: AlertsOptions;
  readonly #events: AccessEvent[] = [];
  /** What the last process has left; older than whatever comes. */
  readonly #left: PendingAlert[];
  readonly #deliveries = new Map<string, Delivery>();
  /** Work on the outbox, one after the other. */
  #work: Promise<void> = Promise.resolve();
  #isTaking = false;
  #isClosed = false;

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.#left = options.outbox.waiting;
  }

  /** Sends what the last process has left. */
  start(): void {
    for (const { alert, to } of this.#left.splice(0)) this.#deliveryTo(to).add(alert);
  }

  /** Alerts that a receiver has not taken yet. */
  get waiting(): number {
    return this.#options.outbox.size;
  }

  emit(event: AccessEvent): void {
    if (this.#events.length >= MOST_EVENTS) {
      this.#options.logged.emit(event);
      this.#options.count(event.kind, 'dropped');
      return;
    }
    this.#events.push(event);
    if (!this.#isTaking) this.#takeSoon();
  }

  /** Forgets old events. */
  sweep(): void {
    const { raised, clock, log, history } = this.#options;
    history?.prune();
    raised
      .sweep(clock.now())
      .catch((err: unknown) => log.warn({ err }, 'old events of alerts cannot be forgotten'));
  }

  /** Writes what has come; what is not delivered waits for the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#work;
    const underWay = [...this.#deliveries.values()].map((delivery) => delivery.close());
    await within(CLOSE_MS, Promise.all(underWay), () => null); // what ends later is sent again at the next start
    await this.#work;
    await this.#options.history?.close();
    await this.#options.outbox.close();
  }

  #then(task: () => Promise<void>): void {
    this.#work = this.#work.then(task).catch(this.#failed);
  }

  readonly #failed = (err: unknown): void => {
    const { log } = this.#options;
    log.error({ err }, 'the outbox of alerts cannot be written; an alert may be lost or sent twice');
  };

  #takeSoon(): void {
    this.#isTaking = true;
    this.#then(async () => {
      for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift())
        await this.#take(event).catch(this.#failed); // one that cannot be told holds up no other
      this.#isTaking = false;
    });
  }

  /** On the disk first, then claimed: a crash between the two tells it twice, with one id, rather than never. */
  async #take(event: AccessEvent): Promise<void> {
    const { directory, raised, logged, count, settings } = this.#options;
    const alert = alertOf(event, directory);
    const isOnce = event.kind !== 'brake'; // only the brake of this process has seen it
    if (isOnce && (await raised.has(alert.id))) return;
    const to = settings().channels.filter(({ kinds }) => kinds.has(alert.kind));
    const names = await this.#keep(
      alert,
      to.map(({ name }) => name),
    );
    if (isOnce && !(await this.#claim(alert.id))) {
      for (const name of names) this.#taken({ alert, to: name }); // another worker sends it
      return;
    }
    logged.emit(event);
    count(alert.kind, 'raised');
    this.#note(
      alert,
      to.map(({ name }) =>
        names.includes(name)
          ? { channel: name, state: 'pending', reason: null, tried: false }
          : {
              channel: name,
              state: 'failed',
              reason: 'too many alerts waited for their receivers',
              tried: false,
            },
      ),
    );
    if (this.#isClosed) return;
    this.start();
    for (const name of names) this.#deliveryTo(name).add(alert);
  }

  #claim(id: string): Promise<boolean> {
    const { raised, log } = this.#options;
    return raised.claim(id).catch((err: unknown) => {
      log.error({ err }, 'the data directory cannot be written; an alert may come twice');
      return true;
    });
  }

  /** @returns the channels that it is to be sent to */
  async #keep(alert: Alert, names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return names;
    const { outbox, log, count } = this.#options;
    const kept = await outbox.put(alert, names).catch((err: unknown) => {
      log.error(
        { err },
        'an alert cannot be written to the data directory; it is sent, but not again after a crash',
      );
      return names;
    });
    if (kept !== null) return kept;
    log.error({ id: alert.id, kind: alert.kind }, 'too many alerts wait for their receivers; one is dropped');
    count(alert.kind, 'dropped');
    return [];
  }

  #deliveryTo(name: string): Delivery {
    const before = this.#deliveries.get(name);
    if (before !== undefined) return before;
    const { settings, post, clock, log, count, times = TIMES } = this.#options;
    const delivery = new Delivery({
      post,
      channel: () => settings().channels.find((channel) => channel.name === name) ?? null,
      nowMs: clock.now,
      times,
      failed: (alert, why, waitMs) => {
        const { id, kind } = alert;
        log.warn(
          { channel: name, id, kind, why, retry_ms: waitMs },
          'an alert was not taken; it is sent again',
        );
        count(kind, 'failed');
        this.#note(alert, [{ channel: name, state: 'pending', reason: why, tried: true }]);
      },
      ended: (alert, end, why) => {
        const { id, kind } = alert;
        count(kind, end);
        const isDelivered = end === 'delivered';
        const [state, reason] = isDelivered ? (['delivered', null] as const) : (['failed', why] as const);
        this.#note(alert, [{ channel: name, state, reason, tried: end !== 'abandoned' }]);
        if (end !== 'delivered') log.error({ channel: name, id, kind, why, end }, 'an alert is given up');
        this.#taken({ alert, to: name });
      },
    });
    this.#deliveries.set(name, delivery);
    return delivery;
  }

  #note(alert: Alert, news: readonly DeliveryNews[]): void {
    this.#options.history?.note(alert, news);
  }

  #taken(pending: PendingAlert): void {
    this.#then(() => this.#options.outbox.taken(pending));
  }
}
