// How the parts of the platform interface are put together: the stores of what users keep, sandboxes, conversations, and the
// handlers of its operations.
import type { PlatformSettings } from '../config/snapshot.ts';
import type { Clock } from '../proxy/base/clock.ts';
import type { CallerDirectory } from '../proxy/server/mount.ts';
import type { ExtensionTables, Log } from '../proxy/server/mount.ts';
import type { ServedModels, SpendReader } from '../proxy/server/mount.ts';
import { description, published, type Description, type Schema } from './api/description.ts';
import { Router, type Handler, type SandboxByKey } from './api/router.ts';
import { Validation } from './api/validation.ts';
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
import type { PlatformStore } from './store/store.ts';
import { Vault } from './store/vault.ts';

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

export interface Parts {
  readonly router: Router;
  readonly replicas: Replicas;
  readonly sandboxes: Sandboxes;
  readonly starter: Starter;
  readonly kept: KeptEvents;
  readonly address: { base: string };
}

/** Conversations of one sandbox to check before it counts as idle. */
const CONVERSATIONS = 100;

/** What everything below is made of. */
interface Base {
  readonly options: PlatformOptions;
  readonly store: PlatformStore;
  readonly vault: Vault;
  readonly replicas: Replicas;
  readonly registry: Registry;
  readonly apiUrlNow: () => string | null;
}

/** @throws WrongSecretKey, PlatformStoreUnavailable, SandboxFailure */
export async function assemble(
  options: PlatformOptions,
  store: PlatformStore,
  callers: CallerDirectory,
  apiUrlNow: () => string | null,
): Promise<Parts> {
  const { settings, clock, log } = options;
  const vault = new Vault(settings.secretKey);
  await vault.check(store, clock.now());
  const replicas = await Replicas.open({ store, dataDir: options.dataDir, worker: null, clock, log });
  const registry = new Registry(callers);
  await registry.load(store, vault);
  const base: Base = { options, store, vault, replicas, registry, apiUrlNow };
  const sandboxes = await openSandboxes(base);
  replicas.follow('conversation', registry.changeListener(vault));
  replicas.follow('sandbox', sandboxes.changeListener);
  replicas.start();
  const kept = new KeptEvents({ settings: settings.events, store, vault, clock, log });
  kept.start();
  const address = { base: '' };
  const document = description();
  const { handlers, starter } = served(base, {
    sandboxes,
    kept,
    document,
    baseUrlOf: (id) => `${address.base}/c/${id}/v1`,
  });
  const sandboxByKey: SandboxByKey = (keyHash) => sandboxes.known.byKey(keyHash);
  const router = new Router(document, VALIDATION, handlers, () => replicas.sync(), sandboxByKey, log);
  router.setUsers(settings.users);
  return { router, replicas, sandboxes, starter, kept, address };
}

async function openSandboxes({
  options,
  store,
  vault,
  replicas,
  registry,
  apiUrlNow,
}: Base): Promise<Sandboxes> {
  const { settings, clock, log } = options;
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
    lastCallElsewhereMs: (id, sinceMs) => lastCallElsewhereMs(options, replicas, store, id, sinceMs),
  });
  await sandboxes.open();
  return sandboxes;
}

interface Running {
  readonly sandboxes: Sandboxes;
  readonly kept: KeptEvents;
  readonly document: Description;
  readonly baseUrlOf: (id: string) => string;
}

/** The handlers of the interface, by operation id, and what starts conversations for them. */
function served(
  { options, store, vault, replicas, registry, apiUrlNow }: Base,
  { sandboxes, kept, document, baseUrlOf }: Running,
): { readonly handlers: Record<string, Handler>; readonly starter: Starter } {
  const { clock, log, spend, models } = options;
  const documents = documentsOf(store, vault, clock);
  const { v0, v1, agentProfiles, secrets } = documents;
  const conversations = new Conversations(store, vault, registry);
  const { default: defaultModel } = schemaOf(document, 'StrictLLM').properties?.['model'] ?? {};
  const choices = new LlmChoices({
    v0,
    v1,
    models,
    defaultModel: typeof defaultModel === 'string' ? defaultModel : null,
  });
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
  const described = published(document);
  const handlers = {
    ...settingsHandlers(documents, sandboxes, document, options),
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
    describe: () => ({ body: described.all }),
    describeV1: () => ({ body: described.v1 }),
    ...runtimeApi(runtimes),
    ...eventApi({ runtimes, conversations, views, kept }),
  };
  return { handlers, starter };
}

/** What users keep here. */
function documentsOf(store: PlatformStore, vault: Vault, clock: Clock) {
  return {
    v0: new Documents<SettingsV0>('v0', store, vault, clock),
    v1: new Documents<SettingsV1>('v1', store, vault, clock),
    agentProfiles: new Documents<AgentProfileSet>('agents', store, vault, clock),
    secrets: new UserSecrets(new Documents<SecretsDocument>('secrets', store, vault, clock)),
  };
}

/** Settings of both versions, profiles, and the page that shows them. */
function settingsHandlers(
  { v0, v1, agentProfiles }: ReturnType<typeof documentsOf>,
  sandboxes: Sandboxes,
  document: Description,
  { clock, models }: PlatformOptions,
): Record<string, Handler> {
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
  return {
    ...settingsV0(v0, schemaOf(document, 'Settings'), () => sandboxes.specs),
    ...shared,
    ...pageApi({
      document,
      validation: VALIDATION,
      clock,
      models,
      sandboxes: sandboxes.known,
      agentProfiles,
      settings: v1,
      handlers: shared,
    }),
  };
}

/** When one of a sandbox's conversations last made a call through any server, according to the spend rows; null = not since then. */
async function lastCallElsewhereMs(
  { spend }: PlatformOptions,
  replicas: Replicas,
  store: PlatformStore,
  sandboxId: string,
  sinceMs: number,
): Promise<number | null> {
  if (replicas.alone) return null; // calls through this server are known without a query
  const part = { order: 'updated_desc', offset: 0, limit: CONVERSATIONS } as const;
  let lastMs: number | null = null;
  for (const { id } of await store.search({ kind: 'conversation', link: sandboxId }, part)) {
    const paging = { page: 1, pageSize: 1, order: 'newest', counts: false } as const;
    const { rows } = await spend.query({ sessionId: dashed(id), startMs: lastMs ?? sinceMs }, paging);
    lastMs = rows[0]?.startMs ?? lastMs;
  }
  return lastMs;
}

function schemaOf(document: Description, name: string): Schema {
  const schema = document.components.schemas[name];
  if (schema === undefined) throw new Error(`the description has no schema ${name}`);
  return schema;
}
