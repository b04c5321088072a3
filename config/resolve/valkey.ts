// `router_settings.redis_*`, else `litellm_settings.cache_params`, else their environment variables -> where servers count
// together. Messages never show a URL, because it contains a password.
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import type { Environment } from '../environment.ts';
import { Secret } from '../secret.ts';
import type { ValkeySettings } from '../valkey-settings.ts';
import type { Path } from '../tree.ts';

type Text = string | number | boolean | undefined;

/** As one place of the configuration states it. */
interface Written {
  readonly url?: Text;
  readonly host?: Text;
  readonly port?: Text;
  readonly username?: Text;
  readonly password?: Text;
  readonly ssl?: Text;
  readonly db?: Text;
}

/** null = nothing is shared. The environment fills in what a place leaves out; alone it configures nothing, as in LiteLLM. */
export function valkeyOf(
  { router_settings: router, litellm_settings: litellm, general_settings: general }: GatewayFile,
  env: Environment,
  diagnostics: Diagnostics,
): ValkeySettings | null {
  const cache = litellm.cache_params;
  const ofRouter: Written = {
    url: router.redis_url,
    host: router.redis_host,
    port: router.redis_port,
    password: router.redis_password,
    db: router.redis_db,
  };
  const usesCache = cache !== undefined && (cache.type ?? 'redis') === 'redis';
  const isInRouter = router.redis_url !== undefined || router.redis_host !== undefined;
  if (!isInRouter && !usesCache) return null;
  const written: Written = isInRouter ? ofRouter : { ...cache };
  const path = isInRouter ? ['router_settings'] : ['litellm_settings', 'cache_params'];
  const where = placeOf(written, env, [...path, isInRouter ? 'redis_url' : 'url'], diagnostics);
  if (where === null) return null;
  return {
    ...where,
    namespace: cache?.namespace ?? 'default',
    failClosed: {
      limits: general.fail_closed_rate_limit_enforcement,
      budgets: general.fail_closed_budget_enforcement,
    },
  };
}

function placeOf(
  written: Written,
  env: Environment,
  urlPath: Path,
  diagnostics: Diagnostics,
): Omit<ValkeySettings, 'namespace' | 'failClosed'> | null {
  const of = (name: keyof Written, variable: string): string =>
    String(written[name] ?? '').trim() || (env[variable] ?? '').trim();
  const text = String(written.url ?? '').trim() || (written.host === undefined ? of('url', 'REDIS_URL') : '');
  if (text !== '') return ofUrl(text, urlPath, diagnostics);
  const host = of('host', 'REDIS_HOST');
  if (host === '') return null;
  const port = Number(of('port', 'REDIS_PORT') || 6379);
  const database = Number(of('db', 'REDIS_DB') || 0);
  const tls = /^true$/i.test(of('ssl', 'REDIS_SSL'));
  if (!isPort(port) || !Number.isInteger(database)) {
    diagnostics.error(
      urlPath.slice(0, -1),
      'REDIS_PORT or REDIS_DB is not a number',
      'write REDIS_PORT=6379',
    );
    return null;
  }
  return settings(
    host,
    port,
    database,
    tls,
    of('username', 'REDIS_USERNAME'),
    of('password', 'REDIS_PASSWORD'),
  );
}

function ofUrl(
  text: string,
  path: Path,
  diagnostics: Diagnostics,
): Omit<ValkeySettings, 'namespace' | 'failClosed'> | null {
  const wrong = (message: string): null => {
    diagnostics.error(path, message, 'for example redis://name:password@redis.example.com:6379/0');
    return null;
  };
  const url = URL.parse(text);
  if (url === null || !/^(?:redis|valkey)s?:$/.test(url.protocol) || url.hostname === '')
    return wrong('is not the URL of a Valkey or Redis server');
  const database = url.pathname.replace(/^\//, '');
  if (!/^\d{0,5}$/.test(database)) return wrong('names a database that is not a number');
  const port = url.port === '' ? 6379 : Number(url.port);
  const tls = url.protocol.endsWith('s:');
  try {
    const [name, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    return settings(url.hostname.replace(/^\[(.*)\]$/, '$1'), port, Number(database), tls, name, password);
  } catch {
    return wrong('has a broken percent escape');
  }
}

function settings(
  host: string,
  port: number,
  database: number,
  tls: boolean,
  username: string,
  password: string,
): Omit<ValkeySettings, 'namespace' | 'failClosed'> {
  return {
    host,
    port,
    tls,
    username: username === '' ? null : username,
    password: password === '' ? null : new Secret(password),
    database,
    shown: `${tls ? 'rediss' : 'redis'}://${host}:${port}/${database}`,
  };
}

const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 65_536;
