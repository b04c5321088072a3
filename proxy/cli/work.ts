// `serve` in a worker: the proxy, told what to do by its supervisor instead of the system.
import { overlay, type Environment } from '../../config/load.ts';
import { ConfigRefused } from '../errors/cannot-start.ts';
import { readConfig, startGateway, type Applied, type GatewayOptions } from '../gateway.ts';
import type { LogLevel } from '../observe/logger.ts';
import type { SharedConfig } from '../siblings.ts';
import { Membership } from '../workers/membership.ts';
import { logFor } from './log.ts';
import { settleHeap } from './settle-heap.ts';
import type { Terminal } from './terminal.ts';

/** The life of one worker. @returns the exit code. @throws ConfigRefused, CannotStart */
export async function work(
  options: Omit<GatewayOptions, 'log'>,
  level: LogLevel,
  terminal: Terminal,
): Promise<number> {
  // Ctrl-C and service managers signal every process of a group; the supervisor hears it and tells the workers.
  for (const kind of ['stop', 'interrupt', 'reload'] as const) terminal.onSignal(kind, () => undefined);
  const membership = await Membership.join();
  const { number, served } = membership.welcome;
  const { log, flush } = logFor(level, terminal, number);
  const loaded = served === null ? readConfig(options.configPath, options.env) : same(served, options.env);
  const gateway = await startGateway({ ...options, log, loaded, membership });
  settleHeap();
  const { live, shared } = gateway.changes;
  await membership.serving({ url: gateway.url, models: live.snapshot.routes.length, shared });
  void membership.orphaned.then(() => log.error('the supervisor is gone; this worker ends'));
  await new Promise<void>((stopped) => {
    membership.onSignal('reload', () => void gateway.reload());
    membership.onSignal('stop', () => void gateway.stop().then(stopped));
    membership.onSignal('interrupt', () => void gateway.stop({ minMs: 0 }).then(stopped));
  });
  flush();
  return 0;
}

/** What the others serve, whatever the files say meanwhile. */
function same({ source, runtime }: SharedConfig, env: Environment): Applied {
  const loaded = overlay(source, env, runtime);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  return loaded;
}
