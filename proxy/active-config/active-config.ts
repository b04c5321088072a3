// One configuration, ready to serve: snapshot, connection pools, header lists, metric handles, prepared listings. Its
// constructor may fail, and changes nothing; in-service.ts puts it into service. A request captures it once and sees one
// configuration from its first byte to its last.
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import type { SteeringTable } from '../../config/resolve/gateways/parameters.ts';
import { ModelAccess } from '../access/model-access.ts';
import { AddressList } from '../access/client-address.ts';
import { areSomeOfTeams, type TeamBound } from '../access/team-deployments.ts';
import { AbsentEndpoints } from '../routing/absent-endpoints.ts';
import type { Routable } from '../routing/routable.ts';
import { retriesOf, UNSTATED_RETRIES } from '../routing/retries.ts';
import { seedOf } from '../routing/session-affinity.ts';
import type { Pool } from '../upstream/pool.ts';
import {
  responseHeaderNames,
  deploymentResponseHeaders,
  type ResponseHeaderNames,
} from '../headers/response-header-names.ts';
import { namesTool } from '../access/brake/exempt-tools.ts';
import { ANY_SERVER } from '../../config/resolve/gateways/others.ts';
import type { SteeringRule } from '../../config/resolve/gateways/steering.ts';
import { HeaderRules } from '../headers/header-rules.ts';
import { deploymentHeaders, type DeploymentHeaders } from '../headers/upstream-headers.ts';
import { listingsOf, namesFor, type Listings } from './listings.ts';
import { ReadMembers } from './read-members.ts';
import { StatedByEntry } from './stated-by-entry.ts';
import { byUpstreamModel } from './upstream-models.ts';
import type { DeploymentMetrics } from '../observability/deployment-metrics.ts';
import type { Services } from './services.ts';
import { VERSION } from './version.ts';

/** Teams whose names are kept. */
const MOST_TEAMS = 500;

/** A deployment with everything that can be prepared before a request comes. */
export interface LiveDeployment extends Routable {
  readonly config: Deployment;
  readonly pool: Pool;
  readonly headers: DeploymentHeaders;
  /** Response headers that depend on the deployment alone, flat. */
  readonly responseHeaders: readonly string[];
  readonly metrics: DeploymentMetrics;
  /** What its entry states of requests; null = nothing. */
  readonly stated: StatedByEntry | null;
  /** What its gateway was found not to serve. */
  readonly absent: AbsentEndpoints;
}

/**
 * Says once per rule that a client's header was held back: who relied on it learns of the setting. What any proxy in front
 * adds to every request (`x-forwarded-for`) is not worth a line.
 */
function warnOnce(
  { log, callers }: Services,
  { headers, deployments }: Snapshot,
): (rule: SteeringRule) => void {
  // Headers of a key's profile go whether or not those of clients are forwarded.
  const forwards =
    headers.forwardAll || callers !== null || deployments.some((one) => one.forwardClientHeaders);
  const told = new Set<string>();
  return ({ kind, pattern }) => {
    if (!forwards || kind === ANY_SERVER || told.has(pattern)) return;
    told.add(pattern);
    const about = { headers: pattern, steers: kind, setting: 'general_settings.allow_headers' };
    log.warn(about, 'a client sent a header that steers what stands behind; it is not forwarded');
  };
}

/** Deployments by the access groups that they state. */
function accessGroupsOf({ deployments }: Snapshot): ReadonlyMap<string, readonly Deployment[]> {
  const groups = new Map<string, Deployment[]>();
  for (const deployment of deployments) {
    const stated = deployment.statedInfo['access_groups'];
    if (!Array.isArray(stated)) continue;
    for (const name of stated) {
      if (typeof name !== 'string') continue;
      const stating = groups.get(name) ?? [];
      groups.set(name, stating);
      stating.push(deployment);
    }
  }
  return groups;
}

/** One configuration in service. */
export class ActiveConfig {
  readonly snapshot: Snapshot;
  readonly services: Services;
  readonly rules: HeaderRules;
  readonly deployments: ReadonlyMap<string, LiveDeployment>;
  readonly groups: ReadonlyMap<string, readonly LiveDeployment[]>;
  /** Deployments that have an upstream model (`litellm_params.model`) alone, by its name. */
  readonly byUpstreamModel: ReadonlyMap<string, LiveDeployment>;
  readonly readMembers: ReadMembers;
  /** Tools that the runaway brake leaves out. */
  readonly isExemptTool: (tool: string) => boolean;
  /** Those of all deployments, each once. */
  readonly steeringTables: readonly SteeringTable[];
  readonly headerNames: ResponseHeaderNames;
  #listings: { readonly version: number; readonly made: Listings };
  /** What virtual keys may call of this configuration. */
  readonly modelAccess: ModelAccess;
  /** null = every address may call. */
  readonly allowedAddresses: AddressList | null;
  /** null = nobody's X-Forwarded-For is believed. */
  readonly trustedProxies: AddressList | null;
  #users = 0;
  #retired = false;
  /** Whose pool and health are held. */
  readonly #held: Deployment[] = [];

  /**
   * Everything that can fail happens here, and changes nothing of the services. Takes references to pools and health: `retire`
   * gives them back. @throws CannotStart when an upstream can be reached by no route
   */
  constructor(snapshot: Snapshot, services: Services) {
    const { dialect } = snapshot;
    this.snapshot = snapshot;
    this.headerNames = responseHeaderNames(dialect);
    this.services = services;
    const { headers, tagHeaders, userHeader } = snapshot;
    this.rules = new HeaderRules(dialect, headers, {
      tagHeaders,
      userHeader,
      isTraced: services.traces !== null,
      onHeldBack: warnOnce(services, snapshot),
    });
    this.isExemptTool = namesTool(snapshot.brake?.exemptTools ?? []);
    this.steeringTables = [
      ...new Set(snapshot.deployments.map(({ steeringParameters }) => steeringParameters)),
    ];
    this.readMembers = new ReadMembers(snapshot, this.steeringTables);
    this.modelAccess = new ModelAccess(
      accessGroupsOf(snapshot),
      services.access.directory,
      areSomeOfTeams(snapshot),
    );
    this.#listings = this.#makeListings();
    const { allowedAddresses, trustedProxies } = snapshot.access;
    this.allowedAddresses = allowedAddresses === null ? null : new AddressList(allowedAddresses);
    this.trustedProxies = trustedProxies.length === 0 ? null : new AddressList(trustedProxies);
    this.deployments = this.#liveDeployments();
    this.groups = new Map(
      [...snapshot.groups].map(([name, deployments]) => [
        name,
        deployments.map((deployment) => this.deployment(deployment)),
      ]),
    );
    this.byUpstreamModel = byUpstreamModel(this.deployments.values());
  }

  /** Made anew only when a gateway has said that it serves other models. */
  get listings(): Listings {
    if (this.#listings.version !== this.services.discoveredModels.version)
      this.#listings = this.#makeListings();
    return this.#listings.made;
  }

  /** The names of the listings; for a bound caller without those of other teams' deployments alone, or of their gateways. */
  namesFor(bound: TeamBound | null): readonly string[] {
    const { names: all, byTeam } = this.listings;
    if (bound === null) return all;
    const known = byTeam.get(bound.teamId);
    if (known !== undefined) return known;
    const { discoveredModels } = this.services;
    const names = namesFor(this.snapshot, (one) => discoveredModels.of(one), bound);
    if (byTeam.size === MOST_TEAMS) byTeam.clear();
    byTeam.set(bound.teamId, names);
    return names;
  }

  #makeListings(): { readonly version: number; readonly made: Listings } {
    const { discoveredModels } = this.services;
    const { version } = discoveredModels;
    return { version, made: listingsOf(this.snapshot, (one) => discoveredModels.of(one)) };
  }

  /** The live deployment of a `model_list` entry of this snapshot. */
  deployment({ id }: Deployment): LiveDeployment {
    const found = this.deployments.get(id);
    if (found === undefined) throw new Error(`the deployment ${id} is not of this configuration`);
    return found;
  }

  /** It serves from now on: metrics are counted as it says. */
  announce(): void {
    const { metrics } = this.services;
    const { version, dialect, dialectMetrics, maxMetricLabelValues, deployments } = this.snapshot;
    metrics.labelValues.use(maxMetricLabelValues, {
      teams: deployments.flatMap(({ attribution: { teamId } }) => (teamId === null ? [] : [teamId])),
      gateways: deployments.map(({ apiBase }) => apiBase),
      deployments: deployments.map(({ id }) => id),
    });
    metrics.useDialect(dialectMetrics ? dialect.brand : null);
    // Both ends of the calls of a gateway are shown from the beginning.
    const byGateway = new Map(deployments.map((one) => [one.apiBase, one]));
    for (const { group, apiBase } of byGateway.values()) metrics.forModel(group, apiBase);
    metrics.serving(version);
  }

  enter(): void {
    this.#users += 1;
  }

  leave(): void {
    this.#users -= 1;
    if (this.#retired && this.#users === 0) this.#release();
  }

  /** Another configuration serves now; pools and health are released when the last request here has ended. */
  retire(): void {
    this.#retired = true;
    if (this.#users === 0) this.#release();
  }

  #liveDeployments(): ReadonlyMap<string, LiveDeployment> {
    try {
      return new Map(this.snapshot.deployments.map((one) => [one.id, this.#liveDeployment(one)]));
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  #liveDeployment(deployment: Deployment): LiveDeployment {
    const { metrics, pools } = this.services;
    const pool = pools.acquire(deployment);
    const health = this.services.health.acquire(deployment.id);
    this.#held.push(deployment);
    const { statedMembers } = deployment;
    let counted: DeploymentMetrics | null = null;
    return {
      config: deployment,
      seed: seedOf(deployment.id),
      weight: deployment.weight,
      order: deployment.order,
      limit: deployment.maxParallel,
      health,
      pool,
      headers: deploymentHeaders(deployment, `throughline/${VERSION}`),
      responseHeaders: deploymentResponseHeaders(
        this.headerNames,
        deployment,
        retriesOf(this.snapshot.routing, deployment) ?? UNSTATED_RETRIES,
        VERSION,
      ),
      // With the first call: of 10,000 models mostly a few are used, and the handles of all of them took 0.3 s.
      get metrics() {
        return (counted ??= metrics.forModel(deployment.group, deployment.apiBase));
      },
      stated: statedMembers === null ? null : new StatedByEntry(statedMembers),
      absent: new AbsentEndpoints(),
    };
  }

  #release(): void {
    for (const deployment of this.#held) {
      this.services.pools.release(deployment);
      this.services.health.release(deployment.id);
    }
  }
}
