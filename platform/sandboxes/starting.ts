// The sandboxes of this server that are STARTING. Follows each until its runtime is healthy, its process has ended or it is late, and
// writes which of the three; who started one can wait for that.
import { firstHealth } from './first-health.ts';
import type { Observed } from './observed-state.ts';
import type { SandboxParts } from './parts.ts';
import type { Sandbox } from './sandbox.ts';

interface StartingOptions extends SandboxParts {
  readonly startTimeoutMs: () => number;
}

export class StartingSandboxes {
  readonly #options: StartingOptions;
  readonly #followed = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: StartingOptions) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Its driver has started it: its start is followed to the end, once. */
  follow(sandbox: Sandbox): void {
    if (this.#followed.has(sandbox.id)) return;
    const { log } = this.#options;
    const followed = this.#untilHealthy(sandbox)
      .catch((err: unknown) => log.error({ sandbox: sandbox.id, err }, 'sandbox start was not followed'))
      .then(() => void this.#followed.delete(sandbox.id));
    this.#followed.set(sandbox.id, followed);
  }

  /** Resolves when nobody follows it any more. */
  async settled(id: string): Promise<void> {
    await this.#followed.get(id);
  }

  /** The process may have ended between storing the row and the start: such a sandbox has no place. */
  async failUnfinished(id: string): Promise<void> {
    const { known, rows, driver, log } = this.#options;
    const sandbox = known.own(id);
    if (sandbox?.status !== 'STARTING' || sandbox.place !== null) return;
    await driver.remove(id, null).catch((err: unknown) => log.warn({ sandbox: id, err }, 'not removed'));
    const detail = 'the server ended while it was being started';
    await rows.write({ ...sandbox, status: 'ERROR', unhealthy: null, detail });
  }

  /** Follows none any more: what still starts is followed by the next process. */
  stop(): void {
    this.#closing.abort();
  }

  async ended(): Promise<void> {
    await Promise.all(this.#followed.values());
  }

  async #untilHealthy(sandbox: Sandbox): Promise<void> {
    const { id, place } = sandbox;
    if (place === null) return;
    const { known, queue, clock, driver, healthPath, checkTimeoutMs } = this.#options;
    const timeoutMs = this.#options.startTimeoutMs();
    const end = await firstHealth({
      id,
      place,
      healthPath: healthPath(sandbox),
      driver,
      clock,
      timeoutMs,
      checkTimeoutMs,
      signal: this.#closing.signal,
      isWanted: () => known.own(id)?.status === 'STARTING',
    });
    if (end === null) return;
    await queue.run(id, async () => {
      if (end === 'healthy') return this.#finish(id, { status: 'RUNNING', unhealthy: null, detail: null });
      if ('ended' in end) return this.#finish(id, { status: 'ERROR', unhealthy: null, detail: end.ended });
      // It lives: on a busy machine it may only be slow, and the watch takes it up when it answers.
      const unhealthy = { sinceMs: clock.now(), failedChecks: 0 };
      const why = end.late === '' ? 'its process lives' : end.late;
      const detail = `its runtime was not ready within ${timeoutMs / 1000} s: ${why}`;
      return this.#finish(id, { status: 'ERROR', unhealthy, detail });
    });
  }

  async #finish(id: string, observed: Observed): Promise<void> {
    const { known, rows, clock } = this.#options;
    const sandbox = known.own(id);
    if (sandbox?.status === 'STARTING') await rows.write({ ...sandbox, ...observed, activeMs: clock.now() });
  }
}
