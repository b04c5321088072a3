// The parts of a proxy without its server: a snapshot of a YAML text, and real services for it.
import { writeFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { Test } from 'tap';
import { loadConfig, type Environment } from '../../config/load.ts';
import { formatIssue } from '../../config/issue.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { systemClock } from '../../proxy/base/clock.ts';
import { keepThreads } from '../../proxy/base/worker-rpc.ts';
import { createServices } from '../../proxy/active-config/create-services.ts';
import { openLedger } from '../../proxy/spend/ledger.ts';
import { ActiveConfig, type LiveDeployment } from '../../proxy/active-config/active-config.ts';
import type { Services } from '../../proxy/active-config/services.ts';
import { openLog } from '../../proxy/observability/logger.ts';
import { openExchange, type Exchange } from '../../proxy/pipeline/exchange.ts';
import { groupOf, type SelectedDeployment } from '../../proxy/pipeline/select-deployment.ts';
import { Pools } from '../../proxy/upstream/pools.ts';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';
import type { DownstreamRequest } from '../../proxy/downstream/downstream-request.ts';
import type { DownstreamResponse } from '../../proxy/downstream/downstream-response.ts';
import { HttpServer } from '../../proxy/server/http-server.ts';
import { PATIENCE_MS, SHARED_ESTIMATOR } from './shared-estimator.ts';

keepThreads(); // each ledger would start one

/** The snapshot of a configuration that must be sound. */
export function snapshotOf(t: Test, yaml: string, env: Environment = {}): Snapshot {
  const path = join(tempDir(t), 'gateway.yaml');
  writeFileSync(path, yaml);
  const loaded = loadConfig(path, env);
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  return loaded.snapshot;
}

/** Real services with their own ledger; `random` decides the weighted choice. */
export async function servicesOf(t: Test, random: () => number = Math.random): Promise<Services> {
  const snapshot = snapshotOf(t, 'model_list: []');
  const ledger = await openLedger({
    dataDir: tempDir(t),
    settings: snapshot.journal,
    saltKey: null,
    clock: systemClock,
  });
  const pools = new Pools(systemClock.mono);
  t.teardown(async () => {
    await ledger.close(PATIENCE_MS); // its folder is removed next, and a thread that still writes would fill it again
    pools.destroy();
  });
  return createServices(snapshot, {
    ledger,
    log: openLog('silent').log,
    pools,
    estimator: SHARED_ESTIMATOR,
    random,
  });
}

/** One configuration in service. */
export function liveOf(t: Test, yaml: string, services: Services): ActiveConfig {
  return new ActiveConfig(snapshotOf(t, yaml), services);
}

/** The call to the first entry of a name. @throws Fault as `groupOf` */
export function firstOf(active: ActiveConfig, model: string): SelectedDeployment {
  const group = groupOf(active, model);
  return group.select(group.deployments[0] as LiveDeployment);
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** null: the request is begun, its body never comes. */
  readonly body?: string | Buffer | readonly Buffer[] | null;
}

/** A whole answer, as the client of an exchange got it. */
export interface ClientAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A real exchange: a request that came over a socket, on that configuration. It is answered when the test ends. */
export async function exchangeOf(
  t: Test,
  active: ActiveConfig,
  sent: Sent = {},
): Promise<{ x: Exchange; answer: Promise<ClientAnswer>; leave(): void }> {
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const listener = new HttpServer({
    limits: active.snapshot.limits,
    request: (req: DownstreamRequest, res: DownstreamResponse) => resolve(openExchange(req, res, active)),
    upgrades: () => true,
    errorResponse: () => '',
    exchangeEnded: () => undefined,
    failed: () => undefined,
    connectionRefused: () => undefined,
    handshakeFailed: () => undefined,
  });
  const { port } = await listener.listen({ host: '127.0.0.1', port: 0 });
  const { method = 'POST', path = '/v1/chat/completions', headers = {}, body = '' } = sent;
  const client = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
  client.on('error', () => undefined);
  const answer = new Promise<ClientAnswer>((resolve, reject) => {
    client.on('response', (res) => {
      const { statusCode: status, headers } = res;
      textOf(res).then((text) => resolve({ status, headers, text }), reject);
    });
  });
  answer.catch(() => undefined); // most tests look at what is written, not at what arrives
  if (body === null) client.flushHeaders();
  else if (typeof body === 'string' || Buffer.isBuffer(body)) client.end(body);
  else {
    for (const part of body) client.write(part);
    client.end();
  }
  t.teardown(() => {
    client.destroy();
    listener.stopAccepting();
    listener.close();
  });
  return { x: await promise, answer, leave: () => client.destroy() };
}
