// `serve` in a worker: the proxy, controlled by its supervisor instead of system signals.
import { overlay, type Environment } from '../../config/load.ts';
import { ConfigRefused } from '../errors/cannot-start.ts';
import { readConfig, startProxy, type Applied, type ProxyOptions } from '../server/proxy.ts';
import type { LogLevel } from '../observability/logger.ts';
import type { SharedConfig } from '../active-config/cluster-peers.ts';
import { WorkerClient } from '../cluster/worker-client.ts';
import { logFor } from './log.ts';
import { settleHeap } from './settle-heap.ts';
import { untilStopped, type Terminal } from './terminal.ts';

/** The life of one worker. @returns the exit code. @throws ConfigRefused, CannotStart, UncleanStop */
export async function work(
  options: Omit<ProxyOptions, 'log'>,
  level: LogLevel,
  terminal: Terminal,
): Promise<number> {
  // Ctrl-C and service managers signal every process of a group; the supervisor hears it and tells the workers.
  for (const kind of ['stop', 'interrupt', 'reload'] as const) terminal.onSignal(kind, () => undefined);
  const workerClient = await WorkerClient.join();
  const { number, served } = workerClient.welcome;
  const { log, flush } = logFor(level, terminal, number);
  const loaded = served === null ? readConfig(options.configPath, options.env) : same(served, options.env);
  const proxy = await startProxy({ ...options, log, loaded, worker: workerClient });
  settleHeap(proxy);
  const { active, shared } = proxy.reloader;
  const { url, onAllAddresses, adminUrl, adminWanted } = proxy;
  const models = active.snapshot.deployments.length;
  await workerClient.serving({ url, onAllAddresses, adminUrl, adminWanted, models, shared });
  void workerClient.orphaned.then(() => log.error('the supervisor is gone; this worker ends'));
  try {
    await untilStopped(proxy, workerClient);
    return 0;
  } finally {
    await flush();
  }
}

/** What the others serve, whatever the files say meanwhile. */
function same({ source, runtime }: SharedConfig, env: Environment): Applied {
  const loaded = overlay(source, env, runtime);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  return loaded;
}
