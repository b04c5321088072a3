// Which upstreams are reached through an HTTP proxy. Reads the environment variables as curl does
// (https://everything.curl.dev/usingcurl/proxies/env.html), plus undici's ports and wildcards in NO_PROXY.
// Ours rather than undici's EnvHttpProxyAgent, which reads neither ALL_PROXY nor CIDR blocks. Pure.
import { BlockList, isIP } from 'node:net';
import { unescape } from 'node:querystring';
import { Secret } from '../../config/secret.ts';
import { CannotStart } from '../errors/cannot-start.ts';

/** The HTTP proxies of the environment; noProxy '' = not set. */
export interface ProxySettings {
  readonly http: NamedProxy | null;
  readonly https: NamedProxy | null;
  readonly noProxy: string;
}

/** A proxy's address as written and its variable; the address may contain a credential. */
interface NamedProxy {
  readonly variable: string;
  readonly text: Secret;
}

/** The proxy for a connection. */
export interface HttpProxy {
  /** `http://host:port` or `https://host:port`; without credential. */
  readonly origin: string;
  /** The value of `proxy-authorization`. */
  readonly authorization: Secret | null;
}

export const NO_PROXIES: ProxySettings = { http: null, https: null, noProxy: '' };

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` and their upper-case spellings. Lower case wins, as in curl; an empty
 * variable is one that is not set. `HTTP_PROXY` is read, too: curl leaves it out because in CGI a client can set it, and
 * no client sets our environment.
 */
export function readProxySettings(env: Environment): ProxySettings {
  const named = (...variables: readonly string[]): NamedProxy | null => {
    const variable = variables.find((name) => (env[name] ?? '') !== '');
    return variable === undefined ? null : { variable, text: new Secret(env[variable] ?? '') };
  };
  return {
    http: named('http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'),
    https: named('https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'),
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
  };
}

/** The proxy for an origin (`https://host:port`); null = direct connection. @throws CannotStart for a variable that is no URL of an HTTP proxy */
export function proxyFor(origin: string, { http, https, noProxy }: ProxySettings): HttpProxy | null {
  const { protocol, hostname, port } = new URL(origin);
  const isSecure = protocol === 'https:';
  const named = isSecure ? https : http;
  if (named === null) return null;
  const defaultPort = isSecure ? '443' : '80';
  return bypasses(hostname, port || defaultPort, noProxy) ? null : parseProxy(named);
}

function parseProxy({ variable, text }: NamedProxy): HttpProxy {
  const written = text.reveal();
  const url = URL.parse(written.includes('://') ? written : `http://${written}`);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    // never its value
    throw new CannotStart(
      `${variable} must be the URL of an HTTP proxy, such as http://proxy:3128; to go without one, leave it out or name the hosts in NO_PROXY`,
    );
  }
  const { origin, username, password } = url;
  if (username === '') return { origin, authorization: null };
  const credential = `${unescape(username)}:${unescape(password)}`; // as curl: a lone % stands for itself
  return { origin, authorization: new Secret(`Basic ${Buffer.from(credential).toString('base64')}`) };
}

/**
 * Whether NO_PROXY names this host: `*`, `domain` or `.domain` (itself and its subdomains), `*.domain` (its subdomains
 * alone), an address, a block of them (`10.0.0.0/8`, `fd00::/8`). Each but a block may end in a port; an IPv6 address
 * with one stands in brackets.
 */
function bypasses(hostname: string, port: string, noProxy: string): boolean {
  const host = withoutDot(unbracketed(hostname).toLowerCase());
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== '' && names(entry, host, port));
}

function names(entry: string, host: string, port: string): boolean {
  if (entry.includes('/')) return isWithin(entry, host);
  const [, bracketed, plain, only] = /^(?:\[([^\]]*)\]|([^:]*|[^:]*:[^:]*:.*))(?::(\d+))?$/.exec(entry) ?? [];
  const name = withoutDot(bracketed ?? plain ?? '');
  if (name === '' || (only !== undefined && only !== port)) return false;
  if (name === '*') return true;
  if (isIP(host) !== 0) return isIP(name) !== 0 && isWithin(`${name}/${isIP(name) === 6 ? 128 : 32}`, host);
  const domain = name.replace(/^\*?\./, '');
  return (host === domain && !name.startsWith('*')) || host.endsWith(`.${domain}`);
}

/** @param block `address/bits`, the address with or without brackets. */
function isWithin(block: string, host: string): boolean {
  const [, text = '', bits = ''] = /^\[?([^\]/]*)\]?\/(\d{1,3})$/.exec(block) ?? [];
  const [ipVersion, hostVersion] = [isIP(text), isIP(host)];
  if (ipVersion === 0 || hostVersion === 0 || Number(bits) > (ipVersion === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(text, Number(bits), ipVersion === 6 ? 'ipv6' : 'ipv4');
  return list.check(host, hostVersion === 6 ? 'ipv6' : 'ipv4');
}

/** `[::1]` -> `::1`. */
function unbracketed(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

/** `example.com.` is the fully qualified form of `example.com`. */
function withoutDot(name: string): string {
  return name.length > 1 && name.endsWith('.') ? name.slice(0, -1) : name;
}
