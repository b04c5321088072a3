// The sandboxes of this server: starts, pauses, resumes and removes them. starting.ts follows a start to its end, watch.ts what they do by
// themselves. Each change of state is stored before the response; after a restart, sandboxes that still run are taken over and the
// others become MISSING.
import type { SandboxSettings, SandboxSpec } from '../../config/snapshot.ts';
import type { Secret } from '../../config/secret.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import type { Log } from '../../proxy/server/mount.ts';
import { refuse } from '../api/refusal.ts';
import { base62, newKey } from '../ids.ts';
import type { Replicas } from '../../proxy/server/mount.ts';
import type { ChangeListener, PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import { KeyedQueue } from '../../proxy/base/keyed-queue.ts';
import { SandboxFailure, type SandboxDriver } from './driver.ts';
import { environmentOf } from './environment.ts';
import { KnownSandboxes } from './known-sandboxes.ts';
import type { SandboxParts } from './parts.ts';
import { Places } from './places.ts';
import { SandboxRows } from './rows.ts';
import { chosenSpec } from './spec-choice.ts';
import { isAwake, sandboxOf, type Sandbox } from './sandbox.ts';
import { StartingSandboxes } from './starting.ts';
import { Usage } from './usage.ts';
import { SandboxWatch } from './watch.ts';

interface SandboxesOptions {
  readonly settings: SandboxSettings;
  readonly specs: readonly SandboxSpec[];
  readonly driver: SandboxDriver;
  readonly store: PlatformStore;
  readonly vault: Vault;
  readonly replicas: Replicas;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a runtime has for its health check, and to say how long it has been idle. Default 5 s. */
  readonly checkTimeoutMs?: number;
  /** Where agent servers reach this interface, with `/api/v1`; null = nowhere. */
  readonly apiUrl: () => string | null;
  /** Epoch milliseconds of the last LLM call of its conversations that came to this server; 0 = none. */
  readonly lastCallMs: (sandboxId: string) => number;
  /** Epoch milliseconds of the last call of its conversations through any server; null = none since then. */
  readonly lastCallElsewhereMs: (sandboxId: string, sinceMs: number) => Promise<number | null>;
}

/** A runtime that shares two cores with fifteen others answers in seconds. */
const CHECK_TIMEOUT_MS = 5_000;

export class Sandboxes {
  readonly #options: SandboxesOptions;
  #settings: SandboxSettings;
  #specs: readonly SandboxSpec[];
  readonly known: KnownSandboxes;
  readonly usage: Usage;
  readonly #queue = new KeyedQueue();
  readonly #rows: SandboxRows;
  readonly #starting: StartingSandboxes;
  readonly #watch: SandboxWatch;
  readonly #places: Places;

  constructor(options: SandboxesOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#specs = options.specs;
    this.known = new KnownSandboxes(options.replicas);
    this.usage = new Usage(options.clock);
    this.#places = new Places({
      known: this.known,
      maxRunning: () => this.#settings.maxRunning,
      activeMs: (sandbox) => this.#activeMs(sandbox),
      pause: (id) => this.#makeRoom(id),
    });
    const { driver, clock, log, store, vault, lastCallElsewhereMs } = options;
    this.#rows = new SandboxRows({ known: this.known, store, vault, clock });
    const parts: SandboxParts = {
      known: this.known,
      rows: this.#rows,
      queue: this.#queue,
      driver,
      clock,
      log,
      healthPath: (sandbox) => this.#healthPath(sandbox),
      checkTimeoutMs: options.checkTimeoutMs ?? CHECK_TIMEOUT_MS,
    };
    this.#starting = new StartingSandboxes({
      ...parts,
      startTimeoutMs: () => this.#settings.startTimeoutMs,
    });
    this.#watch = new SandboxWatch({
      ...parts,
      settings: () => this.#settings,
      activeMs: (sandbox) => this.#activeMs(sandbox),
      lastCallElsewhereMs,
      follow: (sandbox) => this.#starting.follow(sandbox),
      pause: (sandbox) => this.#pause(sandbox),
    });
  }

  /** Takes over sandboxes of an earlier process, removes those without a row, and starts monitoring. */
  async open(): Promise<void> {
    const { driver, log } = this.#options;
    await this.#rows.load();
    for (const { id } of this.known.ofThisServer)
      await this.#queue.run(id, () => this.#starting.failUnfinished(id));
    await this.#watch.checkStates();
    for (const sandbox of this.known.ofThisServer)
      if (sandbox.status === 'STARTING') this.#starting.follow(sandbox);
    // Without specs and without sandboxes, a broken driver does not matter.
    const known = new Set(this.known.ofThisServer.map(({ id }) => id));
    if (this.#specs.length > 0 || known.size > 0) {
      const strays = await driver.removeOrphans(known).catch((err: unknown) => {
        log.warn({ err }, 'stray sandboxes could not be looked for');
        return [];
      });
      if (strays.length > 0) log.warn({ sandboxes: strays }, 'sandboxes that no record knew were removed');
    }
    this.#watch.start();
  }

  /** Limits and specs of a new configuration; the driver stays until a restart. */
  reconfigure(settings: SandboxSettings, specs: readonly SandboxSpec[]): void {
    this.#settings = settings;
    this.#specs = specs;
  }

  get specs(): readonly SandboxSpec[] {
    return this.#specs;
  }

  /** Follows changes that other servers make to sandboxes. */
  get changeListener(): ChangeListener {
    return {
      stored: (item) => this.known.updateFromPeer(sandboxOf(item, this.#options.vault)),
      removed: ({ id }) => void this.#queue.run(id, () => this.#removeUnlisted(id)),
    };
  }

  /** @throws as `chosenSpec` */
  spec(id: string | null): SandboxSpec {
    return chosenSpec(this.#specs, id);
  }

  /** Starts one; RUNNING comes later, see `settled`. @throws Refusal 409 at the limit, 500 when it cannot be started, 503 */
  async start(
    userId: string,
    spec: SandboxSpec,
    env: readonly (readonly [string, Secret])[],
  ): Promise<Sandbox> {
    const { clock, driver, log } = this.#options;
    const id = base62(16);
    if (this.#starting.isStopped) throw refuse(503, 'The server is stopping; start it on the next one');
    return this.#queue.run(id, async () => {
      const nowMs = clock.now();
      const sandbox = await this.#places.hold(userId, id, () =>
        this.#rows.write({
          id,
          userId,
          owner: this.#options.replicas.own,
          specId: spec.id,
          status: 'STARTING',
          unhealthy: null,
          detail: null,
          place: null,
          key: newKey(''),
          createdMs: nowMs,
          activeMs: nowMs,
          revision: 0,
        }),
      );
      try {
        const all = environmentOf({ spec, given: env, key: sandbox.key, apiUrl: this.#options.apiUrl() });
        const place = await driver.start({ id, spec, env: all });
        const placed = await this.#rows.write({ ...sandbox, place });
        this.#starting.follow(placed);
        return placed;
      } catch (err) {
        const why = err instanceof SandboxFailure ? err.message : 'the sandbox could not be started';
        log.error({ sandbox: sandbox.id, spec: spec.id, err }, 'sandbox could not be started');
        await driver.remove(sandbox.id, null).catch(() => undefined);
        const failed = { ...sandbox, status: 'ERROR', unhealthy: null, detail: why } as const;
        // What cannot be written now must not hold a place for ever; the next start sees that it has none.
        await this.#rows.write(failed).catch(() => this.known.put(failed));
        throw refuse(500, why);
      }
    });
  }

  /** The sandbox once it is no longer STARTING; null when it was removed meanwhile. */
  async settled(id: string): Promise<Sandbox | null> {
    await this.#starting.settled(id);
    return this.known.own(id) ?? null;
  }

  /** Pauses what lives, healthy or not; nothing to do for one that is paused. @throws Refusal 404, 409 */
  async pause(userId: string, id: string): Promise<void> {
    this.known.require(userId, id);
    await this.#queue.run(id, async () => {
      const sandbox = this.known.require(userId, id);
      if (sandbox.status === 'PAUSED') return;
      if (!isAwake(sandbox))
        throw refuse(409, `Sandbox is ${sandbox.status}; only a running one can be paused`);
      await this.#pause(sandbox);
    });
  }

  /**
   * PAUSED -> RUNNING; nothing to do for one that runs. In ERROR or MISSING: it is looked at again, and taken up if its
   * process lives. @throws Refusal 404, 409, 502
   */
  async resume(userId: string, id: string): Promise<void> {
    this.known.require(userId, id);
    await this.#queue.run(id, async () => {
      const before = this.known.require(userId, id);
      if (before.status === 'ERROR' || before.status === 'MISSING') await this.#lookAgain(before);
      const sandbox = this.known.require(userId, id);
      if (sandbox.status === 'PAUSED') await this.#places.hold(userId, id, () => this.#resume(sandbox));
    });
  }

  /** Stops and deletes it; another server's sandbox stops when that server sees the change. @throws Refusal 404 */
  async remove(userId: string, id: string): Promise<void> {
    if (this.known.find(userId, id) === null) throw refuse(404, 'Sandbox not found');
    if (this.known.own(id) === undefined) await this.#removeRow(id);
    else
      await this.#queue.run(id, async () => {
        const sandbox = this.known.own(id); // undefined: another call has removed it meanwhile
        if (sandbox !== undefined) await this.#remove(sandbox);
      });
  }

  /** Stops monitoring; stops the sandboxes only with `stop_with_server`. */
  async close(): Promise<void> {
    this.#starting.stop();
    await this.#watch.stop();
    await this.#queue.drained(); // a start that had begun already leaves a sandbox
    await this.#starting.ended();
    if (this.#settings.stopWithServer) {
      const removed = this.known.ofThisServer.map((one) => this.#queue.run(one.id, () => this.#remove(one)));
      await Promise.allSettled(removed);
    }
    await this.#queue.drained();
  }

  /** One round of the watch. */
  checkAll(): Promise<void> {
    return this.#watch.checkAll();
  }

  async #makeRoom(id: string): Promise<void> {
    await this.#queue.run(id, async () => {
      const sandbox = this.known.own(id);
      if (sandbox === undefined || !isAwake(sandbox)) return; // it has ended or was paused meanwhile
      await this.#pause(sandbox);
      this.#options.log.info({ sandbox: id }, 'sandbox paused to make room');
    });
  }

  async #pause(sandbox: Sandbox): Promise<void> {
    const { id, place } = sandbox;
    if (place === null) return;
    const { driver } = this.#options;
    await this.#drive(() => driver.pause(id, place));
    const next: Sandbox = { ...sandbox, status: 'PAUSED', unhealthy: null, detail: null };
    await this.#writeOr(() => driver.resume(id, place), next);
  }

  async #resume(sandbox: Sandbox): Promise<void> {
    const { place } = sandbox;
    if (place === null) return;
    const { driver, clock } = this.#options;
    await this.#drive(() => driver.resume(sandbox.id, place));
    const activeMs = clock.now();
    const next: Sandbox = { ...sandbox, status: 'RUNNING', unhealthy: null, detail: null, activeMs };
    await this.#writeOr(() => driver.pause(sandbox.id, place), next);
  }

  /** Writes what the driver did, or undoes it: what cannot be written did not happen. */
  async #writeOr(undo: () => Promise<void>, sandbox: Sandbox): Promise<void> {
    try {
      await this.#rows.write(sandbox);
    } catch (thrown) {
      const { log } = this.#options;
      await undo().catch((err: unknown) => log.error({ sandbox: sandbox.id, err }, 'not undone'));
      throw thrown;
    }
  }

  /** @throws Refusal 409 when it has ended, 502 when it lives and does not answer */
  async #lookAgain(before: Sandbox): Promise<void> {
    let after = before;
    await this.#drive(async () => {
      after = await this.#watch.revive(before);
    });
    if (after.status === 'RUNNING' || after.status === 'PAUSED') return;
    const why = after.detail ?? 'its process is not there';
    throw isAwake(after)
      ? refuse(502, `Sandbox is ERROR: ${why}. It is RUNNING again as soon as it passes its health check`)
      : refuse(409, `Sandbox is ${after.status}: ${why}. Only one whose process lives can be resumed`);
  }

  async #remove(sandbox: Sandbox): Promise<void> {
    await this.#drive(() => this.#options.driver.remove(sandbox.id, sandbox.place));
    await this.#removeRow(sandbox.id);
  }

  async #removeRow(id: string): Promise<void> {
    await this.#rows.remove(id);
    this.usage.forget(id);
  }

  /** @throws Refusal 502 in the words of the driver */
  async #drive(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (err) {
      this.#options.log.error({ err }, 'sandbox driver failed');
      throw refuse(502, err instanceof SandboxFailure ? err.message : 'the sandbox could not be changed');
    }
  }

  /** Its row was deleted through another server. Does nothing if this server removed it. */
  async #removeUnlisted(id: string): Promise<void> {
    const sandbox = this.known.own(id);
    this.known.forget(id);
    this.usage.forget(id);
    if (sandbox === undefined) return;
    const { driver, log } = this.#options;
    await driver
      .remove(id, sandbox.place)
      .catch((err: unknown) => log.error({ sandbox: id, err }, 'not ended; the next start will'));
  }

  #activeMs({ id, activeMs }: Sandbox): number {
    return Math.max(activeMs, this.#options.lastCallMs(id), this.usage.lastMs(id));
  }

  #healthPath({ specId }: Sandbox): string {
    return this.#specs.find((spec) => spec.id === specId)?.healthPath ?? '/alive';
  }
}
