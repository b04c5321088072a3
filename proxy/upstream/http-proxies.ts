// Which upstreams are reached through an HTTP proxy: HTTP_PROXY, HTTPS_PROXY and NO_PROXY as curl and most programs read
// them. Pure.

/** `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`; undefined members are not set. */
export interface ProxyEnvironment {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** A proxy on the way. */
export interface HttpProxy {
  readonly host: string;
  readonly port: number;
  /** The line `proxy-authorization: ...` with its end, or ''. Holds a credential. */
  readonly authorization: string;
}

/** The proxy for an origin (`https://host:port`); null = straight. @throws TypeError for a variable that is no URL */
export function proxyFor(
  origin: string,
  { httpProxy, httpsProxy, noProxy }: ProxyEnvironment,
): HttpProxy | null {
  const { protocol, hostname, port } = new URL(origin);
  const secure = protocol === 'https:';
  const named = secure ? httpsProxy : httpProxy;
  if (named === undefined || named === '') return null;
  if (isExcepted(hostname, port === '' ? (secure ? '443' : '80') : port, noProxy ?? '')) return null;
  return parseProxy(named, secure ? 'HTTPS_PROXY' : 'HTTP_PROXY');
}

function parseProxy(text: string, variable: string): HttpProxy {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || url.protocol !== 'http:') {
    throw new TypeError(`${variable} must be the URL of an HTTP proxy, such as http://proxy:3128`); // never its value
  }
  const credential = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: unbracketed(url.hostname),
    port: url.port === '' ? 80 : Number(url.port),
    authorization:
      url.username === ''
        ? ''
        : `proxy-authorization: Basic ${Buffer.from(credential).toString('base64')}\r\n`,
  };
}

/** `*`, a host, `.domain` or `*.domain` (subdomains), `domain` (itself and its subdomains), each with an optional port. */
function isExcepted(host: string, port: string, noProxy: string): boolean {
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (only !== undefined && only !== port) return false;
      const bare = name.replace(/^\*?\./, '');
      return (host === bare && name === bare) || host.endsWith(`.${bare}`);
    });
}

/** `[::1]` -> `::1`. */
export function unbracketed(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}
