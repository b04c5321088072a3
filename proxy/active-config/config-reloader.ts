// Changes the configuration in service. Files, SIGHUP and the admin API all use the same prepare-and-swap. One change at a
// time, across all workers; a change that fails leaves everything as it was.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { changesBetween, type Change } from '../../config/diff.ts';
import { formatIssue, type Issue } from '../../config/issue.ts';
import {
  loadConfigAgain,
  overlay,
  type ConfigSource,
  type Environment,
  type RuntimeModel,
} from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { unauthenticated } from '../../config/unauthenticated.ts';
import { asObject } from '../bodies/json.ts';
import { ActiveConfig } from './active-config.ts';
import type { Services } from './services.ts';
import type { ReloadState, SharedConfig } from './cluster-peers.ts';
import { InService, type Changed } from './in-service.ts';
import type { ModelChange, ModelStates, Preview } from './model-change.ts';
import { reachable } from './reachable.ts';
import { idOf, isSameModels, merged, whyNotServed, type Entry } from './runtime-entries.ts';

/** What a reload would do. */
interface DryRun {
  readonly result: 'would_apply' | 'unchanged' | 'refused';
  readonly issues: readonly Issue[];
  readonly changes: readonly Change[];
}

/** A change that nothing can refuse any more. */
interface Prepared {
  readonly next: ActiveConfig;
  readonly source: ConfigSource;
  readonly runtime: readonly RuntimeModel[];
}

/** What a reload has done. */
interface Reloaded {
  readonly state: ReloadState;
  /** None unless it was applied. */
  readonly changes: readonly Change[];
  /** Of the configuration that serves then. */
  readonly version: string;
}

/** What the process starts with. */
interface ReloaderOptions {
  readonly path: string;
  readonly env: Environment;
  readonly services: Services;
  readonly loaded: { readonly source: ConfigSource; readonly snapshot: Snapshot };
  readonly runtime: readonly RuntimeModel[];
  /** Other machines can reach the server, so a change must not leave it without a key. */
  readonly isExposed: boolean;
  /** The result of the last change, when another worker made it; null = this process reads its files first. */
  readonly state: ReloadState | null;
}

/** The one owner of the configuration that serves: whoever wants a change asks here. */
export class ConfigReloader {
  readonly #path: string;
  readonly #env: Environment;
  readonly #services: Services;
  readonly #isExposed: boolean;
  /** Names of the catalogue; they do not change while the process runs. */
  #source: ConfigSource;
  #runtime: readonly RuntimeModel[];
  readonly #inService: InService;
  #state: ReloadState;
  #queue: Promise<unknown> = Promise.resolve();
  /** Runtime models that are in the store, or were: one that is there no more has been deleted. */
  #stored: ReadonlySet<string>;
  #onApplied: () => void = () => undefined;
  #onRead: () => void = () => undefined;

  constructor({ path, env, services, loaded, runtime, isExposed, state }: ReloaderOptions) {
    this.#isExposed = isExposed;
    this.#path = path;
    this.#env = env;
    this.#services = services;
    this.#source = loaded.source;
    this.#runtime = runtime;
    this.#stored = new Set(loaded.snapshot.storeModelInDb ? runtime.map(({ id }) => id) : []);
    this.#inService = new InService(new ActiveConfig(loaded.snapshot, services));
    const atMs = services.clock.now();
    this.#state = state ?? {
      result: 'applied',
      atMs,
      inForceMs: atMs,
      issues: [],
      read: loaded.source.read,
    };
    services.metrics.lastReload(this.#state.result);
    if (state !== null) return; // another worker has read these files and logged their issues
    services.metrics.reloaded('applied');
    this.#warn(loaded.snapshot.warnings);
    this.#warnUnauthenticated(loaded.snapshot);
  }

  /** The configuration that serves now. */
  get active(): ActiveConfig {
    return this.#inService.active;
  }

  get state(): ReloadState {
    return this.#state;
  }

  /** What another worker needs to serve the same. */
  get shared(): SharedConfig {
    const { version, drainMs } = this.active.snapshot;
    return { version, drainMs, source: this.#source, runtime: this.#runtime, state: this.#state };
  }

  /** Reads the files again; applies them whole or not at all. */
  reload(): Promise<Reloaded> {
    return this.#inTurn(async () => {
      const loaded = reachable(loadConfigAgain(this.#path, this.#env, this.#runtime), this.#services.pools);
      const { log } = this.#services;
      if (!loaded.ok || this.#opensToAll(loaded.snapshot)) {
        const issues = loaded.ok ? [noKey(this.#path)] : causesFirst(loaded.issues);
        for (const issue of issues) {
          if (issue.severity === 'error') log.error({ issue: formatIssue(issue) }, 'configuration refused');
          else this.#warn([issue]);
        }
        return await this.#ended('refused', issues, loaded.ok ? loaded.source.read : loaded.read, []);
      }
      const { snapshot, source } = loaded;
      const { version } = snapshot;
      const before = this.active.snapshot;
      if (version === before.version) return await this.#ended('unchanged', [], source.read, []);
      this.#commit(this.#prepare(loaded, this.#runtime), 'files');
      this.#warn(snapshot.warnings);
      this.#warnUnauthenticated(snapshot);
      log.info({ version, models: snapshot.deployments.length }, 'configuration applied');
      this.#onApplied();
      return await this.#ended('applied', [], source.read, changesBetween(before, snapshot));
    });
  }

  /** A reload has ended: it is counted, and told to the other workers. */
  async #ended(
    result: ReloadState['result'],
    issues: readonly Issue[],
    read: ReloadState['read'],
    changes: readonly Change[],
  ): Promise<Reloaded> {
    const { metrics, clock, peers, log } = this.#services;
    metrics.reloaded(result);
    const { inForceMs, result: last } = this.#state;
    const state = { result, atMs: clock.now(), inForceMs, issues, read };
    const { version } = this.active.snapshot;
    if (last === 'refused' && result === 'unchanged')
      log.info({ version }, 'configuration accepted again: it is the one that serves');
    this.#state = state;
    this.#onRead();
    await peers.spread(this.shared);
    return { state, changes, version };
  }

  /** Calls back now and whenever another configuration serves here, whoever has changed it. */
  follow(act: (changed: Changed) => void): void {
    this.#inService.follow(act);
  }

  /** Calls back after each reload of this process that was applied: what only the one that reads the files says. */
  whenApplied(act: () => void): void {
    this.#onApplied = act;
  }

  /** Calls back after each reload here, refused ones included: `state.read` says which files decide now. */
  whenRead(act: () => void): void {
    this.#onRead = act;
  }

  /** What a reload would do now; nothing is changed. */
  dryRun(): DryRun {
    const loaded = reachable(loadConfigAgain(this.#path, this.#env, this.#runtime), this.#services.pools);
    if (!loaded.ok) return { result: 'refused', issues: causesFirst(loaded.issues), changes: [] };
    const { snapshot } = loaded;
    if (this.#opensToAll(snapshot)) return { result: 'refused', issues: [noKey(this.#path)], changes: [] };
    const isSame = snapshot.version === this.active.snapshot.version;
    const changes = changesBetween(this.active.snapshot, snapshot);
    return { result: isSame ? 'unchanged' : 'would_apply', issues: snapshot.warnings, changes };
  }

  /** Takes over what another worker has changed. @throws Error when it cannot be served here */
  adopt(shared: SharedConfig): void {
    if (shared.version !== this.active.snapshot.version) {
      const loaded = overlay(shared.source, this.#env, shared.runtime);
      if (!loaded.ok)
        throw new Error(`it is refused here: ${causesFirst(loaded.issues).map(formatIssue).join('; ')}`);
      const known = new Set(this.#runtime.map(({ id }) => id));
      const added = shared.runtime.filter(({ id }) => !known.has(id));
      const changed = isSameText(shared.source, this.#source) ? 'models' : 'files';
      this.#commit(this.#prepare(loaded, shared.runtime), changed);
      if (loaded.snapshot.storeModelInDb)
        this.#stored = new Set([...this.#stored, ...added.map(({ id }) => id)]);
    }
    this.#state = shared.state;
    this.#services.metrics.lastReload(shared.state.result);
  }

  /**
   * Serves the models that are in the store now, whichever server has put them there; those that were never stored stay.
   * @param list reads them; called while nothing else changes
   * @returns `refused` when they cannot be served here: what served goes on
   */
  takeStored(list: () => Promise<readonly RuntimeModel[]>): Promise<'served' | 'refused'> {
    return this.#inTurn(async () => {
      const listed = await list();
      const ids = new Set(listed.map(({ id }) => id));
      const own = this.#runtime.filter(({ id }) => !ids.has(id) && !this.#stored.has(id));
      const runtime = [...listed, ...own];
      if (isSameModels(runtime, this.#runtime)) {
        this.#stored = ids;
        return 'served';
      }
      const { log, peers } = this.#services;
      const loaded = reachable(overlay(this.#source, this.#env, runtime), this.#services.pools);
      if (!loaded.ok) {
        const why = causesFirst(loaded.issues).map(formatIssue).join('; ');
        log.error({ why }, 'models that another server has stored cannot be served here');
        return 'refused'; // what is served of those that were stored stays known as such, so that it can go with the next change
      }
      this.#commitModels(this.#prepare(loaded, runtime));
      this.#stored = ids;
      const { version, deployments } = loaded.snapshot;
      log.info({ version, models: deployments.length }, 'models that another server has stored are served');
      await peers.spread(this.shared);
      return 'served';
    });
  }

  /** What would be served with one more runtime model, or with another form of one; nothing is changed. */
  preview(entry: Entry): Preview {
    const id = idOf(entry) ?? randomUUID();
    const before = this.#entryOf(id);
    if (before === null && this.active.deployments.has(id)) return { ok: false, reason: 'in_config' };
    const others = this.#runtime.filter((model) => model.id !== id);
    const after = before === null ? entry : merged(before, entry);
    const runtime = [...others, { id, entry: after }];
    const loaded = reachable(overlay(this.#source, this.#env, runtime), this.#services.pools);
    if (!loaded.ok) return { ok: false, reason: 'invalid', issues: loaded.issues };
    const issues = whyNotServed(id, loaded.snapshot);
    if (issues !== null) return { ok: false, reason: 'invalid', issues };
    return { ok: true, id, snapshot: loaded.snapshot };
  }

  /** Adds a runtime model. All workers serve it when this resolves. */
  addModel(after: Entry): Promise<ModelChange> {
    return this.#inTurn(() => {
      const id = idOf(after) ?? randomUUID();
      const states = { id, before: this.#entryOf(id), after };
      if (this.active.deployments.get(id)?.config.source === 'config')
        return { ...states, ok: false, reason: 'in_config' };
      const others = this.#runtime.filter((model) => model.id !== id);
      return this.#apply(states, [...others, { id, entry: after }]);
    });
  }

  /** Changes a runtime model: what is given of `litellm_params` and `model_info` replaces the old, and null takes it away. */
  updateModel(id: string, change: Entry): Promise<ModelChange> {
    return this.#inTurn(() => {
      const before = this.#entryOf(id);
      if (before === null) return { ok: false, id, before, after: change, reason: this.#whyNone(id) };
      const after = merged(before, change);
      const runtime = this.#runtime.map((model) => (model.id === id ? { id, entry: after } : model));
      return this.#apply({ id, before, after }, runtime);
    });
  }

  /** Removes a runtime model; requests that run on it go on. */
  deleteModel(id: string): Promise<ModelChange> {
    return this.#inTurn(async () => {
      const states = { id, before: this.#entryOf(id), after: null };
      if (states.before === null) return { ...states, ok: false, reason: this.#whyNone(id) };
      return this.#apply(
        states,
        this.#runtime.filter((model) => model.id !== id),
      );
    });
  }

  #entryOf(id: string): Entry | null {
    return asObject(this.#runtime.find((model) => model.id === id)?.entry);
  }

  #whyNone(id: string): 'in_config' | 'unknown' {
    return this.active.deployments.has(id) ? 'in_config' : 'unknown';
  }

  async #apply(states: ModelStates, runtime: readonly RuntimeModel[]): Promise<ModelChange> {
    const { id, after } = states;
    const loaded = reachable(overlay(this.#source, this.#env, runtime), this.#services.pools);
    if (!loaded.ok) return { ...states, ok: false, reason: 'invalid', issues: loaded.issues };
    const { snapshot } = loaded;
    const issues = after === null ? null : whyNotServed(id, snapshot);
    if (issues !== null) return { ...states, ok: false, reason: 'invalid', issues };
    const persisted = snapshot.storeModelInDb;
    const prepared = this.#prepare(loaded, runtime);
    try {
      // The store first: the response says that the model is stored, so its row must be on the disk.
      if (persisted) await this.#store(id, after);
    } catch (error) {
      prepared.next.retire();
      throw error;
    }
    this.#commitModels(prepared);
    if (persisted) this.#stored = new Set([...this.#stored, id]);
    await this.#services.peers.spread(this.shared);
    return { ...states, ok: true, persisted };
  }

  /** @throws StoreUnavailable */
  async #store(id: string, entry: Entry | null): Promise<void> {
    const { models } = this.#services.ledger;
    if (entry === null) await models.deleteModel(id);
    else await models.putModel(id, entry);
  }

  /** Everything that can fail of a change; nothing is changed yet. @throws CannotStart */
  #prepare({ snapshot, source }: ReloaderOptions['loaded'], runtime: readonly RuntimeModel[]): Prepared {
    return { next: new ActiveConfig(snapshot, this.#services), source, runtime };
  }

  #commit({ next, source, runtime }: Prepared, changed: Changed): void {
    this.#source = source;
    this.#runtime = runtime;
    this.#state = { ...this.#state, inForceMs: this.#services.clock.now() };
    this.#inService.put(next, changed);
  }

  /** The same with other runtime models: what was warned of before is not repeated. */
  #commitModels(prepared: Prepared): void {
    const known = new Set(this.active.snapshot.warnings.map(formatIssue));
    const { warnings } = prepared.next.snapshot;
    this.#commit(prepared, 'models');
    this.#warn(warnings.filter((issue) => !known.has(formatIssue(issue))));
  }

  #opensToAll(snapshot: Snapshot): boolean {
    return this.#isExposed && snapshot.masterKey === null && !snapshot.allowUnauthenticated;
  }

  #warn(warnings: readonly Issue[]): void {
    for (const issue of warnings) this.#services.log.warn({ issue: formatIssue(issue) }, 'configuration');
  }

  #warnUnauthenticated(snapshot: Snapshot): void {
    const says = unauthenticated(snapshot);
    if (says !== null) this.#services.log.warn(says);
  }

  #inTurn<T>(change: () => Promise<T> | T): Promise<T> {
    const turn = this.#queue.then(() => this.#services.peers.inTurn(async () => change()));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }
}

/** That of the files, those of secrets included. */
const isSameText = (one: ConfigSource, other: ConfigSource): boolean =>
  one.digest === other.digest && isDeepStrictEqual(one.secrets, other.secrets);

/** What kept a configuration from being served, then what is merely doubtful. */
function causesFirst(issues: readonly Issue[]): readonly Issue[] {
  const isError = ({ severity }: Issue): boolean => severity === 'error';
  return [...issues.filter(isError), ...issues.filter((issue) => !isError(issue))];
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
