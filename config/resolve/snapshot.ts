// The validated file -> Snapshot: settings in the server's units, and one deployment per entry. Pure; reports problems to
// the diagnostics.
import type { Catalogue } from '../catalogue.ts';
import { dialectOf, type Dialect } from '../dialect.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile, ModelEntry } from '../gateway-file.ts';
import type { Environment } from '../environment.ts';
import type { Secret } from '../secret.ts';
import type { SecretFiles } from '../secret-files.ts';
import type { DiscoverySettings } from '../discovery-settings.ts';
import type { IdempotencySettings } from '../idempotency-settings.ts';
import type { Deployment, Snapshot } from '../snapshot.ts';
import { memberOf, nodeAt, type Tree } from '../tree.ts';
import { MASTER_VARIABLES } from '../unauthenticated.ts';
import { accessOf, adminOf } from './access.ts';
import { keyGenerationOf } from './key-generation.ts';
import { checkAccess } from './access-checks.ts';
import { alertsOf } from './alerts.ts';
import { budgetsOf } from './budgets.ts';
import { consoleOf } from './console.ts';
import { brakeOf } from './brake.ts';
import { capsulesOf } from './capsules.ts';
import { clockDefaults } from './clocks.ts';
import { databaseOf, periodMs } from './database.ts';
import { forwarding, warnUnmatched } from './forwarding.ts';
import { exactGroups, wildcardGroups } from './groups.ts';
import { checkHeaderLists, headersAt, joinHeaders, keyHeaderOf, userHeaderOf } from './headers.ts';
import { computedId } from './ids.ts';
import { joined } from './joined.ts';
import { otelOf } from './otel.ts';
import { realtimeOf } from './realtime.ts';
import { overloadOf, parallelLimits } from './overload.ts';
import { readingOn } from './read-on.ts';
import { platformOf } from './platform.ts';
import { keyAt } from './address.ts';
import { deploymentOf, inspectUnsound, placesOfCredentials } from './deployment.ts';
import type { SharedSettings } from './entry.ts';
import { TlsResolver } from './tls.ts';
import { valkeyOf } from './valkey.ts';
import { attemptDefaults, routingOf, type Names } from './routing.ts';

const MIB = 1024 * 1024;

/** What `resolved` works on. */
interface ResolveInput {
  readonly file: GatewayFile;
  /** The tree with references resolved; `written` still has them. */
  readonly tree: Tree;
  readonly written: Tree;
  readonly env: Environment;
  readonly diagnostics: Diagnostics;
  readonly files: SecretFiles;
  readonly catalogue: Catalogue;
  /** Indexes in model_list that are skipped. */
  readonly skipped: ReadonlySet<number>;
  /** Ids of the runtime additions, which are the last entries of model_list. */
  readonly runtimeIds: readonly string[];
}

/** The snapshot without its version, files, disabled models and warnings. */
export function resolved(input: ResolveInput): Omit<Snapshot, 'version' | 'files' | 'disabled' | 'warnings'> {
  const { general_settings: general, litellm_settings: litellm } = input.file;
  const dialect = dialectOf(general.dialect);
  checkHeaderLists(general, litellm, dialect, input.diagnostics);
  const tls = new TlsResolver(input);
  const deployments = deploymentsOf(input, dialect, tls);
  const compressed = general.accept_compressed_requests;
  const [groups, wildcards] = [exactGroups(deployments), wildcardGroups(deployments)];
  const retentionMs = periodMs(general.maximum_spend_logs_retention_period);
  const workers = String(general.workers).trim() === 'auto' ? 'auto' : Number(general.workers);
  const names = namesOf(input, groups, wildcards);
  const routing = routingOf(input.file, names, input.diagnostics);
  const { file, diagnostics } = input;
  checkAccess({ file, deployments, names, aliases: routing.aliases, diagnostics });
  const masterKey = masterKeyOf(input);
  const platform = platformOf(input.file.platform, workers, input.diagnostics);
  return {
    dialect,
    deployments,
    groups,
    wildcards,
    routing,
    discovery: discoveryOf(general),
    overload: overloadOf(input.file, deployments),
    realtime: realtimeOf(input.file),
    masterKey,
    keyGeneration: keyGenerationOf(input.file),
    budgets: budgetsOf(input.file, deployments, input.diagnostics),
    access: accessOf(input.file, input.tree, masterKey, platform, input.diagnostics),
    admin: adminOf(general, input.diagnostics),
    tls: tls.listener(),
    allowUnauthenticated: general.allow_unauthenticated,
    apiDocs: general.api_docs,
    console: consoleOf(input.file, masterKey, input.diagnostics),
    maxMetricLabelValues: Number(general.max_metric_label_values),
    dialectMetrics: general.dialect_metrics,
    storeModelInDb: storesModels(input),
    estimateMissingUsage: general.estimate_missing_usage,
    costInStreamingUsage: litellm.include_cost_in_streaming_usage,
    alwaysIncludeStreamUsage: general.always_include_stream_usage,
    headers: {
      forwardAll: general.forward_client_headers_to_llm_api,
      forwardPrefixes: general.forward_header_prefixes.map((prefix) => prefix.toLowerCase()),
      allow: general.allow_headers.map((name) => name.toLowerCase()),
      deny: general.deny_headers.map((name) => name.toLowerCase()),
      ...keyHeaderOf(general, dialect, input.diagnostics),
    },
    forwards: forwarding(general, litellm),
    limits: {
      requestBytes: Math.round(general.max_request_size_mb * MIB),
      headerCount: general.max_request_headers,
      connections: general.max_connections,
      requestsPerConnection: general.max_requests_per_connection,
      jsonDepth: general.max_json_depth,
      inflatedBytes: compressed === undefined ? null : Math.round(compressed.max_inflated_mb * MIB),
    },
    journal: {
      fsyncIntervalMs: general.journal.fsync_interval_ms,
      segmentBytes: general.journal.segment_mb * MIB,
      whenUnwritable: general.journal.when_unwritable,
    },
    database: databaseOf(general.database_url, input.env, input.diagnostics),
    valkey: valkeyOf(input.file, input.env, input.diagnostics),
    retentionMs,
    idempotency: idempotencyOf(general),
    cors: general.cors === undefined ? null : { allowOrigins: general.cors.allow_origins },
    allowedHosts: general.allowed_hosts?.map((name) => name.toLowerCase()) ?? null,
    otel: otelOf(input.file, input.env, input.diagnostics),
    tagHeaders: litellm.extra_spend_tag_headers.map((name) => name.toLowerCase()),
    userHeader: userHeaderOf(general),
    ...drainOf(general, input.diagnostics),
    workers,
    platform,
    brake: brakeOf(input.file, input.diagnostics),
    capsules: capsulesOf(input.file, input.diagnostics),
    alerts: alertsOf(input.file, input.env, retentionMs, input.diagnostics),
  };
}

function discoveryOf({ model_discovery: stated }: GatewayFile['general_settings']): DiscoverySettings {
  return {
    refreshMs: Math.round(Number(stated.refresh_seconds) * 1000),
    hideMissing: stated.hide_missing,
    maxModels: stated.max_models,
  };
}

function idempotencyOf({ idempotency }: GatewayFile['general_settings']): IdempotencySettings | null {
  if (idempotency === undefined) return null;
  return {
    windowMs: Math.round(Number(idempotency.window_seconds) * 1000),
    maxEntries: Number(idempotency.max_entries),
    maxBytes: Number(idempotency.max_bytes),
    failClosed: idempotency.fail_closed,
  };
}

/** Seconds in, milliseconds out. */
function drainOf(
  general: GatewayFile['general_settings'],
  diagnostics: Diagnostics,
): Pick<Snapshot, 'minDrainMs' | 'drainMs'> {
  const [min, max] = [Number(general.min_drain_seconds), Number(general.drain_seconds)];
  if (min > max && diagnostics.isSound(['general_settings', 'drain_seconds'])) {
    const message = `is longer than drain_seconds (${max}), which counts from the same signal`;
    diagnostics.error(['general_settings', 'min_drain_seconds'], message, 'lower it, or raise drain_seconds');
  }
  return { minDrainMs: Math.round(min * 1000), drainMs: Math.round(max * 1000) };
}

/** The file's key, else one from the environment; an empty variable counts as not set. */
function masterKeyOf({ file, env, diagnostics }: ResolveInput): Secret | null {
  const path = ['general_settings', 'master_key'];
  const written = file.general_settings.master_key;
  if (written !== undefined) return keyAt(written, path, diagnostics);
  const variable = MASTER_VARIABLES.find((name) => (env[name] ?? '') !== '');
  return variable === undefined
    ? null
    : keyAt(env[variable], path, diagnostics, `the environment variable ${variable}`);
}

function deploymentsOf(input: ResolveInput, dialect: Dialect, tls: TlsResolver): readonly Deployment[] {
  const { file, tree, written, diagnostics, skipped, runtimeIds } = input;
  const shared = sharedSettings(input, dialect, tls);
  const firstRuntime = file.model_list.length - runtimeIds.length;
  const ids = new Ids(diagnostics);
  const deployments: Deployment[] = [];
  const groups: string[] = [];
  file.model_list.forEach((entry, index) => {
    const path = ['model_list', index];
    if (skipped.has(index)) return;
    const node = nodeAt(tree, path);
    if (!diagnostics.isSound(path)) {
      if (node !== undefined) inspectUnsound(entry, { path, tree: node }, shared);
      return;
    }
    const params = nodeAt(written, [...path, 'litellm_params']);
    if (node === undefined || params === undefined) return;
    groups.push(entry.model_name);
    const given = runtimeIds[index - firstRuntime] ?? entry.model_info?.id;
    const id =
      given === undefined ? ids.computed(computedId(entry.model_name, params)) : ids.given(given, index);
    const source = index >= firstRuntime ? 'runtime' : 'config';
    const deployment = deploymentOf({ entry, path, tree: node, id, source }, shared);
    if (deployment !== null) deployments.push(deployment);
  });
  warnUnmatched(file.litellm_settings, [...new Set(groups)], diagnostics);
  return joined(deployments);
}

/** The names that are served, and those of skipped and broken entries. */
function namesOf(input: ResolveInput, groups: Names['groups'], wildcards: Names['wildcards']): Names {
  const [leftOut, broken] = [new Set<string>(), new Set<string>()];
  input.file.model_list.forEach((entry: Partial<ModelEntry> | null, index) => {
    const name = entry?.model_name;
    // A name in `broken` may still be served by another entry; lookups check that first.
    if (typeof name === 'string') (input.skipped.has(index) ? leftOut : broken).add(name);
  });
  return { groups, wildcards, leftOut, broken, stored: storesModels(input) };
}

function storesModels({ file, env }: ResolveInput): boolean {
  return file.general_settings.store_model_in_db ?? /^true$/i.test(env['STORE_MODEL_IN_DB'] ?? '');
}

function sharedSettings(input: ResolveInput, dialect: Dialect, tls: TlsResolver): SharedSettings {
  const { file, tree, diagnostics, catalogue } = input;
  const params = file.router_settings.default_litellm_params;
  const path = ['router_settings', 'default_litellm_params'];
  const alias = headersAt(params.headers, [...path, 'headers'], dialect, diagnostics);
  const headers = joinHeaders(
    alias,
    headersAt(params.extra_headers, [...path, 'extra_headers'], dialect, diagnostics),
  );
  if (
    headers.has('authorization') &&
    file.model_list.some((entry) => entry.litellm_params?.api_key !== undefined)
  ) {
    const spot = alias.has('authorization') ? 'headers' : 'extra_headers';
    const message = 'authorization is sent for entries without api_key only';
    diagnostics.warn(
      [...path, spot],
      message,
      'remove it, or the api_key of the entries that need it',
      'key',
    );
  }
  const totalStated = memberOf(nodeAt(tree, path), 'total_timeout') !== undefined;
  return {
    dialect,
    clocks: clockDefaults(file.router_settings, file.litellm_settings, totalStated),
    readOn: readingOn(file),
    maxParallel: parallelLimits(file),
    attempts: attemptDefaults(file),
    headers,
    allowedClientParameters: file.general_settings.allowed_client_parameters,
    forwards: forwarding(file.general_settings, file.litellm_settings),
    allowedQuery: file.general_settings.allowed_query_parameters,
    dropParams: params.drop_params ?? file.litellm_settings.drop_params,
    answerModel: file.general_settings.answer_model,
    stored: storesModels(input),
    catalogue,
    diagnostics,
    tls,
    bases: new Map(),
    env: input.env,
    isLenient: file.general_settings.unknown_keys === 'warn',
    configuredBases: placesOfCredentials(tree),
    allowReferences: file.general_settings.runtime_models.allow_references,
    allowLinkLocal: file.general_settings.runtime_models.allow_link_local,
  };
}

/** Assigns unique ids to entries. */
class Ids {
  readonly #taken = new Map<string, number>();
  readonly #diagnostics: Diagnostics;

  constructor(diagnostics: Diagnostics) {
    this.#diagnostics = diagnostics;
  }

  /** Identical entries get the suffixes -2, -3, ... in their order. */
  computed(id: string): string {
    let free = id;
    for (let count = 2; this.#taken.has(free); count += 1) free = `${id}-${count}`;
    this.#taken.set(free, -1);
    return free;
  }

  /** An id chosen by the operator must be unique. */
  given(id: string, index: number): string {
    if (this.#taken.has(id)) {
      const message = 'another entry has this id; records could not be told apart';
      this.#diagnostics.error(
        ['model_list', index, 'model_info', 'id'],
        message,
        'choose another id, or remove it',
      );
    }
    this.#taken.set(id, index);
    return id;
  }
}
