// The address of a caller, and lists of addresses. Behind load balancers it stands in X-Forwarded-For, which anybody can
// write: only the entries that proxies of ours have appended are believed.
import { BlockList, isIP } from 'node:net';
import type { AddressRange } from '../../config/access-settings.ts';
import { ownText } from '../../config/own-text.ts';
import { Fault } from '../errors/fault.ts';

/** Addresses and networks. An IPv4 address is the same as its IPv6-mapped form (`::ffff:10.0.0.1`). */
export class AddressList {
  readonly #list = new BlockList();

  constructor(ranges: readonly AddressRange[]) {
    for (const { address, bits, family } of ranges) this.#list.addSubnet(address, bits, family);
  }

  /** @param address null = not known, which is in no list */
  has(address: string | null): boolean {
    const plain = address?.split('%', 1)[0] ?? ''; // without the zone of a link-local address
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }
}

const NAME = 'x-forwarded-for';
/** Some balancers append the port: `10.0.0.1:49152`, `[fd00::1]:49152`. */
const WITH_PORT = /^(?:\[([0-9a-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/i;

/**
 * The peer, or, when that is a trusted proxy, the last address of X-Forwarded-For that is none. null = a trusted proxy
 * forwarded something that is no address.
 */
export function clientAddressOf(
  peer: string | null,
  rawHeaders: readonly string[],
  trusted: AddressList,
): string | null {
  if (!trusted.has(peer)) return peer;
  const hops: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.toLowerCase() === NAME) hops.push(...(rawHeaders[i + 1] ?? '').split(','));
  let address = peer;
  for (const hop of hops.toReversed()) {
    const text = hop.trim();
    if (text === '') continue;
    const [, v6, v4] = WITH_PORT.exec(text) ?? [];
    address = v6 ?? v4 ?? text;
    if (isIP(address) === 0) return null;
    if (!trusted.has(address)) return ownText(address);
  }
  return address === null ? null : ownText(address);
}

/** @param allowed null = every address. @throws Fault address_not_allowed */
export function checkAddress(allowed: AddressList | null, address: string | null): void {
  if (allowed === null || allowed.has(address)) return;
  throw new Fault(
    'address_not_allowed',
    'Access forbidden: this address is not in general_settings.allowed_ips.',
  );
}
