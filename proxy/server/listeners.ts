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
import type { ProxyServer } from './server.ts';

/** What listens where; null = it shares the port of the proxy, or there is none. */
export interface Listening {
  readonly main: Address;
  readonly platform: Address | null;
  readonly admin: Address | null;
  readonly health: Address | null;
}

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
export async function listenOn(server: ProxyServer, wanted: Listening): Promise<Listening> {
  const { platform, admin, health, main } = wanted;
  return {
    platform: platform && (await bound(platform, KEY_NAMES, (host, port) => server.listenMount(host, port))),
    admin: admin && (await bound(admin, ADMIN_NAMES, (host, port) => server.listenAdmin(host, port))),
    health: health && (await bound(health, HEALTH_NAMES, (host, port) => server.listenHealth(host, port))),
    main: await bound(main, FLAG_NAMES, (host, port) => server.listen(host, port)),
  };
}

async function bound(
  { host, port }: Address,
  names: AddressNames,
  listen: (host: string, port: number) => Promise<{ readonly port: number } | null>,
): Promise<Address> {
  const address = await listen(host, port).catch((error: NodeJS.ErrnoException) => {
    throw new CannotStart(listenProblem(error, { host, port }, names));
  });
  return { host, port: address?.port ?? port };
}
