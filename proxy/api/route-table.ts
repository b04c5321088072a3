// Method + path -> handler. Fixed paths are compared byte for byte, never decoded; only a model name or an id in a
// path is (OpenAI clients send `anthropic%2Fclaude`). Every LLM path is also there without `/v1` and tolerates the
// bases that people configure: `//v1` and `/v1/v1`.
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { scopeOf } from '../access/callers.ts';
import { Fault, toFault } from '../errors/fault.ts';
import type { Caller } from '../pipeline/authenticate.ts';
import { BY_ID, ENDPOINTS } from '../protocols/table.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { forwardById } from '../pipeline/forward-by-id.ts';
import { forward } from '../pipeline/forward.ts';
import { health, liveness, metrics, readiness, type ServerState } from './health.ts';
import { AdminAttempt, type AdminAction } from './audit.ts';
import { deleteModel, newModel, updateModel } from './model-admin.ts';
import { listModels, modelInfo, oneModel } from './models.ts';
import { dailyActivity } from './daily-activity.ts';
import { spendLog, spendLogs, spendLogsOfSession, spendLogsPage } from './spend.ts';
import { spendCalculate } from './spend-calculate.ts';
import { globalReport, ownReport, spendKeys, spendTags, spendUsers } from './spend-sums.ts';
import type { Mount } from '../base/mount.ts';
import { handleByMount } from './mounted.ts';

type Handler = (x: Exchange, caller: Caller, param: string) => void | Promise<void>;

interface Route {
  readonly handle: Handler;
  /** Whether no key is required. */
  readonly open: boolean;
  /** Told of a fault that ended the call before it reached `handle`. */
  readonly denied?: (x: Exchange, fault: Fault) => void;
}

/** A route that was found, with the decoded name or id of its path ('' when it has none). */
export interface FoundRoute {
  readonly route: Route;
  readonly param: string;
}

type Methods = Readonly<Record<string, Route>>;

interface Pattern {
  readonly prefix: string;
  readonly suffix: string;
  readonly methods: Methods;
}

const VERSIONED = ['', '/v1', '//v1', '/v1/v1'];
/** For the master key alone. */
const keyed = (handle: Handler): Route => ({
  handle: (x, caller, param) => {
    if (caller.identity === undefined) return handle(x, caller, param);
    throw new Fault('invalid_api_key', 'This key makes LLM calls only; use the master key of this proxy.');
  },
  open: false,
});
/** A change by an administrator; each attempt leaves its audit line. */
const audited = (
  action: AdminAction,
  change: (x: Exchange, attempt: AdminAttempt) => Promise<void>,
): Route => ({
  open: false,
  handle: async (x, caller, param) => {
    const attempt = new AdminAttempt(x, action, caller.keyHash);
    try {
      await keyed(() => change(x, attempt)).handle(x, caller, param);
    } catch (thrown) {
      attempt.refused(toFault(thrown));
      throw thrown;
    }
  },
  denied: (x, fault) => new AdminAttempt(x, action, null).refused(fault),
});
/** Also for issued keys, which stand for a session. */
const callable = (handle: Handler): Route => ({ handle, open: false });
const open = (handle: Handler): Route => ({ handle, open: true });

/** What one port serves. */
export interface Routes {
  /** @throws Fault route_not_found, method_not_allowed. */
  find(method: string, path: string): FoundRoute;
}

/** The paths of a mounted extension, and nothing else. */
export class MountRoutes implements Routes {
  readonly #prefix: string;
  readonly #found: FoundRoute;

  constructor(mount: Mount) {
    this.#prefix = mount.prefix;
    this.#found = { route: open((x) => handleByMount(x, mount)), param: '' };
  }

  find(_method: string, path: string): FoundRoute {
    if (this.holds(path)) return this.#found;
    throw new Fault('route_not_found', `There is no route ${path.slice(0, 200)} on this port.`);
  }

  holds(path: string): boolean {
    return path.startsWith(this.#prefix);
  }
}

/** All routes of one server. */
export class RouteTable implements Routes {
  readonly #exact = new Map<string, Methods>();
  readonly #patterns: Pattern[] = [];
  readonly #mount: MountRoutes | null;
  /** Whether there are base paths of sessions. */
  readonly #scoped: boolean;

  /** @param mount served on the same port; null = none, or on a port of its own */
  constructor(reloader: ConfigReloader, state: ServerState, mount: MountRoutes | null) {
    this.#mount = mount;
    this.#scoped = reloader.active.services.callers !== null;
    for (const endpoint of ENDPOINTS) {
      const call = callable((x, caller) => forward(x, caller, endpoint, null));
      for (const base of [...VERSIONED, '/openai/v1'])
        this.#exact.set(`${base}/${endpoint.path}`, { POST: call });
      const named = callable((x, caller, model) => forward(x, caller, endpoint, model));
      for (const prefix of ['/openai/deployments/', '/engines/', '/v1/engines/']) {
        this.#patterns.push({ prefix, suffix: `/${endpoint.path}`, methods: { POST: named } });
      }
    }
    this.#exact.set('/v2/rerank', this.#exact.get('/rerank') as Methods);
    // The longest suffix first: `/engines/m/chat/completions` is no completion of the model `m/chat`.
    this.#patterns.sort((a, b) => b.suffix.length - a.suffix.length);
    for (const base of [...VERSIONED, '/openai/v1']) {
      for (const row of [...BY_ID].reverse()) {
        const route = callable((x, caller, id) => forwardById(x, caller, row, id));
        this.#pattern(`${base}/responses/`, row.suffix, { [row.method]: route });
      }
    }
    for (const base of VERSIONED) {
      this.#get(`${base}/models`, callable(listModels));
      this.#pattern(`${base}/models/`, '', readable(callable((x, _, id) => oneModel(x, id))));
      this.#get(`${base}/model/info`, callable(modelInfo));
    }
    this.#exact.set('/model/new', {
      POST: audited('model_new', (x, attempt) => newModel(x, reloader, attempt)),
    });
    this.#exact.set('/model/update', {
      POST: audited('model_update', (x, attempt) => updateModel(x, reloader, attempt)),
    });
    this.#exact.set('/model/delete', {
      POST: audited('model_delete', (x, attempt) => deleteModel(x, reloader, attempt)),
    });
    this.#get('/health', keyed(health));
    for (const path of ['/health/liveness', '/health/liveliness']) this.#get(path, open(liveness));
    this.#get(
      '/health/readiness',
      open((x) => readiness(x, reloader, state)),
    );
    this.#get('/metrics', open(metrics));
    this.#get('/spend/logs', keyed(spendLogs));
    for (const path of ['/spend/logs/ui', '/spend/logs/v2']) this.#get(path, keyed(spendLogsPage));
    this.#get('/spend/logs/session/ui', keyed(spendLogsOfSession));
    this.#get('/spend/tags', keyed(spendTags));
    this.#get('/spend/keys', keyed(spendKeys));
    this.#get('/spend/users', keyed(spendUsers));
    this.#exact.set('/spend/calculate', { POST: keyed(spendCalculate) });
    this.#get('/spend/report', keyed(ownReport));
    this.#get('/global/spend/report', keyed(globalReport));
    this.#get('/user/daily/activity', keyed(dailyActivity('user')));
    this.#get('/team/daily/activity', keyed(dailyActivity('team')));
    this.#get('/tag/daily/activity', keyed(dailyActivity('tag')));
    this.#pattern('/spend/logs/ui/', '', readable(keyed((x, _, id) => spendLog(x, id))));
  }

  find(method: string, path: string): FoundRoute {
    if (this.#mount?.holds(path) === true) return this.#mount.find(method, path);
    if (this.#scoped) path = scopeOf(path)?.rest ?? path;
    const exact = this.#exact.get(path);
    if (exact !== undefined) return { route: choose(exact, method), param: '' };
    let allowed: string[] = [];
    for (const { prefix, suffix, methods } of this.#patterns) {
      if (!path.startsWith(prefix) || !path.endsWith(suffix)) continue;
      const raw = path.slice(prefix.length, path.length - suffix.length);
      if (raw === '' || path.length < prefix.length + suffix.length) continue;
      const route = methods[method];
      if (route !== undefined) return { route, param: decoded(raw) };
      allowed = [...allowed, ...Object.keys(methods)];
    }
    if (allowed.length > 0) throw notAllowed(method, [...new Set(allowed)]);
    throw new Fault('route_not_found', `There is no route ${path.slice(0, 200)} on this proxy.`);
  }

  #get(path: string, route: Route): void {
    this.#exact.set(path, readable(route));
  }

  #pattern(prefix: string, suffix: string, methods: Methods): void {
    this.#patterns.push({ prefix, suffix, methods });
  }
}

const readable = (route: Route): Methods => ({ GET: route, HEAD: route });

function choose(methods: Methods, method: string): Route {
  const route = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (route === undefined) throw notAllowed(method, Object.keys(methods));
  return route;
}

function notAllowed(method: string, allowed: readonly string[]): Fault {
  const allow = allowed.join(', ');
  return new Fault('method_not_allowed', `${method} is not a method of this route; it takes ${allow}.`, {
    headers: [['allow', allow]],
  });
}

function decoded(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch (cause) {
    throw new Fault('route_not_found', 'A name in the path is not valid percent-encoding.', { cause });
  }
}
