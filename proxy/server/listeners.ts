// The listeners of one proxy: which addresses they want, and binding them in order.
import type { Environment } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Welcome } from '../active-config/cluster-peers.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import {
  ADMIN_NAMES,
  adminAddressOf,
  FLAG_NAMES,
  HEALTH_NAMES,
  healthAddressOf,
  KEY_NAMES,
  listenProblem,
  platformAddressOf,
  type Address,
  type AddressNames,
} from './addresses.ts';
import type { PortName, ProxyServer } from './server.ts';

/** What listens where; null = it shares the port of the proxy, or there is none. */
export type Listening = { readonly main: Address } & Readonly<
  Record<Exclude<PortName, 'main'>, Address | null>
>;

/** @param welcome of a worker; one that comes later listens as the others do, whatever the file says meanwhile. @throws CannotStart */
export function wantedAddresses(
  snapshot: Snapshot,
  main: Address,
  env: Environment,
  welcome: Welcome | null,
): Listening {
  const isLater = welcome !== null && welcome.served !== null;
  const platform = welcome === null ? platformAddressOf(snapshot, main) : null;
  const admin = isLater ? welcome.adminWanted : adminAddressOf(snapshot, main);
  return { main, platform, admin, health: healthAddressOf(env, main, [platform, admin]) };
}

/** Binds all of them; the port of the proxy comes last, so that a ready proxy serves everything. @throws CannotStart */
export async function listenOn(
  server: ProxyServer,
  { platform, admin, health, main }: Listening,
): Promise<Listening> {
  return {
    platform: platform && (await bound(server, 'platform', platform, KEY_NAMES)),
    admin: admin && (await bound(server, 'admin', admin, ADMIN_NAMES)),
    health: health && (await bound(server, 'health', health, HEALTH_NAMES)),
    main: await bound(server, 'main', main, FLAG_NAMES),
  };
}

async function bound(
  server: ProxyServer,
  name: PortName,
  wanted: Address,
  names: AddressNames,
): Promise<Address> {
  const address = await server.listen(name, wanted).catch((error: unknown) => {
    throw new CannotStart(listenProblem(error, wanted, names));
  });
  return { host: wanted.host, port: address?.port ?? wanted.port };
}
