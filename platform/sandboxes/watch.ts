// The watch over this server's sandboxes: which have ended, which answer their health check again or no more, which are
// idle. It ends none: what lives may hold somebody's work.
import type { SandboxSettings } from '../../config/snapshot.ts';
import { healthOf, type Health } from './http-request.ts';
import { afterCondition, afterHealth, idleTime, type Observed } from './observed-state.ts';
import type { SandboxParts } from './parts.ts';
import { isAwake, type Sandbox } from './sandbox.ts';

interface WatchOptions extends SandboxParts {
  readonly settings: () => SandboxSettings;
  /** Epoch milliseconds of the last sign of work that this server has. */
  readonly activeMs: (sandbox: Sandbox) => number;
  /** Epoch milliseconds of the last call of its conversations through any server; null = none since then. Costs a query for each. */
  readonly lastCallElsewhereMs: (sandboxId: string, sinceMs: number) => Promise<number | null>;
  /** Follows a start that nobody follows any more: its end could not be written down. */
  readonly follow: (sandbox: Sandbox) => void;
  readonly pause: (sandbox: Sandbox) => Promise<void>;
}

const WATCH_MS = 5_000;
/** Each so many rounds (a minute) those are looked for too whose process was not there. */
const ROUNDS_FOR_LOST = 12;

export class SandboxWatch {
  readonly #options: WatchOptions;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> = Promise.resolve();
  #rounds = 0;
  #isUnderWay = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (this.#isUnderWay) return; // on a busy machine a round takes longer than the pause between two
      this.#isUnderWay = true;
      this.#round = this.checkAll()
        .catch((err: unknown) => this.#options.log.error({ err }, 'sandbox watch failed'))
        .finally(() => (this.#isUnderWay = false));
    }, WATCH_MS).unref();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#round;
  }

  /** One round: ends and losses, health, idleness. */
  async checkAll(): Promise<void> {
    await this.checkStates();
    const { settings, known, follow } = this.#options;
    const { idlePauseMs } = settings();
    for (const one of known.ofThisServer) if (one.status === 'STARTING' && one.place !== null) follow(one);
    const awake = known.ofThisServer.filter(isAwake);
    await this.#each(awake, async (id) => {
      await this.#checkHealth(id);
      if (idlePauseMs > 0) await this.#pauseIdle(id, idlePauseMs);
    });
    this.#rounds += 1;
  }

  /** What the driver says of each. */
  async checkStates(): Promise<void> {
    const withLost = this.#rounds % ROUNDS_FOR_LOST === 0;
    const wanted = this.#options.known.ofThisServer.filter((one) => withLost || !isOver(one));
    await this.#each(wanted, (id) => this.#checkState(id));
  }

  /** Takes up one whose process was given up as ended or lost, if it lives. @returns what the driver says of it */
  async revive(sandbox: Sandbox): Promise<Sandbox> {
    const { driver, clock, healthPath, checkTimeoutMs } = this.#options;
    const { place } = sandbox;
    if (place === null) return sandbox;
    const condition = await driver.inspect(sandbox.id, place);
    if (condition.state === 'paused')
      return this.#take(sandbox, { status: 'PAUSED', unhealthy: null, detail: null });
    if (condition.state !== 'running') return sandbox;
    const health = await healthOf(place.url, healthPath(sandbox), checkTimeoutMs);
    return this.#take(sandbox, afterHealth(sandbox, health, clock.now()));
  }

  async #each(sandboxes: readonly Sandbox[], act: (id: string) => Promise<void>): Promise<void> {
    const { queue, log } = this.#options;
    await Promise.all(
      sandboxes.map(({ id }) =>
        queue
          .run(id, () => act(id))
          .catch((err: unknown) => log.warn({ sandbox: id, err }, 'sandbox could not be looked at')),
      ),
    );
  }

  async #checkState(id: string): Promise<void> {
    const { known, driver, log } = this.#options;
    const sandbox = known.own(id);
    if (sandbox === undefined || sandbox.place === null) return; // another task is starting it
    if (isOver(sandbox)) {
      await this.revive(sandbox);
      return;
    }
    const next = afterCondition(sandbox, await driver.inspect(id, sandbox.place));
    if (next === null) return;
    await this.#take(sandbox, next);
    const { status, detail } = next;
    log.warn({ sandbox: id, from: sandbox.status, to: status, detail }, 'sandbox changed by itself');
  }

  async #checkHealth(id: string): Promise<void> {
    const { known, clock, log, healthPath, checkTimeoutMs } = this.#options;
    const sandbox = known.own(id);
    if (sandbox === undefined || !isAwake(sandbox) || sandbox.place === null) return;
    const health: Health = await healthOf(sandbox.place.url, healthPath(sandbox), checkTimeoutMs);
    const next = afterHealth(sandbox, health, clock.now());
    if (sandbox.unhealthy === null && next.unhealthy === null) return;
    await this.#take(sandbox, next);
    if (next.status !== sandbox.status)
      log.warn(
        { sandbox: id, from: sandbox.status, to: next.status, detail: next.detail },
        next.status === 'RUNNING' ? 'sandbox is healthy again' : 'sandbox is not healthy',
      );
  }

  async #pauseIdle(id: string, idlePauseMs: number): Promise<void> {
    const { known, clock, log, rows, lastCallElsewhereMs, activeMs, pause, checkTimeoutMs } = this.#options;
    const sandbox = known.own(id);
    if (sandbox === undefined || !isAwake(sandbox) || sandbox.place === null) return;
    if (clock.now() - activeMs(sandbox) < idlePauseMs) return;
    const elsewhereMs = await lastCallElsewhereMs(id, clock.now() - idlePauseMs);
    if (elsewhereMs !== null) {
      await rows.write({ ...sandbox, activeMs: elsewhereMs }); // so that each round need not ask again
      return;
    }
    const idleMs = await idleTime(sandbox.place, sandbox.key, checkTimeoutMs);
    if (idleMs === 'silent') return; // it may be too busy to answer: that is no idleness
    if (idleMs !== 'unreported' && idleMs < idlePauseMs) {
      await rows.write({ ...sandbox, activeMs: clock.now() - idleMs });
      return;
    }
    await pause(sandbox);
    log.info({ sandbox: id }, 'idle sandbox paused');
  }

  /** Writes what was seen, unless that is what stands there. */
  async #take(sandbox: Sandbox, { detail, ...state }: Observed): Promise<Sandbox> {
    const isSame =
      sandbox.status === state.status &&
      sandbox.detail === detail &&
      sandbox.unhealthy?.failedChecks === state.unhealthy?.failedChecks;
    return isSame ? sandbox : this.#options.rows.write({ ...sandbox, ...state, detail });
  }
}

/** Whether its process was gone when it was last looked for. */
const isOver = ({ status, unhealthy }: Sandbox): boolean =>
  status === 'MISSING' || (status === 'ERROR' && unhealthy === null);
