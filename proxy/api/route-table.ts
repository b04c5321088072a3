// Method + path -> handler. Fixed paths are compared byte for byte, never decoded; only a model name or an id in a
// path is (OpenAI clients send `anthropic%2Fclaude`). Every LLM path is also there without `/v1` and tolerates the
// bases that people configure: `//v1` and `/v1/v1`. Each row names the access that it needs and the port it is served on.
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { scopeOf } from '../access/callers.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import { Fault } from '../errors/fault.ts';
import { BY_ID, ENDPOINTS } from '../protocols/table.ts';
import { forwardById } from '../pipeline/forward-by-id.ts';
import { forward } from '../pipeline/forward.ts';
import { forwardRealtime } from '../pipeline/realtime/forward-realtime.ts';
import { insteadOf } from './absent-routes.ts';
import type { CallRow } from './access/call-row.ts';
import { KEY_ROUTES } from './access/key-routes.ts';
import { TEAM_ROUTES } from './access/team-routes.ts';
import { health, liveness, metrics, probeOptions, readiness, robots, type ServerState } from './health.ts';
import { acknowledgeAlert, listAlerts, reopenAlert } from './alerts.ts';
import { deleteCapsule, listCapsules, oneCapsule, orderCapsules } from './capsules.ts';
import { consoleRows, type ConsoleRow } from './console/routes.ts';
import { DoctorRoutes, doctorStream } from './doctor.ts';
import { ApiPages } from './openapi/pages.ts';
import {
  admin,
  audited,
  call,
  listing,
  managed,
  notAllowed,
  open,
  published,
  readable,
  routeOf,
  spending,
  type FoundRoute,
  type Methods,
  type Route,
  type Routes,
} from './route.ts';
import { MODEL_IN_PATH, type RouteRow } from './route-row.ts';
import { deleteModel, newModel, patchModel, updateModel } from './model-admin.ts';
import { reloadConfig } from './reload.ts';
import { routeList } from './route-list.ts';
import { tokenCounter } from './token-counter.ts';
import { listModels, modelInfo, modelInfoPage, oneModel } from './models.ts';
import { listGeminiModels, oneGeminiModel } from './model-lists.ts';
import { modelGroupInfo } from './model-groups.ts';
import { dailyActivity } from './daily-activity.ts';
import { spendLog, spendLogs, spendLogsOfSession, spendLogsPage } from './spend.ts';
import { spendBudgets } from './spend-budgets.ts';
import { spendCalculate } from './spend-calculate.ts';
import { LiveRows } from './spend-live.ts';
import { spendReconciliations } from './spend-reconciliations.ts';
import { spendRows } from './spend-rows.ts';
import { spendSums } from './spend-breakdown.ts';
import { globalKeys, globalLogs, globalModels, globalSpend } from './spend-month.ts';
import { globalReport, ownReport, spendKeys, spendTags, spendUsers } from './spend-sums.ts';
import { brakedConversations, conversationBrake, resumeConversation, resumeDenied } from './access/brake.ts';
import type { MountRoutes } from './mounted.ts';

interface Pattern {
  readonly prefix: string;
  readonly suffix: string;
  readonly methods: Methods;
}

const VERSIONED = ['', '/v1', '//v1', '/v1/v1'];
/** What is also there below `/anthropic`, as clients of LiteLLM's pass-through call it: with a row, to the models of this proxy. */
const ANTHROPIC: ReadonlySet<string> = new Set(['messages', 'messages/count_tokens']);
const metricsRoute: Route = { handle: metrics, access: 'metrics', port: 'admin' };

/** The routes of one port: `all` where there is only one; `health`: what probes ask, and nothing else. */
export type PortRole = 'all' | 'main' | 'admin' | 'health';

/** What routes are run with; asked for when a request comes. */
interface RouteOwner {
  readonly reloader: ConfigReloader;
  readonly state: ServerState;
  /** Whether conversations have base paths of their own. */
  readonly hasSessions: boolean;
  /** Of the built console; null = the one that is shipped. */
  readonly consoleFolder: string | null;
}

/** All routes of one port but those of an extension with a port of its own. */
export class RouteTable implements Routes {
  readonly #role: PortRole;
  readonly #exact = new Map<string, Methods>();
  readonly #patterns: Pattern[] = [];
  readonly #mount: MountRoutes | null;
  /** Names that calls of this port claim. */
  readonly #exclusive = new KeyedQueue();
  /** Paths of WebSockets. */
  readonly #webSockets = new Set<string>();
  /** Whether there are base paths of sessions. */
  readonly #scoped: boolean;

  /** @param mount served on the same port; null = none, or on a port of its own */
  constructor(owner: RouteOwner, mount: MountRoutes | null, role: PortRole = 'all') {
    this.#role = role;
    this.#mount = mount;
    this.#scoped = role !== 'admin' && owner.hasSessions;
    // In this order: of two patterns that a path fits the first one counts.
    this.#calls(owner);
    this.#listings();
    this.#changes(owner);
    this.#probes(owner);
    this.#pages();
    this.#brake();
    this.#spend(owner);
    for (const row of KEY_ROUTES) this.#managed(row);
    for (const row of TEAM_ROUTES) this.#managed(row);
    this.#console(consoleRows(owner));
  }

  get isAdminPort(): boolean {
    return this.#role === 'admin';
  }

  /** Every row of this port. */
  get rows(): readonly RouteRow[] {
    const places = [
      ...[...this.#exact].map(([path, methods]) => ({ path, methods })),
      ...this.#patterns.map(({ prefix, suffix, methods }) => ({
        path: `${prefix}{param}${suffix}`,
        methods,
      })),
    ];
    return places.flatMap(({ path, methods }) =>
      Object.entries(methods).map(([method, { access, port }]) => ({ method, path, access, port })),
    );
  }

  upgrades(path: string): boolean {
    if (this.#scoped) path = scopeOf(path)?.rest ?? path;
    return this.#exact.has(path) && this.#webSockets.has(path);
  }

  find(method: string, path: string): FoundRoute {
    if (this.#mount?.holds(path) === true) return this.#mount.find(method, path);
    if (this.#scoped) path = scopeOf(path)?.rest ?? path;
    const exact = this.#exact.get(path);
    if (exact !== undefined) return { route: routeOf(exact, method), param: '' };
    let allowed: string[] = [];
    for (const { prefix, suffix, methods } of this.#patterns) {
      if (!path.startsWith(prefix) || !path.endsWith(suffix)) continue;
      const raw = path.slice(prefix.length, path.length - suffix.length);
      if (raw === '' || path.length < prefix.length + suffix.length) continue;
      const route = methods[method];
      if (route !== undefined) return { route, param: decoded(raw) };
      allowed = [...allowed, ...Object.keys(methods)];
    }
    if (allowed.length > 0) throw notAllowed(method, [...new Set(allowed)], insteadOf(path));
    // Bases that end in a slash make such paths; one slash, and only where no route has it.
    if (/[^/]\/$/.test(path)) return this.find(method, path.slice(0, -1));
    const where = `${ELSEWHERE[this.#role]}${insteadOf(path)}`;
    throw new Fault('route_not_found', `There is no route ${path.slice(0, 200)} ${where}`);
  }

  #calls(owner: RouteOwner): void {
    for (const endpoint of ENDPOINTS) {
      const [beforeModel, behindModel] = endpoint.path.split('{model}');
      if (behindModel !== undefined) {
        const named = call((x, caller, model) => forward(x, caller, endpoint, model));
        for (const base of MODEL_IN_PATH)
          this.#pattern(`${base}/${beforeModel ?? ''}`, behindModel, {
            POST: { ...named, errors: endpoint.protocol.errors },
          });
        continue;
      }
      const { errors } = endpoint.protocol;
      const plain = { ...call((x, caller) => forward(x, caller, endpoint, null)), errors };
      const paths = [...VERSIONED, '/openai/v1'].map((base) => `${base}/${endpoint.path}`);
      if (endpoint.path === 'rerank') paths.push('/v2/rerank');
      if (ANTHROPIC.has(endpoint.path)) paths.push(`/anthropic/v1/${endpoint.path}`);
      for (const path of paths) this.#set(path, { POST: plain });
      const named = { ...call((x, caller, model) => forward(x, caller, endpoint, model)), errors };
      for (const prefix of ['/openai/deployments/', '/engines/', '/v1/engines/']) {
        this.#pattern(prefix, `/${endpoint.path}`, { POST: named });
      }
    }
    for (const base of [...VERSIONED, '/openai/v1']) {
      this.#set(`${base}/realtime`, {
        GET: call((x, caller) => forwardRealtime(x, caller, () => owner.reloader.active)),
      });
      this.#webSockets.add(`${base}/realtime`);
    }
    // The longest suffix first: `/engines/m/chat/completions` is no completion of the model `m/chat`.
    this.#patterns.sort((a, b) => b.suffix.length - a.suffix.length);
    for (const base of [...VERSIONED, '/openai/v1']) {
      for (const row of [...BY_ID].reverse()) {
        const route = call((x, caller, id) => forwardById(x, caller, row, id));
        this.#pattern(`${base}/responses/`, row.suffix, { [row.method]: route });
      }
    }
  }

  #listings(): void {
    for (const base of VERSIONED) {
      this.#get(`${base}/models`, listing(listModels));
      this.#pattern(`${base}/models/`, '', readable(listing(oneModel)));
      this.#get(`${base}/model/info`, listing(modelInfo));
    }
    for (const base of MODEL_IN_PATH.filter((one) => !VERSIONED.includes(one))) {
      this.#get(`${base}/models`, listing(listGeminiModels));
      this.#pattern(`${base}/models/`, '', readable(listing(oneGeminiModel)));
    }
    this.#get('/model_group/info', listing(modelGroupInfo));
    this.#get('/v2/model/info', listing(modelInfoPage));
    this.#set('/utils/token_counter', { POST: listing(tokenCounter) });
  }

  /** What administrators change, models, the configuration and recordings, each attempt with an audit line. */
  #changes(owner: RouteOwner): void {
    this.#set('/model/new', {
      POST: audited('model_new', (x, attempt) => newModel(x, owner.reloader, attempt)),
    });
    this.#set('/model/update', {
      POST: audited('model_update', (x, attempt) => updateModel(x, owner.reloader, attempt)),
    });
    this.#pattern('/model/', '/update', {
      PATCH: audited('model_update', (x, attempt, id) => patchModel(x, owner.reloader, id, attempt)),
    });
    this.#set('/model/delete', {
      POST: audited('model_delete', (x, attempt) => deleteModel(x, owner.reloader, attempt)),
    });
    this.#set('/config/reload', {
      POST: audited('config_reload', (x, attempt) => reloadConfig(x, owner.reloader, attempt)),
    });
    this.#set('/capsules', {
      ...readable(admin(listCapsules)),
      POST: audited('capsule_order', orderCapsules),
    });
    this.#pattern('/capsules/', '', {
      ...readable(audited('capsule_read', oneCapsule)),
      DELETE: audited('capsule_delete', deleteCapsule),
    });
  }

  /** What monitors and the doctor ask. */
  #probes(owner: RouteOwner): void {
    this.#get('/health', admin(health));
    const probed = (path: string, route: Route): void =>
      this.#set(path, { ...readable(route), OPTIONS: open(probeOptions) });
    for (const path of ['/health/liveness', '/health/liveliness']) probed(path, open(liveness));
    probed(
      '/health/readiness',
      open((x) => readiness(x, owner.reloader, owner.state)),
    );
    this.#get(
      '/health/readiness/details',
      admin((x) => readiness(x, owner.reloader, owner.state)),
    );
    this.#get('/metrics', metricsRoute);
    const doctor = new DoctorRoutes(owner);
    this.#set('/doctor', { GET: admin((x) => doctor.show(x)), POST: admin((x) => doctor.run(x)) });
    this.#set('/doctor/stream', { GET: listing(doctorStream) });
  }

  /** What describes the interface. */
  #pages(): void {
    this.#get('/robots.txt', open(robots));
    this.#get(
      '/routes',
      published((x) => routeList(x, this.rows)),
    );
    const pages = new ApiPages(allRows);
    this.#get(
      '/',
      published((x) => pages.index(x)),
    );
    this.#get(
      '/openapi.json',
      published((x) => pages.document(x)),
    );
    this.#get(
      '/docs',
      published((x) => pages.page(x)),
    );
  }

  #brake(): void {
    this.#get('/conversations/braked', admin(brakedConversations));
    this.#pattern('/conversations/', '/brake', readable(listing(conversationBrake)));
    this.#pattern('/conversations/', '/brake/resume', {
      POST: { ...admin(resumeConversation), denied: resumeDenied },
    });
  }

  #spend(owner: RouteOwner): void {
    this.#get('/spend/logs', admin(spendLogs));
    for (const path of ['/spend/logs/ui', '/spend/logs/v2']) this.#get(path, admin(spendLogsPage));
    this.#get('/spend/logs/session/ui', admin(spendLogsOfSession));
    this.#get('/spend/tags', admin(spendTags));
    this.#get('/spend/keys', admin(spendKeys));
    this.#get('/spend/users', admin(spendUsers));
    this.#set('/spend/calculate', { POST: admin(spendCalculate) });
    this.#get('/spend/report', admin(ownReport));
    this.#get('/spend/budgets', admin(spendBudgets));
    this.#get('/spend/rows', spending(spendRows));
    const live = new LiveRows(owner);
    this.#set('/spend/rows/live', { GET: spending((x, caller) => live.show(x, caller)) });
    this.#get('/spend/sums', spending(spendSums));
    this.#get('/spend/reconciliations', admin(spendReconciliations));
    this.#get('/alerts', admin(listAlerts));
    this.#pattern('/alerts/', '/acknowledge', { POST: audited('alert_acknowledge', acknowledgeAlert) });
    this.#pattern('/alerts/', '/reopen', { POST: audited('alert_reopen', reopenAlert) });
    this.#get('/global/spend/report', admin(globalReport));
    this.#get('/global/spend', admin(globalSpend));
    this.#get('/global/spend/logs', admin(globalLogs));
    this.#get('/global/spend/keys', admin(globalKeys));
    this.#get('/global/spend/models', admin(globalModels));
    this.#get('/user/daily/activity', spending(dailyActivity('user')));
    this.#get('/team/daily/activity', spending(dailyActivity('team')));
    this.#get('/tag/daily/activity', spending(dailyActivity('tag')));
    this.#pattern('/spend/logs/ui/', '', readable(admin((x, _, id) => spendLog(x, id))));
  }

  #get(path: string, route: Route): void {
    this.#set(path, readable(route));
  }

  /** Several methods may have one path; a path that ends in a slash is one of all below it, too. */
  #console(rows: readonly ConsoleRow[]): void {
    for (const [path, own] of Map.groupBy(rows, (row) => row.path)) {
      const methods = Object.assign(
        {},
        ...own.map(({ method, handle, access }) => {
          const route: Route = { handle, access, port: 'admin' };
          return method === 'GET' ? readable(route) : { [method]: route };
        }),
      ) as Methods;
      this.#set(path, methods);
      if (path.endsWith('/')) this.#pattern(path, '', methods);
    }
  }

  #managed(row: CallRow): void {
    const route = managed(row, this.#exclusive);
    const methods: Methods = row.method === 'GET' ? readable(route) : { [row.method]: route };
    const [prefix, suffix] = row.path.split(/\{\w+\}/);
    if (suffix === undefined) this.#set(row.path, methods);
    else this.#pattern(prefix ?? '', suffix, methods);
  }

  /** A path that has rows already takes further methods. */
  #set(path: string, methods: Methods): void {
    const served = this.#served(methods);
    if (served !== null) this.#exact.set(path, { ...this.#exact.get(path), ...served });
  }

  #pattern(prefix: string, suffix: string, methods: Methods): void {
    const served = this.#served(methods);
    if (served !== null) this.#patterns.push({ prefix, suffix, methods: served });
  }

  /** The methods that are served on this port; null = none. */
  #served(methods: Methods): Methods | null {
    const role = this.#role;
    const kept = Object.entries(methods).filter(([, { port, access }]) =>
      role === 'health' ? access === 'open' : role === 'all' || port === 'both' || port === role,
    );
    return kept.length === 0 ? null : Object.fromEntries(kept);
  }
}

/** Every row there is, as if one port served all: for the description of the API, which needs no running proxy. */
export function allRows(): readonly RouteRow[] {
  const unserved = (): never => {
    throw new Error('this table serves no requests');
  };
  const owner: RouteOwner = {
    hasSessions: false,
    consoleFolder: null,
    get reloader() {
      return unserved();
    },
    get state() {
      return unserved();
    },
  };
  return new RouteTable(owner, null).rows;
}

const ELSEWHERE: Readonly<Record<PortRole, string>> = {
  all: 'on this proxy.',
  main: 'on this port. Metrics, spend and administration have a port of their own (general_settings.admin_port).',
  health: 'on this port, which answers probes alone (SEPARATE_HEALTH_PORT).',
  admin: 'on this port, which serves metrics and administration. LLM calls go to the port of the proxy.',
};

function decoded(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch (cause) {
    throw new Fault('route_not_found', 'A name in the path is not valid percent-encoding.', { cause });
  }
}
