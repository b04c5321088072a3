// `database_url` -> where and how to connect. Every mistake gets a message with the right spelling. Messages never show
// the URL, because it contains a password. Reads no file; certificates are read when a connection is opened.
import type { Diagnostics } from '../diagnostics.ts';
import { nearest } from '../nearest.ts';
import type { Environment } from '../environment.ts';
import { Secret } from '../secret.ts';
import type { DatabaseSettings, TlsMode } from '../database-settings.ts';

const EXAMPLE = 'for example postgresql://name:password@db.example.com:5432/throughline?sslmode=verify-full';
const TLS_MODES: readonly TlsMode[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
const ACTED_ON = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'schema',
  'host',
  'connect_timeout',
  'options',
];
/** Parameters of other PostgreSQL clients; accepted, without effect here. */
const WITHOUT_EFFECT = [
  'application_name',
  'channel_binding',
  'connection_limit',
  'pgbouncer',
  'pool_timeout',
  'socket_timeout',
  'sslaccept',
  'statement_cache_size',
  'target_session_attrs',
];
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;
const PATH = ['general_settings', 'database_url'];
const PARTS = ['DATABASE_HOST', 'DATABASE_USERNAME', 'DATABASE_NAME', 'DATABASE_PASSWORD'];

/** The file's database, else the environment's; null = the embedded store. */
export function databaseOf(
  written: string | undefined,
  env: Environment,
  diagnostics: Diagnostics,
): DatabaseSettings | null {
  const [text, what] = written === undefined ? urlIn(env) : [written, 'the URL'];
  if (text === '') return null;
  const wrong = (message: string, fix: string): null => {
    diagnostics.error(PATH, `${what} ${message}`, fix);
    return null;
  };
  // `name@/database?host=/socket/folder`, as libpq takes it, has no host where a URL must have one.
  const url = URL.parse(text.trim().replace(/^(\w+:\/\/[^/?#]*@)(?=\/)/, '$1localhost'));
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol)) {
    return wrong('is not the URL of a PostgreSQL database', EXAMPLE);
  }
  for (const name of url.searchParams.keys()) {
    if (ACTED_ON.includes(name) || WITHOUT_EFFECT.includes(name)) continue;
    const near = nearest(name, ACTED_ON);
    return wrong(
      `has the unknown parameter ${name}`,
      near === null ? `remove it; known are ${ACTED_ON.join(', ')}` : `did you mean ${near}?`,
    );
  }
  const asked = (name: string): string | null => url.searchParams.get(name) || null;
  const database = decoded(url.pathname.slice(1));
  const user = decoded(url.username);
  const password = decoded(url.password);
  const host = asked('host') ?? decoded(url.hostname)?.replace(/^\[(.*)\]$/, '$1') ?? null;
  if (database === null || user === null || password === null || host === null) {
    return wrong('has a broken percent escape', 'write special characters of a password as %XX');
  }
  if (host === '' || database === '') {
    return wrong(`names no ${host === '' ? 'host' : 'database'}`, EXAMPLE);
  }
  if (user === '') return wrong('names no user', EXAMPLE);
  const tls = TLS_MODES.find((mode) => mode === (asked('sslmode') ?? 'prefer'));
  if (tls === undefined) return wrong('has an unknown sslmode', `write one of ${TLS_MODES.join(', ')}`);
  const schema = asked('schema') ?? 'throughline';
  if (!SCHEMA.test(schema)) {
    return wrong('has a schema that is not a plain name', 'use lower-case letters, digits and _');
  }
  const timeout = asked('connect_timeout') ?? '10';
  if (!/^[1-9]\d{0,3}$/.test(timeout)) {
    return wrong('has a connect_timeout that is not a number of seconds', 'write connect_timeout=10');
  }
  const port = url.port === '' ? 5432 : Number(url.port);
  return {
    host,
    port,
    database,
    user,
    password: password === '' ? null : new Secret(password),
    schema,
    options: asked('options'),
    tls,
    caFile: asked('sslrootcert'),
    certFile: asked('sslcert'),
    keyFile: asked('sslkey'),
    connectTimeoutMs: Number(timeout) * 1000,
    shown: `postgresql://${host.startsWith('/') ? host : `${host}:${port}`}/${database}`,
  };
}

/** The URL of the environment, else of the parts that LiteLLM makes one of: its Helm chart states them alone. */
function urlIn(env: Environment): readonly [text: string, what: string] {
  const url = env['DATABASE_URL'] ?? '';
  const [host = '', ...rest] = PARTS.map((name) => env[name] ?? '');
  const [user = '', database = '', password = ''] = rest.map(encodeURIComponent);
  if (url !== '' || host === '' || user === '' || database === '')
    return [url, 'the environment variable DATABASE_URL'];
  const text = `postgresql://${user}${password === '' ? '' : `:${password}`}@${host}/${database}`;
  return [text, `what ${PARTS.join(', ')} say`];
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

const DAY_MS = 86_400_000;
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  mo: 31 * DAY_MS, // the longest month, so that nothing is deleted early
};

/** `30d`, `12mo` in milliseconds. The schema has checked the format. */
export function periodMs(text: string | undefined): number | null {
  const match = /^\s*(\d+)(s|m|h|d|w|mo)\s*$/.exec(text ?? '');
  return match === null ? null : Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? NaN);
}
