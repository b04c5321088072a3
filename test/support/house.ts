// The parts of a proxy without its server: a snapshot of a YAML text, and a real house for it to live in.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Catalogue, registryNames } from '../../config/catalogue.ts';
import { loadConfig, type Environment } from '../../config/load.ts';
import { formatIssue } from '../../config/issue.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { systemClock } from '../../proxy/base/clock.ts';
import { CallIds } from '../../proxy/base/ids.ts';
import { openLedger } from '../../proxy/ledger/ledger.ts';
import { Live, VERSION, type House } from '../../proxy/live.ts';
import { openLog } from '../../proxy/observe/logger.ts';
import { Metrics } from '../../proxy/observe/metrics.ts';
import { openExchange, type Exchange } from '../../proxy/request/exchange.ts';
import { Deadlines } from '../../proxy/upstream/deadlines.ts';
import { Pools } from '../../proxy/upstream/pools.ts';
import { tempDir } from '../proxy/store/fixture/temp-dir.ts';

/** The snapshot of a configuration that must be sound. */
export function snapshotOf(t: Test, yaml: string, env: Environment = {}): Snapshot {
  const path = join(tempDir(t), 'gateway.yaml');
  writeFileSync(path, yaml);
  const loaded = loadConfig(path, env);
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  return loaded.snapshot;
}

/** A house of real parts with a ledger of its own; `random` is the dice of the weighted choice. */
export async function houseOf(t: Test, random: () => number = Math.random): Promise<House> {
  const snapshot = snapshotOf(t, 'model_list: []');
  const ledger = await openLedger({
    dataDir: tempDir(t),
    settings: snapshot.journal,
    saltKey: null,
    clock: systemClock,
  });
  const pools = new Pools();
  t.teardown(async () => {
    await ledger.close(1_000);
    await pools.destroy();
  });
  const metrics = new Metrics(
    () => ledger.status,
    () => 0,
    VERSION,
  );
  return {
    clock: systemClock,
    ids: new CallIds(),
    ledger,
    log: openLog('silent').log,
    metrics,
    unrouted: metrics.forModel(''),
    deadlines: new Deadlines(systemClock.mono),
    pools,
    catalogue: new Catalogue(),
    random,
    callers: null,
    wing: null,
  };
}

/** One configuration in service. */
export function liveOf(t: Test, yaml: string, house: House): Live {
  return new Live(snapshotOf(t, yaml), house, registryNames());
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** null: the request is begun, its body never comes. */
  readonly body?: string | Buffer | readonly Buffer[] | null;
}

/** A real exchange: a request that came over a socket, on that configuration. It is answered when the test ends. */
export async function exchangeOf(
  t: Test,
  live: Live,
  sent: Sent = {},
): Promise<{ x: Exchange; leave(): void }> {
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const take = (req: IncomingMessage, res: ServerResponse): void =>
    resolve(openExchange(req, res, live, false));
  const server = createServer(take).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { method = 'POST', path = '/v1/chat/completions', headers = {}, body = '' } = sent;
  const client = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
  client.on('error', () => undefined);
  if (body === null) client.flushHeaders();
  else if (typeof body === 'string' || Buffer.isBuffer(body)) client.end(body);
  else {
    for (const part of body) client.write(part);
    client.end();
  }
  t.teardown(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { x: await promise, leave: () => client.destroy() };
}
