// Where the proxy listens: the default address, addresses it must refuse, and the messages for a failed bind. Binds
// nothing itself.
import { isIP } from 'node:net';
import { errorCode } from '../../config/error-code.ts';
import type { Environment } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { asError } from '../base/as-error.ts';
import { CannotStart } from '../errors/cannot-start.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The flags or keys that set an address, for messages. */
export interface AddressNames {
  readonly host: string;
  readonly port: string;
}

export const FLAG_NAMES: AddressNames = { host: '--host', port: '--port' };
export const KEY_NAMES: AddressNames = { host: 'platform.host', port: 'platform.port' };
export const HEALTH_NAMES: AddressNames = { host: '--host', port: 'SEPARATE_HEALTH_PORT' };
export const ADMIN_NAMES: AddressNames = {
  host: 'general_settings.admin_host',
  port: 'general_settings.admin_port',
};

/** `127.example.com` is a host name, not a loopback address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

/** Without a master key the default is loopback, unless the operator allows other hosts. @throws CannotStart */
export function hostFor(snapshot: Snapshot, wanted: string | undefined): string {
  const guarded = snapshot.masterKey !== null || snapshot.allowUnauthenticated;
  if (wanted === undefined) return guarded ? '0.0.0.0' : '127.0.0.1';
  if (guarded || isLoopback(wanted)) return wanted;
  throw new CannotStart(
    `no master key is configured, so ${wanted} would be open to everybody - set general_settings.master_key ` +
      `(or PROXY_MASTER_KEY), or general_settings.allow_unauthenticated: true, or --host 127.0.0.1`,
  );
}

/** The separate address of `/api`; null = served on the proxy's port. @param own the proxy's address @throws CannotStart */
export function platformAddressOf({ platform }: Snapshot, own: Address): Address | null {
  if (platform === null || platform.port === null) return null;
  if (platform.port === own.port && own.port !== 0)
    throw new CannotStart(
      `platform.port is ${own.port}, the port of the proxy itself - choose another one, or leave it out to have ` +
        `/api served there`,
    );
  return { host: platform.host ?? own.host, port: platform.port };
}

/** The separate address of metrics and administration; null = the proxy's port. @throws CannotStart */
export function adminAddressOf(snapshot: Snapshot, own: Address): Address | null {
  const { admin, platform } = snapshot;
  if (admin === null) return null;
  const taken = admin.port !== 0 && (admin.port === own.port || admin.port === platform?.port);
  if (taken)
    throw new CannotStart(
      `general_settings.admin_port is ${admin.port}, the port of ` +
        `${admin.port === own.port ? 'the proxy itself' : 'the platform interface'} - choose another one, or leave ` +
        `it out to have metrics and administration served on the port of the proxy`,
    );
  return { host: admin.host === null ? own.host : hostFor(snapshot, admin.host), port: admin.port };
}

const HEALTH_PORT = '4001';

/**
 * The further address of probes, as LiteLLM has it: `SEPARATE_HEALTH_APP=1`, `SEPARATE_HEALTH_PORT`. They stay on the port of the
 * proxy as well. @param others what else this proxy listens on @throws CannotStart
 */
export function healthAddressOf(
  env: Environment,
  own: Address,
  others: readonly (Address | null)[],
): Address | null {
  if (env['SEPARATE_HEALTH_APP'] !== '1') return null;
  const text = env['SEPARATE_HEALTH_PORT'] || HEALTH_PORT;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(port <= 65_535))
    throw new CannotStart(`SEPARATE_HEALTH_PORT ${text} is not a port - give a whole number from 0 to 65535`);
  if (port !== 0 && [own, ...others].some((one) => one?.port === port))
    throw new CannotStart(
      `SEPARATE_HEALTH_PORT is ${port}, which this proxy uses for something else - choose another one, or unset SEPARATE_HEALTH_APP: ` +
        'probes are answered on the port of the proxy, too',
    );
  return { host: own.host, port };
}

/** Where what listens on all addresses is reached on this machine; `::` may be IPv6 alone. */
const REACHED_AT: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `scheme://host:port` with a host that clients can connect to. */
export function urlOf({ host, port }: Address, scheme: 'http' | 'https' = 'http'): string {
  const shown = REACHED_AT[host] ?? host;
  return `${scheme}://${isIP(shown) === 6 ? `[${shown}]` : shown}:${port}`;
}

/** The same; null for none. */
export const urlOrNull = (address: Address | null, scheme: 'http' | 'https'): string | null =>
  address === null ? null : urlOf(address, scheme);

/** What a URL of this machine hides: that other machines get there as well. null = it hides nothing. */
export function onAllAddresses({ host, port }: Address): string | null {
  if (REACHED_AT[host] === undefined) return null;
  return `it listens on ${isIP(host) === 6 ? `[${host}]` : host}:${port}: on every address of this machine`;
}

/** Why an address could not be bound, and how to fix it. */
export function listenProblem(error: unknown, { host, port }: Address, names: AddressNames): string {
  const code = errorCode(error);
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is in use - stop what listens there, or use ${names.port}`;
  if (code === 'EACCES')
    return `port ${port} needs privileges that this process lacks - use ${names.port} above 1023`;
  if (code === 'EAFNOSUPPORT' || (code === 'EADDRNOTAVAIL' && isIP(host) === 6))
    return `this machine has no address ${host}, or no IPv6 - use ${names.host} 0.0.0.0`;
  if (code === 'EADDRNOTAVAIL')
    return `${host} is no address of this machine - use ${names.host} with one that is, or 0.0.0.0 for all`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `the name ${host} leads to no address - use ${names.host} with an address, or 0.0.0.0 for all`;
  return `cannot listen on ${host}:${port} (${code ?? asError(error).message}) - check ${names.host} and ${names.port}`;
}
