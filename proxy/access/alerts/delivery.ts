// Sends the alerts of one channel, one after the other and in order: the next one goes when this one was taken, was refused
// for good, or has become too old.
import { errorCode } from '../../../config/error-code.ts';
import type { AlertChannel } from '../../../config/alert-settings.ts';
import { asError } from '../../base/as-error.ts';
import type { Alert } from './alert.ts';
import { alertRequest } from './alert-request.ts';

/** Posts to a URL. @returns the status @throws whatever the network reports */
export type Post = (url: string, headers: readonly string[], body: Buffer) => Promise<number>;

/** How an alert ended: it was taken (2xx), refused for good, too old, or its channel is not configured any more. */
type DeliveryEnd = 'delivered' | 'refused' | 'expired' | 'abandoned';

export interface RetryTimes {
  readonly firstMs: number;
  readonly mostMs: number;
  /** Of an alert. */
  readonly giveUpMs: number;
}

interface DeliveryOptions {
  readonly post: Post;
  /** The channel as it is configured now; null = not any more. */
  readonly channel: () => AlertChannel | null;
  readonly nowMs: () => number;
  readonly times: RetryTimes;
  /** An attempt has failed and is made again. */
  readonly failed: (alert: Alert, why: string, waitMs: number) => void;
  readonly ended: (alert: Alert, end: DeliveryEnd, why: string) => void;
}

/** The receiver has understood the request and will never take it. */
const FINAL: ReadonlySet<number> = new Set([400, 410, 413, 415, 422]);
/** Waits differ by up to so much, so that several proxies do not come at once. */
const JITTER = 0.25;

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #queue: Alert[] = [];
  #isRunning = false;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;
  #attempt = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  add(alert: Alert): void {
    this.#queue.push(alert);
    if (this.#timer === null && !this.#isRunning) this.#running = this.#run();
  }

  /** Sends nothing more; resolves when what is under way has ended. */
  close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    return this.#running;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let alert = this.#queue[0]; alert !== undefined && !this.#isClosed; alert = this.#queue[0]) {
      const waitMs = await this.#try(alert);
      if (waitMs !== null) {
        if (this.#isClosed) break;
        this.#timer = setTimeout(() => this.#again(), waitMs).unref();
        break;
      }
      this.#queue.shift();
      this.#attempt = 0;
    }
    this.#isRunning = false;
  }

  #again(): void {
    this.#timer = null;
    this.#running = this.#run();
  }

  /** @returns after how long to try again; null = it has ended */
  async #try(alert: Alert): Promise<number | null> {
    const { post, channel, nowMs, times, failed, ended } = this.#options;
    const to = channel();
    const end = (how: DeliveryEnd, why: string): null => {
      ended(alert, how, why);
      return null;
    };
    if (to === null) return end('abandoned', 'its channel is not configured any more');
    let why: string;
    try {
      const { headers, body } = alertRequest(alert, to, nowMs());
      const status = await post(to.url.reveal(), headers, body);
      if (status >= 200 && status < 300) return end('delivered', '');
      why = `the receiver answers ${status}`;
      if (FINAL.has(status)) return end('refused', why);
    } catch (error) {
      why = whyOf(error);
    }
    if (nowMs() - alert.atMs >= times.giveUpMs) return end('expired', why);
    const baseMs = Math.min(times.mostMs, times.firstMs * 2 ** Math.min(this.#attempt, 30));
    const waitMs = Math.round(baseMs * (1 - JITTER * Math.random()));
    this.#attempt += 1;
    failed(alert, why, waitMs);
    return waitMs;
  }
}

/** Messages of the network may repeat an address, never a URL with its path. */
function whyOf(error: unknown): string {
  return `it cannot be reached (${errorCode(error) ?? asError(error).name})`;
}
