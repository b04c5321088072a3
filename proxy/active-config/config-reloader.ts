// Changes the configuration in service. Files, SIGHUP and the admin API all use the same prepare-and-swap. One change at a
// time, across all workers; a change that fails leaves everything as it was.
import { randomUUID } from 'node:crypto';
import { registryNames } from '../../config/catalogue.ts';
import { formatIssue, type Issue } from '../../config/issue.ts';
import {
  loadConfig,
  overlay,
  type ConfigSource,
  type Environment,
  type RuntimeModel,
} from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { ActiveConfig, type Services } from './active-config.ts';
import type { ReloadState, SharedConfig } from './cluster-peers.ts';

/** The result of a change to one runtime model. */
export type ModelChange =
  | { readonly ok: true; readonly id: string; readonly persisted: boolean }
  | { readonly ok: false; readonly reason: 'invalid'; readonly issues: readonly Issue[] }
  | { readonly ok: false; readonly reason: 'unknown' | 'in_config' };

type Entry = Readonly<Record<string, unknown>>;

export class ConfigReloader {
  readonly #path: string;
  readonly #env: Environment;
  readonly #services: Services;
  readonly #exposed: boolean;
  /** Names of the catalogue; they do not change while the process runs. */
  readonly #registry = registryNames();
  #source: ConfigSource;
  #runtime: readonly RuntimeModel[];
  #active: ActiveConfig;
  #state: ReloadState;
  #queue: Promise<unknown> = Promise.resolve();

  /**
   * `exposed`: other machines can reach the server, so a change must not leave it without a key.
   * `state`: the result of the last change, when another worker made it.
   */
  constructor(
    path: string,
    env: Environment,
    services: Services,
    loaded: { readonly source: ConfigSource; readonly snapshot: Snapshot },
    runtime: readonly RuntimeModel[],
    exposed = false,
    state: ReloadState | null = null,
  ) {
    this.#exposed = exposed;
    this.#path = path;
    this.#env = env;
    this.#services = services;
    this.#source = loaded.source;
    this.#runtime = runtime;
    this.#active = new ActiveConfig(loaded.snapshot, services, this.#registry);
    this.#state = state ?? { result: 'applied', atMs: services.clock.now(), issues: [] };
    services.metrics.serving(loaded.snapshot.version);
    services.metrics.lastReload(this.#state.result);
    if (state !== null) return; // another worker has read these files and logged their issues
    services.metrics.reloaded('applied');
    this.#warn(loaded.snapshot.warnings);
  }

  /** The configuration that serves now. */
  get active(): ActiveConfig {
    return this.#active;
  }

  get state(): ReloadState {
    return this.#state;
  }

  /** What another worker needs to serve the same. */
  get shared(): SharedConfig {
    const { version } = this.#active.snapshot;
    return { version, source: this.#source, runtime: this.#runtime, state: this.#state };
  }

  /** Reads the files again; applies them whole or not at all. */
  reload(): Promise<ReloadState> {
    return this.#inTurn(async () => {
      const loaded = loadConfig(this.#path, this.#env, this.#runtime);
      const { log, metrics, clock } = this.#services;
      if (!loaded.ok || this.#opensToAll(loaded.snapshot)) {
        const issues = loaded.ok ? [noKey(this.#path)] : loaded.issues;
        for (const issue of issues) log.error({ issue: formatIssue(issue) }, 'configuration refused');
        metrics.reloaded('refused');
        this.#state = { result: 'refused', atMs: clock.now(), issues };
        await this.#services.peers.spread(this.shared);
        return this.#state;
      }
      const result = loaded.snapshot.version === this.#active.snapshot.version ? 'unchanged' : 'applied';
      if (result === 'applied') {
        this.#swap(loaded.snapshot, loaded.source, this.#runtime);
        this.#warn(loaded.snapshot.warnings);
        log.info(
          { version: loaded.snapshot.version, models: loaded.snapshot.deployments.length },
          'configuration applied',
        );
      }
      metrics.reloaded(result);
      this.#state = { result, atMs: clock.now(), issues: [] };
      await this.#services.peers.spread(this.shared);
      return this.#state;
    });
  }

  /** Takes over what another worker has changed. @throws Error when it cannot be served here */
  adopt(shared: SharedConfig): void {
    if (shared.version !== this.#active.snapshot.version) {
      const loaded = overlay(shared.source, this.#env, shared.runtime);
      if (!loaded.ok) throw new Error(`it is refused here: ${loaded.issues.map(formatIssue).join('; ')}`);
      this.#swap(loaded.snapshot, loaded.source, shared.runtime);
    }
    this.#state = shared.state;
    this.#services.metrics.lastReload(shared.state.result);
  }

  /** Adds a runtime model. All workers serve it when this resolves. */
  addModel(entry: Entry): Promise<ModelChange> {
    return this.#inTurn(() => {
      const id = textOf(infoOf(entry)['id']) ?? randomUUID();
      if (this.#active.deployments.get(id)?.config.source === 'config')
        return { ok: false, reason: 'in_config' };
      const others = this.#runtime.filter((model) => model.id !== id);
      return this.#apply(id, entry, [...others, { id, entry }]);
    });
  }

  /** Changes a runtime model: members of `litellm_params` and `model_info` that are given replace the old ones. */
  updateModel(id: string, change: Entry): Promise<ModelChange> {
    return this.#inTurn(() => {
      const old = this.#runtime.find((model) => model.id === id);
      if (old === undefined)
        return { ok: false, reason: this.#active.deployments.has(id) ? 'in_config' : 'unknown' };
      const entry = merged(old.entry as Entry, change);
      const runtime = this.#runtime.map((model) => (model.id === id ? { id, entry } : model));
      return this.#apply(id, entry, runtime);
    });
  }

  /** Removes a runtime model; requests that run on it go on. */
  deleteModel(id: string): Promise<ModelChange> {
    return this.#inTurn(async () => {
      if (!this.#runtime.some((model) => model.id === id)) {
        return { ok: false, reason: this.#active.deployments.has(id) ? 'in_config' : 'unknown' };
      }
      return this.#apply(
        id,
        null,
        this.#runtime.filter((model) => model.id !== id),
      );
    });
  }

  async #apply(id: string, entry: Entry | null, runtime: readonly RuntimeModel[]): Promise<ModelChange> {
    const loaded = overlay(this.#source, this.#env, runtime);
    if (!loaded.ok) return { ok: false, reason: 'invalid', issues: loaded.issues };
    const persisted = loaded.snapshot.storeModelInDb;
    // The store first: the response says that the model is stored, so its row must be on the disk.
    if (persisted && entry !== null) await this.#services.ledger.models.putModel(id, entry);
    if (persisted && entry === null) await this.#services.ledger.models.deleteModel(id);
    this.#swap(loaded.snapshot, loaded.source, runtime);
    await this.#services.peers.spread(this.shared);
    return { ok: true, id, persisted };
  }

  #swap(snapshot: Snapshot, source: ConfigSource, runtime: readonly RuntimeModel[]): void {
    const next = new ActiveConfig(snapshot, this.#services, this.#registry);
    const old = this.#active;
    this.#active = next;
    this.#source = source;
    this.#runtime = runtime;
    this.#services.metrics.serving(snapshot.version);
    old.retire();
  }

  #opensToAll(snapshot: Snapshot): boolean {
    return this.#exposed && snapshot.masterKey === null && !snapshot.allowUnauthenticated;
  }

  #warn(warnings: readonly Issue[]): void {
    for (const issue of warnings) this.#services.log.warn({ issue: formatIssue(issue) }, 'configuration');
  }

  #inTurn<T>(change: () => Promise<T> | T): Promise<T> {
    const turn = this.#queue.then(() => this.#services.peers.inTurn(async () => change()));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }
}

function noKey(file: string): Issue {
  return {
    severity: 'error',
    file,
    line: 0,
    column: 0,
    path: 'general_settings.master_key',
    message: 'no master key is configured, and the proxy listens on an address that others can reach',
    fix: 'set one, or general_settings.allow_unauthenticated: true, or start with --host 127.0.0.1',
  };
}

function infoOf(entry: Entry): Entry {
  const info = entry['model_info'];
  return typeof info === 'object' && info !== null ? (info as Entry) : {};
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function merged(old: Entry, change: Entry): Entry {
  const next: Record<string, unknown> = { ...old };
  for (const [name, value] of Object.entries(change)) {
    const before = old[name];
    const both = [before, value].every(
      (one) => typeof one === 'object' && one !== null && !Array.isArray(one),
    );
    next[name] = both ? { ...(before as Entry), ...(value as Entry) } : value;
  }
  return next;
}
