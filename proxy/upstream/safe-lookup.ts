// Which addresses a connection may be opened to. A name is checked by what it resolves to, in the lookup whose result is
// connected to, so that a name cannot change between the check and the connection (DNS rebinding).
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isLinkLocal } from '../../config/link-local.ts';

/** A link-local or metadata address where none is allowed; `code` for upstream/failures.ts. */
class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ERR_ADDRESS_REFUSED';
}

/** Why an address must not be connected to, or null. */
export function checkAddress(address: string): Error | null {
  return isLinkLocal(address) ? new AddressRefused(`${address} is a link-local or metadata address`) : null;
}

/** A lookup that fails when one address of its result is link-local: a name with such an address is not trusted at all. */
export function safeLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, result: string | LookupAddress[], family) => {
      const addresses = typeof result === 'string' ? [result] : (result ?? []).map(({ address }) => address);
      const refusal = error ?? addresses.map(checkAddress).find((one) => one !== null) ?? null;
      if (refusal === null) callback(null, result, family);
      else callback(refusal, typeof result === 'string' ? '' : [], family);
    });
  };
}
