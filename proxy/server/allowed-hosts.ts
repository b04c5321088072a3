// Which Host headers and which web pages may address the proxy. A page that is open on the same machine reaches ports
// that nobody else does: by a name of its own that it points at 127.0.0.1 (DNS rebinding), or by requests for which
// browsers ask no permission (fetch.spec.whatwg.org, "CORS-safelisted").
import { isIP } from 'node:net';
import { isLoopback } from './addresses.ts';

/** The address that a port listens on. */
export interface BoundAddress {
  readonly host: string;
  readonly isLoopback: boolean;
}

export const boundTo = (host: string): BoundAddress => ({
  host: host.toLowerCase(),
  isLoopback: isLoopback(host),
});

/** A name or an address, with a port or without (RFC 9110 section 7.2). */
const HOST = /^(\[[0-9a-f:.]+\]|[0-9a-z_-][0-9a-z._-]*)(?::\d{0,5})?$/i;
/** 0.0.0.0 too: the documentation of LiteLLM writes it into base URLs. */
const THIS_MACHINE = /^(?:localhost\.?|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])$/i;
/** How containers call the machine they run on; `.internal` is no domain that anybody can register. */
const FROM_CONTAINERS: ReadonlySet<string> = new Set(['host.docker.internal', 'host.containers.internal']);

/** The name in a Host header, in lower case and without the port; null = it is not a host. */
export function hostName(header: string): string | null {
  return HOST.exec(header)?.[1]?.toLowerCase() ?? null;
}

/**
 * Whether the name of a Host header is one of the proxy's.
 * @param allowed names that the operator lists; null = none are listed
 */
export function isAllowedHost(name: string, bound: BoundAddress, allowed: readonly string[] | null): boolean {
  if (!bound.isLoopback && allowed === null) return true;
  if (THIS_MACHINE.test(name) || FROM_CONTAINERS.has(name) || name === bound.host) return true;
  // Rebinding needs a name; health checks of orchestrators come by address.
  if (!bound.isLoopback && isIP(name.replaceAll(/[[\]]/g, '')) !== 0) return true;
  return allowed?.some((one) => one === '*' || one === name || isBelow(name, one)) === true;
}

const isBelow = (name: string, pattern: string): boolean =>
  pattern.startsWith('*.') && name.endsWith(pattern.slice(1));

/** What browsers send across origins without asking first. */
const ASKED_FOR_NOTHING: ReadonlySet<string> = new Set([
  '',
  'text/plain',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
]);

/** @param contentType null = none */
export function needsNoPreflight(contentType: string | null): boolean {
  return ASKED_FOR_NOTHING.has(contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '');
}

/**
 * Whether a web page of another origin sent a request.
 * @param origin the Origin header
 * @param site the Sec-Fetch-Site header
 * @param host the Host header
 */
export function isCrossOrigin(origin: string | null, site: string | null, host: string): boolean {
  if (site !== null) return site !== 'same-origin' && site !== 'none'; // a page cannot set it
  if (origin === null) return false;
  // TLS may end in front of the proxy, so the schemes need not agree.
  const authority = /^https?:\/\/([^/]*)$/i.exec(origin)?.[1];
  return authority === undefined || withoutDefaultPort(authority) !== withoutDefaultPort(host);
}

const withoutDefaultPort = (authority: string): string =>
  authority.toLowerCase().replace(/:(?:80|443)?$/, '');
