// The sandboxes of this server: starts, pauses, resumes, removes and watches them. Each change of state is written down
// before it is answered; after a restart those that still run are taken over, the rest is told to be lost.
import type { SandboxSettings, SandboxSpec } from '../../config/snapshot.ts';
import type { Secret } from '../../config/secret.ts';
import type { Clock } from '../../proxy/base/clock.ts';
import type { Log } from '../../proxy/server/mount.ts';
import { refuse } from '../api/refusal.ts';
import { base62, newKey } from '../ids.ts';
import type { Follower, Replicas } from '../replicas.ts';
import { every } from '../store/every.ts';
import type { PlatformStore } from '../store/store.ts';
import type { Vault } from '../store/vault.ts';
import { Turns } from '../turns.ts';
import { isHealthy } from './ask.ts';
import { SandboxTrouble, type SandboxDriver, type SandboxPlace } from './driver.ts';
import { firstHealth } from './first-health.ts';
import { Roster } from './roster.ts';
import { chosenSpec } from './spec-choice.ts';
import { isUp, itemOf, sandboxOf, type Sandbox, type SandboxStatus } from './sandbox.ts';
import { idleTime, seenAs } from './vital-signs.ts';

export interface SandboxesOptions {
  readonly settings: SandboxSettings;
  readonly specs: readonly SandboxSpec[];
  readonly driver: SandboxDriver;
  readonly store: PlatformStore;
  readonly vault: Vault;
  readonly replicas: Replicas;
  readonly clock: Clock;
  readonly log: Log;
  /** Epoch milliseconds of the last LLM call of its conversations that came to this server; 0 = none. */
  readonly lastCallMs: (sandboxId: string) => number;
  /** Whether its conversations have made a call since then, through any server. */
  readonly hasCalledSince: (sandboxId: string, sinceMs: number) => Promise<boolean>;
}

const WATCH_MS = 5_000;
const HEALTH_MS = 5_000;
/** Bad health checks in a row before a running sandbox is called an error: a busy runtime may miss one. */
const PATIENCE = 3;

export class Sandboxes {
  readonly #options: SandboxesOptions;
  #settings: SandboxSettings;
  #specs: readonly SandboxSpec[];
  readonly roster: Roster;
  readonly #turns = new Turns();
  readonly #starting = new Map<string, Promise<Sandbox | null>>();
  readonly #strikes = new Map<string, number>();
  readonly #closing = new AbortController();
  #watch: NodeJS.Timeout | null = null;
  #round: Promise<void> = Promise.resolve();

  constructor(options: SandboxesOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#specs = options.specs;
    this.roster = new Roster(options.replicas);
  }

  /** Takes over what a former server left, removes what no row knows, and begins to watch. */
  async open(): Promise<void> {
    const { store, vault, driver, log } = this.#options;
    for await (const item of every(store, 'sandbox')) this.roster.put(sandboxOf(item, vault));
    for (const { id } of this.roster.mine) await this.#turns.take(id, () => this.#adopt(id));
    await this.#look();
    for (const sandbox of this.roster.mine) if (sandbox.status === 'STARTING') this.#awaitHealth(sandbox);
    // Where sandboxes are off and there were none, a driver that cannot work is nobody's trouble.
    const known = new Set(this.roster.mine.map(({ id }) => id));
    if (this.#specs.length > 0 || known.size > 0) {
      const strays = await driver.reap(known).catch((err: unknown) => {
        log.warn({ err }, 'stray sandboxes could not be looked for');
        return [];
      });
      if (strays.length > 0) log.warn({ sandboxes: strays }, 'sandboxes that no record knew were removed');
    }
    this.#watch = setInterval(() => {
      this.#round = this.#round
        .then(() => this.patrol())
        .catch((err: unknown) => log.error({ err }, 'sandbox watch failed'));
    }, WATCH_MS).unref();
  }

  /** Limits and specs of a new configuration; the driver stays until a restart. */
  reconfigure(settings: SandboxSettings, specs: readonly SandboxSpec[]): void {
    this.#settings = settings;
    this.#specs = specs;
  }

  get specs(): readonly SandboxSpec[] {
    return this.#specs;
  }

  /** What other servers do with theirs, and with ours. */
  get follower(): Follower {
    return {
      stored: (item) => this.roster.hear(sandboxOf(item, this.#options.vault)),
      removed: ({ id }) => void this.#turns.take(id, () => this.#endForgotten(id)),
    };
  }

  /** @throws as `chosenSpec` */
  spec(id: string | null): SandboxSpec {
    return chosenSpec(this.#specs, id);
  }

  /** Starts one; RUNNING comes later, see `settled`. @throws Refusal 409 at the limit, 500 when it cannot be started */
  async start(
    userId: string,
    spec: SandboxSpec,
    env: readonly (readonly [string, Secret])[],
  ): Promise<Sandbox> {
    const { clock, driver, log } = this.#options;
    const sandbox = await this.#turns.take('places', async () => {
      await this.#makeRoom(userId);
      const nowMs = clock.now();
      return this.#write({
        id: base62(16),
        userId,
        owner: this.#options.replicas.own,
        specId: spec.id,
        status: 'STARTING',
        detail: null,
        place: null,
        key: newKey(''),
        createdMs: nowMs,
        activeMs: nowMs,
        revision: 0,
      });
    });
    return this.#turns.take(sandbox.id, async () => {
      try {
        const keys = ['SESSION_API_KEY', 'OH_SESSION_API_KEYS_0'].map((name) => [name, sandbox.key] as const);
        const place = await driver.start({ id: sandbox.id, spec, env: [...env, ...keys] });
        const placed = await this.#write({ ...sandbox, place });
        this.#awaitHealth(placed);
        return placed;
      } catch (err) {
        const why = err instanceof SandboxTrouble ? err.message : 'the sandbox could not be started';
        log.error({ sandbox: sandbox.id, spec: spec.id, err }, 'sandbox could not be started');
        await driver.remove(sandbox.id, null).catch(() => undefined);
        await this.#write({ ...sandbox, status: 'ERROR', detail: why });
        throw refuse(500, why);
      }
    });
  }

  /** The sandbox once it is no longer STARTING; null when it was removed meanwhile. */
  async settled(id: string): Promise<Sandbox | null> {
    await this.#starting.get(id);
    return this.roster.own(id) ?? null;
  }

  /** RUNNING -> PAUSED; nothing to do for one that is paused. @throws Refusal 404, 409 */
  async pause(userId: string, id: string): Promise<void> {
    this.roster.demand(userId, id);
    await this.#turns.take(id, async () => {
      const sandbox = this.roster.demand(userId, id);
      if (sandbox.status === 'PAUSED') return;
      if (sandbox.status !== 'RUNNING')
        throw refuse(409, `Sandbox is ${sandbox.status}; only a running one can be paused`);
      await this.#pause(sandbox);
    });
  }

  /** PAUSED -> RUNNING; nothing to do for one that runs. @throws Refusal 404, 409, 502 */
  async resume(userId: string, id: string): Promise<void> {
    this.roster.demand(userId, id);
    await this.#turns.take('places', async () => {
      const sandbox = this.roster.demand(userId, id);
      if (isUp(sandbox)) return;
      if (sandbox.status !== 'PAUSED')
        throw refuse(409, `Sandbox is ${sandbox.status}; only a paused one can be resumed`);
      await this.#makeRoom(userId);
      await this.#turns.take(id, () => this.#resume(this.roster.demand(userId, id)));
    });
  }

  /** Ends it and forgets it; one of another server ends when that one hears of it. @throws Refusal 404 */
  async remove(userId: string, id: string): Promise<void> {
    if (this.roster.find(userId, id) === null) throw refuse(404, 'Sandbox not found');
    if (this.roster.own(id) === undefined) await this.#removeRow(id);
    else await this.#turns.take(id, () => this.#remove(this.roster.demand(userId, id)));
  }

  async #look(): Promise<void> {
    for (const { id } of this.roster.mine) {
      await this.#turns
        .take(id, () => this.#lookAt(id))
        .catch((err: unknown) =>
          this.#options.log.warn({ sandbox: id, err }, 'sandbox could not be looked at'),
        );
    }
  }

  /** Stops watching; ends the sandboxes only when the operator wants that. */
  async close(): Promise<void> {
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#closing.abort();
    await this.#round;
    await Promise.all(this.#starting.values());
    if (this.#settings.stopWithServer) {
      const removed = this.roster.mine.map((one) => this.#turns.take(one.id, () => this.#remove(one)));
      await Promise.allSettled(removed);
    }
    await this.#turns.quiet();
  }

  /** One round of the watch: ends and losses, health, idleness. */
  async patrol(): Promise<void> {
    await this.#look();
    const { idlePauseMs } = this.#settings;
    for (const sandbox of this.roster.mine) {
      if (sandbox.status !== 'RUNNING' || sandbox.place === null) continue;
      await this.#turns.take(sandbox.id, () => this.#checkHealth(sandbox.id));
      if (idlePauseMs > 0) await this.#turns.take(sandbox.id, () => this.#pauseIdle(sandbox.id, idlePauseMs));
    }
  }

  /** A former server may have ended between the row and the start: what it began has no place yet. */
  async #adopt(id: string): Promise<void> {
    const sandbox = this.roster.own(id);
    if (sandbox?.status !== 'STARTING' || sandbox.place !== null) return;
    const { driver, log } = this.#options;
    await driver.remove(id, null).catch((err: unknown) => log.warn({ sandbox: id, err }, 'not removed'));
    const detail = 'the server ended while it was being started';
    await this.#write({ ...sandbox, status: 'ERROR', detail });
  }

  async #lookAt(id: string): Promise<void> {
    const sandbox = this.roster.own(id);
    if (sandbox === undefined || sandbox.status === 'ERROR' || sandbox.status === 'MISSING') return;
    if (sandbox.place === null) return; // is being started by another turn
    const { state, detail } = await this.#options.driver.look(id, sandbox.place);
    const next = seenAs(state, sandbox.status);
    if (next === sandbox.status) return;
    await this.#write({ ...sandbox, status: next, detail: detail === '' ? null : detail });
    this.#options.log.warn(
      { sandbox: id, from: sandbox.status, to: next, detail },
      'sandbox changed by itself',
    );
  }

  async #checkHealth(id: string): Promise<void> {
    const sandbox = this.roster.own(id);
    if (sandbox?.status !== 'RUNNING' || sandbox.place === null) return;
    if (await isHealthy(sandbox.place.url, this.#healthPath(sandbox), HEALTH_MS)) {
      this.#strikes.delete(id);
      return;
    }
    const strikes = (this.#strikes.get(id) ?? 0) + 1;
    this.#strikes.set(id, strikes);
    if (strikes < PATIENCE) return;
    this.#strikes.delete(id);
    await this.#write({
      ...sandbox,
      status: 'ERROR',
      detail: 'its runtime does not answer its health check',
    });
    this.#options.log.warn({ sandbox: id }, 'sandbox is not healthy');
  }

  async #pauseIdle(id: string, idlePauseMs: number): Promise<void> {
    const sandbox = this.roster.own(id);
    const { clock, log, hasCalledSince } = this.#options;
    if (sandbox?.status !== 'RUNNING' || sandbox.place === null) return;
    if (clock.now() - this.#activeMs(sandbox) < idlePauseMs) return;
    if (await hasCalledSince(id, clock.now() - idlePauseMs)) return;
    const idleMs = await idleTime(sandbox.place, sandbox.key);
    if (idleMs !== null && idleMs < idlePauseMs) {
      await this.#write({ ...sandbox, activeMs: clock.now() - idleMs });
      return;
    }
    await this.#pause(sandbox);
    log.info({ sandbox: id }, 'idle sandbox paused');
  }

  /** Room for one more: the caller's own that was idle longest is paused, never somebody else's. */
  async #makeRoom(userId: string): Promise<void> {
    const up = this.roster.mine.filter(isUp);
    if (up.length < this.#settings.maxRunning) return;
    const own = up.filter((sandbox) => sandbox.userId === userId && sandbox.status === 'RUNNING');
    const [idlest] = own.sort((a, b) => this.#activeMs(a) - this.#activeMs(b));
    if (idlest === undefined) {
      throw refuse(
        409,
        `${up.length} sandboxes run already, which is the limit; pause or delete one, or wait`,
      );
    }
    await this.#turns.take(idlest.id, () => this.#pause(this.roster.own(idlest.id) ?? idlest));
    this.#options.log.info({ sandbox: idlest.id }, 'sandbox paused to make room');
  }

  async #pause(sandbox: Sandbox): Promise<void> {
    if (sandbox.place === null) return;
    await this.#drive(() => this.#options.driver.pause(sandbox.id, sandbox.place as SandboxPlace));
    await this.#write({ ...sandbox, status: 'PAUSED', detail: null });
  }

  async #resume(sandbox: Sandbox): Promise<void> {
    const { place } = sandbox;
    if (sandbox.status !== 'PAUSED' || place === null) return;
    await this.#drive(() => this.#options.driver.resume(sandbox.id, place));
    await this.#write({ ...sandbox, status: 'RUNNING', detail: null, activeMs: this.#options.clock.now() });
  }

  async #remove(sandbox: Sandbox): Promise<void> {
    await this.#drive(() => this.#options.driver.remove(sandbox.id, sandbox.place));
    await this.#removeRow(sandbox.id);
  }

  async #removeRow(id: string): Promise<void> {
    await this.#options.store.apply([{ remove: { kind: 'sandbox', id } }]);
    this.roster.forget(id);
    this.#strikes.delete(id);
  }

  /** @throws Refusal 502 in the words of the driver */
  async #drive(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (err) {
      this.#options.log.error({ err }, 'sandbox driver failed');
      throw refuse(502, err instanceof SandboxTrouble ? err.message : 'the sandbox could not be changed');
    }
  }

  #awaitHealth(sandbox: Sandbox): void {
    const { log } = this.#options;
    const started = this.#untilHealthy(sandbox)
      .catch((err: unknown) => log.error({ sandbox: sandbox.id, err }, 'sandbox start was not followed'))
      .then(() => {
        this.#starting.delete(sandbox.id);
        return this.roster.own(sandbox.id) ?? null;
      });
    this.#starting.set(sandbox.id, started);
  }

  async #untilHealthy(sandbox: Sandbox): Promise<void> {
    const { id, place } = sandbox;
    if (place === null) return;
    const { clock, driver } = this.#options;
    const timeoutMs = this.#settings.startTimeoutMs;
    const end = await firstHealth({
      id,
      place,
      healthPath: this.#healthPath(sandbox),
      driver,
      clock,
      timeoutMs,
      signal: this.#closing.signal,
      isWanted: () => this.roster.own(id)?.status === 'STARTING',
    });
    if (end === null) return;
    await this.#turns.take(id, async () => {
      if (end === 'healthy') return this.#become(id, 'RUNNING', null);
      if (end !== 'late') return this.#become(id, 'ERROR', end.ended);
      await driver.remove(id, place);
      return this.#become(id, 'ERROR', `its runtime was not ready within ${timeoutMs / 1000} s`);
    });
  }

  async #become(id: string, status: SandboxStatus, detail: string | null): Promise<void> {
    const sandbox = this.roster.own(id);
    if (sandbox?.status === 'STARTING')
      await this.#write({ ...sandbox, status, detail, activeMs: this.#options.clock.now() });
  }

  async #write(sandbox: Sandbox): Promise<Sandbox> {
    const { store, vault, clock } = this.#options;
    const applied = await store.apply([{ put: itemOf(sandbox, clock.now(), vault) }]);
    if (applied === 'conflict')
      throw refuse(409, 'The sandbox was changed by another server at the same time');
    const written = { ...sandbox, revision: sandbox.revision + 1 };
    this.roster.put(written);
    return written;
  }

  /** Its row is gone: another server was asked to remove it. Nothing to do for what this one removed. */
  async #endForgotten(id: string): Promise<void> {
    const sandbox = this.roster.own(id);
    this.roster.forget(id);
    if (sandbox === undefined) return;
    const { driver, log } = this.#options;
    await driver
      .remove(id, sandbox.place)
      .catch((err: unknown) => log.error({ sandbox: id, err }, 'not ended; the next start will'));
  }

  #activeMs(sandbox: Sandbox): number {
    return Math.max(sandbox.activeMs, this.#options.lastCallMs(sandbox.id));
  }

  #healthPath({ specId }: Sandbox): string {
    return this.#specs.find((spec) => spec.id === specId)?.healthPath ?? '/alive';
  }
}
