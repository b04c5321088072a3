// Addresses that runtime models may not lead to: link-local ones, and the metadata services of clouds, which give
// credentials to whoever can send them a request. Pure.
import { BlockList, isIP } from 'node:net';

/** Names of metadata services; others are recognised by the address that they resolve to. */
const NAMES: readonly string[] = ['metadata.google.internal', 'metadata.goog'];

const ADDRESSES = blocked();

function blocked(): BlockList {
  const list = new BlockList(); // IPv4 rules hold for IPv4-mapped addresses (::ffff:a.b.c.d) too
  list.addSubnet('169.254.0.0', 16, 'ipv4');
  list.addSubnet('fe80::', 10, 'ipv6');
  list.addAddress('fd00:ec2::254', 'ipv6'); // AWS
  list.addAddress('fd20:ce::254', 'ipv6'); // Google Cloud
  list.addAddress('100.100.100.200', 'ipv4'); // Alibaba Cloud
  list.addAddress('192.0.0.192', 'ipv4'); // Oracle Cloud
  list.addAddress('168.63.129.16', 'ipv4'); // Azure
  // The same IPv4 addresses inside IPv6: compatible (RFC 4291 section 2.5.5.1), translated (RFC 2765), NAT64 (RFC 6052), 6to4 (RFC 3056).
  for (const [hex, bits] of [
    ['a9fe:0', 16],
    ['6464:64c8', 32],
    ['c000:c0', 32],
    ['a83f:8110', 32],
  ] as const) {
    list.addSubnet(`::${hex}`, 96 + bits, 'ipv6');
    list.addSubnet(`::ffff:0:${hex}`, 96 + bits, 'ipv6');
    list.addSubnet(`64:ff9b::${hex}`, 96 + bits, 'ipv6');
    list.addSubnet(`2002:${hex}::`, 16 + bits, 'ipv6');
  }
  return list;
}

/** @param address an IP address as DNS or a socket gives it, with or without a zone */
export function isLinkLocal(address: string): boolean {
  const [plain = ''] = address.split('%', 1);
  const family = isIP(plain);
  return family !== 0 && ADDRESSES.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

/** The same for the host of a parsed URL, where octal, decimal and hexadecimal spellings are gone. */
export function isLinkLocalHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '')
    .toLowerCase();
  return isLinkLocal(host) || NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}
