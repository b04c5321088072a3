// The platform interface: creates its parts and is the only thing that the composition root knows about them. It uses two
// interfaces of the proxy: the caller directory (keys of conversations) and the reader of spend rows.
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PlatformSettings } from '../config/snapshot.ts';
import type { Clock } from '../proxy/base/clock.ts';
import { CallerDirectory } from '../proxy/server/mount.ts';
import type { ExtensionTables, Log, PlatformFigures } from '../proxy/server/mount.ts';
import type { ServedModels, SpendReader } from '../proxy/server/mount.ts';
import type { Mount, MountResponse, MountRequest } from '../proxy/server/mount.ts';
import { description, published, type Description, type Schema } from './api/description.ts';
import { OUTSIDE_PATHS } from './api/outside.ts';
import { storeDownResponse, Router, type SandboxByKey } from './api/router.ts';
import { Validation } from './api/validation.ts';
import { KEY_PREFIX } from './conversations/conversation.ts';
import { conversationApi } from './conversations/conversation-api.ts';
import { Conversations } from './conversations/conversations.ts';
import { LlmChoices } from './conversations/llm-choice.ts';
import { Registry } from './conversations/registry.ts';
import { dashed } from './ids.ts';
import { RuntimeViews } from './runtime/runtime-views.ts';
import { Starter } from './conversations/start.ts';
import type { AgentProfileSet } from './page/agent-profiles.ts';
import { pageApi } from './page/page.ts';
import { Replicas } from '../proxy/server/mount.ts';
import { eventApi } from './events/event-api.ts';
import { KeptEvents } from './events/kept-events.ts';
import { runtimeApi } from './runtime/runtime-api.ts';
import { Runtimes } from './runtime/runtimes.ts';
import { chosenDriver } from './sandboxes/driver-choice.ts';
import type { ClusterService } from './sandboxes/kubernetes/cluster.ts';
import { sandboxApi } from './sandboxes/sandbox-api.ts';
import { Sandboxes } from './sandboxes/sandboxes.ts';
import { profiles } from './settings/profiles.ts';
import { secretSources } from './secrets/secret-sources.ts';
import { secretApi } from './secrets/secret-api.ts';
import { UserSecrets, type SecretsDocument } from './secrets/user-secrets.ts';
import { settingsV0, type SettingsV0 } from './settings/v0.ts';
import { settingsV1 } from './settings/v1.ts';
import { UserSettings } from './settings/user-settings.ts';
import type { SettingsV1 } from './settings/v1-document.ts';
import { Documents } from './store/documents.ts';
import { StoreUnavailable } from '../proxy/server/mount.ts';
import { openPlatformFile, platformFile, platformTables, type PlatformStore } from './store/store.ts';
import { Vault } from './store/vault.ts';
import { sandboxApiUrl } from './sandbox-api-url.ts';

/** One for all: its checks take 0.1 s of CPU to compile. */
const VALIDATION = new Validation(description());

export interface PlatformOptions {
  readonly settings: PlatformSettings;
  /** Must exist. */
  readonly dataDir: string;
  /** The configuration file, which no sandbox may see. */
  readonly configPath: string;
  /** PATH for the commands of sandboxes. */
  readonly path: string;
  /** The API server of the cluster that this server runs in. */
  readonly cluster: ClusterService;
  readonly spend: SpendReader;
  readonly models: ServedModels;
  /** Where its tables are, when the spend records are in PostgreSQL; null = in a file of their own. */
  readonly shared: { readonly extensionTables: ExtensionTables; readonly schema: string } | null;
  readonly clock: Clock;
  readonly log: Log;
}

interface Parts {
  readonly router: Router;
  readonly replicas: Replicas;
  readonly sandboxes: Sandboxes;
  readonly starter: Starter;
  readonly kept: KeptEvents;
  readonly address: { base: string };
}

/** Conversations of one sandbox to check before it counts as idle. */
const CONVERSATIONS = 100;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 10_000;

/** A running platform. With the embedded store its parts exist from the start; a shared database may be down at first. */
export class Platform implements Mount {
  readonly paths = ['/api/', ...OUTSIDE_PATHS];
  readonly callers = new CallerDirectory((credential) => this.#catchUp(credential));
  readonly #store: PlatformStore;
  #options: PlatformOptions;
  #url = '';
  /** Of the last reload; the settings of the options are those of the start. */
  #applied: PlatformSettings;
  /** Where the interface itself listens. */
  #ownUrl = '';
  /** null = the database is not available yet. */
  #parts: Parts | null = null;
  #opening: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: PlatformOptions, store: PlatformStore) {
    this.#options = options;
    this.#applied = options.settings;
    this.#store = store;
  }

  /** @throws WrongSecretKey, PlatformStoreUnavailable, SandboxTrouble */
  async open(): Promise<void> {
    const { settings } = this.#options;
    const parts = await assemble(this.#options, this.#store, this.callers, () => this.#sandboxApiUrl());
    parts.address.base = settings.publicBaseUrl ?? this.#url;
    this.#parts = parts;
  }

  /** Opens as soon as the database is available: LLM calls with the master key must not wait for it. */
  openLater(cause: Error, pauseMs = FIRST_RETRY_MS): void {
    const { log } = this.#options;
    if (pauseMs === FIRST_RETRY_MS)
      log.error({ err: cause }, 'the platform interface waits for its database');
    this.#retry = setTimeout(() => {
      this.#opening = this.open().then(
        () => log.info('the platform interface is served'),
        (err: Error) => {
          if (this.#closed) return;
          if (err instanceof StoreUnavailable) this.openLater(err, Math.min(pauseMs * 2, LONGEST_RETRY_MS));
          else log.error({ err }, 'the platform interface cannot be served; fix it and restart');
        },
      );
    }, pauseMs).unref();
  }

  /** For metrics. */
  get figures(): PlatformFigures {
    const parts = this.#parts;
    return {
      answers: parts?.router.responsesByStatus ?? new Map(),
      sandboxes: parts?.sandboxes.known.counts ?? new Map(),
      keys: this.callers.size,
      servers: parts?.replicas.count ?? 0,
    };
  }

  async handle(request: MountRequest): Promise<MountResponse> {
    if (this.#parts === null) return storeDownResponse(request);
    return this.#parts.router.handle(request, (key) => hash('sha256', key, 'hex'));
  }

  /**
   * Sets the listening addresses. @param url of the proxy: conversations get it when the configuration has no
   * public_base_url. @param ownUrl of this interface, where sandboxes report to
   */
  serve(url: string, ownUrl: string): void {
    this.#url = url;
    this.#ownUrl = ownUrl;
    if (this.#parts !== null) this.#parts.address.base = this.#options.settings.publicBaseUrl ?? url;
  }

  /** Applies users, limits and specs of a new configuration; logs what needs a restart. */
  reconfigure(next: PlatformSettings | null): void {
    const { settings, log } = this.#options;
    if (next === null) {
      log.warn('platform: was removed from the configuration; it is served until a restart');
      return;
    }
    const fixed =
      next.secretKey.sha256() !== settings.secretKey.sha256() ||
      next.port !== settings.port ||
      next.host !== settings.host ||
      next.sandbox.driver !== settings.sandbox.driver ||
      next.sandbox.isolation !== settings.sandbox.isolation ||
      next.sandbox.dockerSocket !== settings.sandbox.dockerSocket ||
      next.kubernetes?.token?.sha256() !== settings.kubernetes?.token?.sha256() ||
      !isDeepStrictEqual({ ...next.kubernetes, token: null }, { ...settings.kubernetes, token: null });
    if (fixed)
      log.warn(
        'platform.secret_key, port, host, sandbox.driver, isolation, docker_socket and kubernetes take effect after a restart',
      );
    if (this.#parts === null) {
      this.#options = { ...this.#options, settings: next };
      this.#applied = next;
      return;
    }
    const { router, sandboxes, kept, address } = this.#parts;
    this.#applied = next;
    router.setUsers(next.users);
    kept.reconfigure(next.events);
    sandboxes.reconfigure(next.sandbox, next.sandboxSpecs);
    if (next.publicBaseUrl !== null) address.base = next.publicBaseUrl;
  }

  /** Sandboxes keep running unless `stop_with_server` is set. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry ?? undefined);
    await this.#opening;
    if (this.#parts !== null) {
      const { sandboxes, starter, replicas, kept } = this.#parts;
      await sandboxes.close();
      await starter.drained();
      await kept.close();
      await replicas.close();
    }
    await this.#store.close();
  }

  #sandboxApiUrl(): string | null {
    return sandboxApiUrl(this.#options.settings, this.#applied, this.#ownUrl);
  }

  #catchUp(credential: string): Promise<void> | null {
    if (!credential.startsWith(KEY_PREFIX)) return null;
    if (this.#parts === null)
      return Promise.reject(new StoreUnavailable('unavailable', 'it has not answered yet'));
    const { replicas } = this.#parts;
    return replicas.alone ? null : replicas.syncBriefly();
  }
}

/** Opens the platform on its data. @throws WrongSecretKey, SandboxTrouble, PlatformStoreUnavailable of a file of its own */
export async function openPlatform(options: PlatformOptions): Promise<Platform> {
  const { shared, dataDir } = options;
  const store =
    shared === null
      ? openPlatformFile(platformFile(dataDir))
      : platformTables(shared.extensionTables, shared.schema);
  const platform = new Platform(options, store);
  try {
    await platform.open();
  } catch (error) {
    const isAway = shared !== null && error instanceof StoreUnavailable;
    if (!isAway) {
      await platform.close();
      throw error;
    }
    platform.openLater(error);
  }
  return platform;
}

async function assemble(
  options: PlatformOptions,
  store: PlatformStore,
  callers: CallerDirectory,
  apiUrlNow: () => string | null,
): Promise<Parts> {
  const { settings, clock, log, spend } = options;
  const vault = new Vault(settings.secretKey);
  await vault.check(store, clock.now());
  const replicas = await Replicas.open({ store, dataDir: options.dataDir, worker: null, clock, log });
  const registry = new Registry(callers);
  await registry.load(store, vault);
  const sandboxes = new Sandboxes({
    settings: settings.sandbox,
    specs: settings.sandboxSpecs,
    driver: await chosenDriver({ ...options, apiUrl: apiUrlNow() }),
    store,
    vault,
    replicas,
    clock,
    log,
    apiUrl: apiUrlNow,
    lastCallMs: (id) => registry.lastCallMs(id),
    hasCalledSince: (id, sinceMs) => hasCalledSince(options, replicas, store, id, sinceMs),
  });
  await sandboxes.open();
  replicas.follow('conversation', registry.changeListener(vault));
  replicas.follow('sandbox', sandboxes.changeListener);
  replicas.start();
  const v0 = new Documents<SettingsV0>('v0', store, vault, clock);
  const v1 = new Documents<SettingsV1>('v1', store, vault, clock);
  const agentProfiles = new Documents<AgentProfileSet>('agents', store, vault, clock);
  const secrets = new UserSecrets(new Documents<SecretsDocument>('secrets', store, vault, clock));
  const address = { base: '' };
  const baseUrlOf = (id: string): string => `${address.base}/c/${id}/v1`;
  const conversations = new Conversations(store, vault, registry);
  const document = description();
  const { default: defaultModel } = schemaOf(document, 'StrictLLM').properties?.['model'] ?? {};
  const choices = new LlmChoices({
    v0,
    v1,
    models: options.models,
    defaultModel: typeof defaultModel === 'string' ? defaultModel : null,
  });
  const kept = new KeptEvents({ settings: settings.events, store, vault, clock, log });
  kept.start();
  const runtimes = new Runtimes(conversations, sandboxes);
  const views = new RuntimeViews({ conversations, sandboxes, clock, log });
  const starter = new Starter({
    views,
    store,
    vault,
    conversations,
    choices,
    settings: new UserSettings(v0, v1, () => sandboxes.specs),
    agentProfiles,
    sandboxes,
    replicas,
    clock,
    log,
    baseUrlOf,
    secretsFor: (sandbox) => secretSources(secrets, sandbox, apiUrlNow()),
  });
  const documents = published(document);
  const validation = VALIDATION;
  const shared = {
    ...settingsV1(
      v1,
      {
        shown: schemaOf(document, 'GETSettingsModel'),
        update: schemaOf(document, 'SettingsUpdate'),
        conversation: schemaOf(document, 'ConversationSettings'),
      },
      () => sandboxes.specs,
    ),
    ...profiles(v1, schemaOf(document, 'StrictLLM')),
  };
  const handlers = {
    ...settingsV0(v0, schemaOf(document, 'Settings'), () => sandboxes.specs),
    ...shared,
    ...pageApi({
      document,
      validation,
      clock,
      models: options.models,
      sandboxes: sandboxes.known,
      agentProfiles,
      settings: v1,
      handlers: shared,
    }),
    ...conversationApi({
      conversations,
      store,
      vault,
      starter,
      choices,
      sandboxes,
      views,
      spend,
      clock,
      log,
      baseUrlOf,
      forgetEvents: (id) => kept.forget(id),
    }),
    ...views.handlers,
    ...sandboxApi(sandboxes, clock.now()),
    ...secretApi(secrets, sandboxes),
    describe: () => ({ body: documents.all }),
    describeV1: () => ({ body: documents.v1 }),
    ...runtimeApi(runtimes),
    ...eventApi({ runtimes, conversations, views, kept }),
  };
  const sandboxByKey: SandboxByKey = (keyHash) => sandboxes.known.byKey(keyHash);
  const router = new Router(document, validation, handlers, () => replicas.sync(), sandboxByKey, log);
  router.setUsers(settings.users);
  return { router, replicas, sandboxes, starter, kept, address };
}

/** Whether a sandbox's conversations made a call through any server, according to the spend rows. */
async function hasCalledSince(
  { spend }: PlatformOptions,
  replicas: Replicas,
  store: PlatformStore,
  sandboxId: string,
  sinceMs: number,
): Promise<boolean> {
  if (replicas.alone) return false; // calls through this server are known without a query
  const part = { order: 'updated_desc', offset: 0, limit: CONVERSATIONS } as const;
  for (const { id } of await store.search({ kind: 'conversation', link: sandboxId }, part)) {
    const paging = { page: 1, pageSize: 1, order: 'newest', counts: false } as const;
    if ((await spend.query({ sessionId: dashed(id), startMs: sinceMs }, paging)).rows.length > 0) return true;
  }
  return false;
}

function schemaOf(document: Description, name: string): Schema {
  const schema = document.components.schemas[name];
  if (schema === undefined) throw new Error(`the description has no schema ${name}`);
  return schema;
}
