// `router_settings.redis_*`, else `litellm_settings.cache_params`, else their environment variables -> where servers count
// together. Messages never show a URL, because it contains a password.
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import type { Environment } from '../environment.ts';
import { Secret } from '../secret.ts';
import type { ValkeySentinels, ValkeySettings, ValkeyTls } from '../valkey-settings.ts';
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
  readonly ca?: Text;
  readonly cert?: Text;
  readonly key?: Text;
}

type Found = Omit<ValkeySettings, 'namespace' | 'failClosed'>;

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
    ssl: router.redis_ssl,
    ca: router.redis_ssl_ca_certs,
  };
  const usesCache = cache !== undefined && (cache.type ?? 'redis') === 'redis';
  const isInRouter = router.redis_url !== undefined || router.redis_host !== undefined;
  if (!isInRouter && !usesCache) return null;
  const ofCache: Written = {
    ...cache,
    ca: cache?.ssl_ca_certs,
    cert: cache?.ssl_certfile,
    key: cache?.ssl_keyfile,
  };
  const path = isInRouter ? ['router_settings'] : ['litellm_settings', 'cache_params'];
  if (!isInRouter && cache !== undefined && isCluster(cache, env)) {
    const message = 'names a cluster, which is not supported: all counters stand in one slot of it anyway';
    diagnostics.error(
      path,
      message,
      'name one server (host, port), or Sentinels (sentinel_nodes, service_name)',
    );
    return null;
  }
  if (!isInRouter && cache !== undefined) warnUnchecked(cache, env, diagnostics);
  const sentinels = isInRouter ? null : sentinelsOf(cache ?? {}, env, diagnostics);
  if (sentinels === 'wrong') return null;
  const written: Written = isInRouter ? ofRouter : ofCache;
  const where = placeOf(written, sentinels, env, [...path, isInRouter ? 'redis_url' : 'url'], diagnostics);
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
  sentinels: ValkeySentinels | null,
  env: Environment,
  urlPath: Path,
  diagnostics: Diagnostics,
): Found | null {
  const of = (name: keyof Written, variable: string): string =>
    String(written[name] ?? '').trim() || (env[variable] ?? '').trim();
  const files: ValkeyTls = {
    caFile: of('ca', 'REDIS_SSL_CA_CERTS') || null,
    certFile: of('cert', 'REDIS_SSL_CERTFILE') || null,
    keyFile: of('key', 'REDIS_SSL_KEYFILE') || null,
  };
  const own = String(written.url ?? '').trim();
  const text = own || (written.host === undefined && sentinels === null ? of('url', 'REDIS_URL') : '');
  if (text !== '' && sentinels === null) return ofUrl(text, files, urlPath, diagnostics);
  const host = sentinels === null ? of('host', 'REDIS_HOST') : sentinels.service;
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
  const found = settings(
    host,
    port,
    database,
    tls ? files : null,
    of('username', 'REDIS_USERNAME'),
    of('password', 'REDIS_PASSWORD'),
  );
  if (sentinels === null) return found;
  const nodes = sentinels.nodes.map((node) => `${node.host}:${node.port}`).join(', ');
  return { ...found, sentinels, shown: `${sentinels.service} of the Sentinels ${nodes}` };
}

function ofUrl(text: string, files: ValkeyTls, path: Path, diagnostics: Diagnostics): Found | null {
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
  const tls = url.protocol === 'rediss:' || url.protocol === 'valkeys:' ? files : null;
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
  tls: ValkeyTls | null,
  username: string,
  password: string,
): Found {
  return {
    host,
    port,
    tls,
    sentinels: null,
    username: username === '' ? null : username,
    password: password === '' ? null : new Secret(password),
    database,
    shown: `${tls === null ? 'redis' : 'rediss'}://${host}:${port}/${database}`,
  };
}

const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 65_536;

type Cache = NonNullable<GatewayFile['litellm_settings']['cache_params']>;

const isCluster = (cache: Cache, env: Environment): boolean =>
  (Array.isArray(cache['redis_startup_nodes']) && cache['redis_startup_nodes'].length > 0) ||
  (env['REDIS_CLUSTER_NODES'] ?? '').trim() !== '';

/** The dialect passes these to a client that then believes any certificate; here certificates are checked in any case. */
function warnUnchecked(cache: Cache, env: Environment, diagnostics: Diagnostics): void {
  const asked = (name: string, variable: string, safe: string): boolean => {
    const value = cache[name] ?? env[variable] ?? safe;
    return JSON.stringify(value).replaceAll('"', '').toLowerCase() === safe;
  };
  const isChecked = asked('ssl_cert_reqs', 'REDIS_SSL_CERT_REQS', 'required');
  if (isChecked && asked('ssl_check_hostname', 'REDIS_SSL_CHECK_HOSTNAME', 'true')) return;
  diagnostics.warn(
    ['litellm_settings', 'cache_params'],
    'asks to leave the certificate of the server unchecked, which has no effect',
    'name the authority of the certificate in ssl_ca_certs',
  );
}

/** null = there are none. The environment fills in what the file leaves out; both are needed, as in LiteLLM. */
function sentinelsOf(
  cache: Cache,
  env: Environment,
  diagnostics: Diagnostics,
): ValkeySentinels | 'wrong' | null {
  const path = ['litellm_settings', 'cache_params'];
  const listed: unknown = cache.sentinel_nodes ?? parsed(env['REDIS_SENTINEL_NODES'] ?? '');
  const service = (cache.service_name ?? '').trim() || (env['REDIS_SERVICE_NAME'] ?? '').trim();
  if (listed === null && cache.service_name === undefined) return null;
  const nodes = (Array.isArray(listed) ? listed : []).map((one: unknown) => {
    const [host, port] = Array.isArray(one) ? one : [];
    return { host: String(host ?? '').trim(), port: Number(port) };
  });
  const isSound = nodes.length > 0 && nodes.every(({ host, port }) => host !== '' && isPort(port));
  if (!isSound || service === '') {
    const message = 'Sentinels need sentinel_nodes (a list of [host, port]) and service_name';
    diagnostics.error(
      path,
      message,
      'for example sentinel_nodes: [[sentinel-0, 26379]], service_name: mymaster',
    );
    return 'wrong';
  }
  const password = (cache.sentinel_password ?? '').trim() || (env['REDIS_SENTINEL_PASSWORD'] ?? '').trim();
  return { service, nodes, password: password === '' ? null : new Secret(password) };
}

/** null = nothing is written. */
function parsed(json: string): unknown {
  if (json.trim() === '') return null;
  try {
    return JSON.parse(json);
  } catch {
    return 'no JSON';
  }
}
