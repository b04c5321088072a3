// `throughline serve`: the proxy on one configuration, until a signal.
import { resolve } from 'node:path';
import { Option, type Command } from '@commander-js/extra-typings';
import type { Applied, ProxyOptions } from '../server/proxy.ts';
import type { RunningProxy } from '../server/running-proxy.ts';
import type { LogHandle, LogLevel } from '../observability/logger.ts';
import { isWorker } from '../cluster/worker-client.ts';
import { settleHeap } from './settle-heap.ts';
import { statedWorkers, supervise, workersOf } from './supervise.ts';
import { logFor } from './log.ts';
import {
  choice,
  CONFIG_FLAG,
  configPathOf,
  DATA_DIR_FLAG,
  dataDirOf,
  oneOf,
  portOf,
  untilStopped,
  type Define,
  type Terminal,
} from './terminal.ts';

const DESCRIPTION = 'Serves the models of a YAML configuration on an OpenAI-compatible base URL.';

const DETAILS = `
The master key comes from general_settings.master_key, PROXY_MASTER_KEY or
LITELLM_MASTER_KEY. SIGHUP reads the configuration again (so does a change of
the file). SIGTERM lets running requests end, and SIGINT does, without
general_settings.min_drain_seconds; after a second one they end with an error.
Spend records are written in either case.`;

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export interface ServeFlags {
  readonly config?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly workers?: string | undefined;
  readonly num_workers?: string | undefined;
}

/** The flags of `serve`, which `start` takes as well. */
export function withServeFlags(command: Command, terminal: Terminal) {
  for (const flag of FOREIGN) {
    const option = new Option(flag).hideHelp();
    command.addOption(option);
    if (!isWorker())
      command.on(`option:${option.name()}`, () => terminal.err(`${option.long} has no effect here\n`));
  }
  return command
    .option(...CONFIG_FLAG)
    .option(
      '--host <host>',
      'address to bind (or HOST; default: all addresses, loopback without a master key)',
    )
    .option('--port <n>', 'port (or PORT; default: 4000)')
    .option(
      '--workers <n>',
      'processes that share the port, auto: one per core (or THROUGHLINE_WORKERS, NUM_WORKERS, general_settings.workers; default: 1)',
    )
    .addOption(new Option('--num_workers <n>').hideHelp())
    .option(...DATA_DIR_FLAG)
    .addOption(choice('--log-level <level>', 'or THROUGHLINE_LOG_LEVEL; default: info', LEVELS));
}

export const serve: Define = (command, terminal) => {
  withServeFlags(command, terminal)
    .description(DESCRIPTION)
    .addHelpText('after', DETAILS)
    .action(async (flags) => terminal.exitWith(await serveUntilStopped(flags, terminal)));
};

/** Serves until a signal. @returns the exit code */
export async function serveUntilStopped(flags: ServeFlags, terminal: Terminal): Promise<number> {
  const config = configPathOf(flags.config, terminal);
  const options = optionsOf(config, flags, terminal);
  const level = levelOf(flags.logLevel, terminal);
  if (isWorker()) return (await import('./work.ts')).work(options, level, terminal);
  const stated = statedWorkers(flags.workers ?? flags.num_workers, terminal);
  if (stated !== null && stated > 1) return supervise(stated, options.dataDir, level, terminal);
  const { readConfig } = await import('../server/proxy.ts');
  const loaded = readConfig(options.configPath, terminal.env);
  const count = stated ?? workersOf(loaded.snapshot.workers);
  if (count > 1) return supervise(count, options.dataDir, level, terminal);
  const running = await open(config, flags, terminal, loaded);
  const stopped = exitCodeOf(running, terminal); // first: who reads the next line may send a signal at once
  const { snapshot } = running.proxy.reloader.active;
  terminal.err(`throughline serves ${snapshot.deployments.length} models on ${running.proxy.url}\n`);
  const { platformUrl, adminUrl, healthUrl, onAllAddresses } = running.proxy;
  if (onAllAddresses !== null) terminal.err(`${onAllAddresses}\n`);
  if (adminUrl !== null) terminal.err(`metrics and administration are served on ${adminUrl}\n`);
  if (healthUrl !== null) terminal.err(`probes are answered on ${healthUrl} as well\n`);
  if (platformUrl !== null) terminal.err(`the platform interface is served on ${platformUrl}/api\n`);
  return stopped;
}

/** Flags of the proxy that this one replaces. A pod that still passes them must start. */
const FOREIGN = [
  '--use_v2_migration_resolver [value]',
  '--use_prisma_migrate [value]',
  '--detailed_debug [value]',
  '--debug [value]',
  '--run_gunicorn [value]',
  '--run_hypercorn [value]',
  '--telemetry <value>',
  '--keepalive_timeout <value>',
];

export interface Running {
  readonly proxy: RunningProxy;
  readonly handle: LogHandle;
}

/** Starts the proxy in this process as the flags and the environment say. */
export async function open(
  config: string,
  flags: ServeFlags,
  terminal: Terminal,
  loaded?: Applied,
): Promise<Running> {
  const { startProxy } = await import('../server/proxy.ts'); // a supervisor never needs it
  const handle = logFor(levelOf(flags.logLevel, terminal), terminal);
  const proxy = await startProxy({ ...optionsOf(config, flags, terminal), log: handle.log, loaded });
  settleHeap(proxy);
  return { proxy, handle };
}

function optionsOf(config: string, flags: ServeFlags, terminal: Terminal): Omit<ProxyOptions, 'log'> {
  const { env, cwd } = terminal;
  const host = flags.host ?? env['HOST'];
  return {
    configPath: resolve(cwd, config),
    dataDir: dataDirOf(flags.dataDir, terminal),
    host: host === '' ? undefined : host,
    port: portOf(flags.port, terminal, 4000),
    env,
  };
}

function levelOf(flag: LogLevel | undefined, { env }: Terminal): LogLevel {
  return flag ?? oneOf('THROUGHLINE_LOG_LEVEL', env['THROUGHLINE_LOG_LEVEL'] || 'info', LEVELS);
}

/** Serves until a stop signal came and the proxy has stopped. @throws UncleanStop */
export async function exitCodeOf({ proxy, handle }: Running, terminal: Terminal): Promise<number> {
  try {
    await untilStopped(proxy, terminal);
    return 0;
  } finally {
    await handle.flush();
  }
}
