// `throughline serve`: the proxy on one configuration, until a signal.
import { parseArgs } from 'node:util';
import { resolve } from 'node:path';
import type { Applied, Gateway, GatewayOptions } from '../gateway.ts';
import { openLog, type LogHandle, type LogLevel } from '../observe/logger.ts';
import { isWorker } from '../workers/membership.ts';
import { settleHeap } from './settle-heap.ts';
import { statedWorkers, supervise, workersOf } from './supervise.ts';
import { configPathOf, portOf, UsageError, type Command, type Terminal } from './terminal.ts';

const USAGE = `throughline serve --config FILE [--host H] [--port N] [--workers N] [--data-dir DIR] [--log-level L]

Serves the models of a YAML configuration on an OpenAI-compatible base URL.

  --config FILE     YAML with a model_list                  (or CONFIG_FILE_PATH)
  --host H          address to bind; default all addresses, loopback without a master key   (or HOST)
  --port N          default 4000                            (or PORT)
  --workers N       processes that share the port; auto: one per core; default 1   (or THROUGHLINE_WORKERS, NUM_WORKERS,
                    general_settings.workers; --num_workers is the same flag)
  --data-dir DIR    spend journal and store; default ./data (or THROUGHLINE_DATA_DIR)
  --log-level L     debug, info, warn, error, silent; default info   (or THROUGHLINE_LOG_LEVEL)

The master key comes from general_settings.master_key, PROXY_MASTER_KEY or LITELLM_MASTER_KEY.
SIGHUP reads the configuration again (so does a change of the file). SIGTERM lets running requests end, and SIGINT does,
without general_settings.min_drain_seconds; after a second one they end with an error. Spend records are written in
either case.
`;

const OPTIONS = {
  config: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  'data-dir': { type: 'string' },
  'log-level': { type: 'string' },
  workers: { type: 'string' },
  num_workers: { type: 'string' },
} as const;

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export const serve: Command = {
  name: 'serve',
  summary: 'serve a configuration',
  usage: USAGE,
  run: async (args, terminal) => {
    const { values } = parseArgs({ args: withoutForeign(args, terminal), options: OPTIONS });
    const config = configPathOf(values.config, terminal);
    const options = optionsOf(config, values, terminal);
    const level = levelOf(values['log-level'], terminal);
    if (isWorker()) return (await import('./work.ts')).work(options, level, terminal);
    const stated = statedWorkers(values.workers ?? values.num_workers, terminal);
    if (stated !== null && stated > 1) return supervise(stated, options.dataDir, level, terminal);
    const { readConfig } = await import('../gateway.ts');
    const loaded = readConfig(options.configPath, terminal.env);
    const count = stated ?? workersOf(loaded.snapshot.workers);
    if (count > 1) return supervise(count, options.dataDir, level, terminal);
    const running = await open(config, values, terminal, loaded);
    const { snapshot } = running.gateway.changes.live;
    terminal.err(`throughline serves ${snapshot.routes.length} models on ${running.gateway.url}\n`);
    const { platformUrl } = running.gateway;
    if (platformUrl !== null) terminal.err(`the platform interface is served on ${platformUrl}/api\n`);
    return untilStopped(running, terminal);
  },
};

/** Flags of the proxy that this one replaces: whether each takes a value. A pod that still passes them must start. */
const FOREIGN: Readonly<Record<string, boolean>> = {
  '--use_v2_migration_resolver': false,
  '--use_prisma_migrate': false,
  '--detailed_debug': false,
  '--debug': false,
  '--run_gunicorn': false,
  '--run_hypercorn': false,
  '--telemetry': true,
  '--keepalive_timeout': true,
};

function withoutForeign(args: readonly string[], terminal: Terminal): string[] {
  const own: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const [flag = '', value] = (args[i] as string).split('=', 2);
    if (!Object.hasOwn(FOREIGN, flag)) own.push(args[i] as string);
    else {
      if (!isWorker()) terminal.err(`${flag} has no effect here\n`);
      if (FOREIGN[flag] === true && value === undefined) i += 1;
    }
  }
  return own;
}

export interface ServeFlags {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly 'data-dir'?: string | undefined;
  readonly 'log-level'?: string | undefined;
}

export interface Running {
  readonly gateway: Gateway;
  readonly handle: LogHandle;
}

/** Starts the proxy in this process as the flags and the environment say. */
export async function open(
  config: string,
  flags: ServeFlags,
  terminal: Terminal,
  loaded?: Applied,
): Promise<Running> {
  const { startGateway } = await import('../gateway.ts'); // a supervisor never needs it
  const handle = openLog(levelOf(flags['log-level'], terminal));
  const gateway = await startGateway({ ...optionsOf(config, flags, terminal), log: handle.log, loaded });
  settleHeap();
  return { gateway, handle };
}

function optionsOf(config: string, flags: ServeFlags, terminal: Terminal): Omit<GatewayOptions, 'log'> {
  const { env, cwd } = terminal;
  const host = flags.host ?? env['HOST'];
  return {
    configPath: resolve(cwd, config),
    dataDir: resolve(cwd, flags['data-dir'] ?? env['THROUGHLINE_DATA_DIR'] ?? 'data'),
    host: host === '' ? undefined : host,
    port: portOf(flags.port, terminal, 4000),
    env,
  };
}

function levelOf(flag: string | undefined, terminal: Terminal): LogLevel {
  const level = flag ?? terminal.env['THROUGHLINE_LOG_LEVEL'] ?? 'info';
  const known = LEVELS.find((one) => one === level);
  if (known === undefined) throw new UsageError(`${level} is not a log level (${LEVELS.join(', ')})`);
  return known;
}

/** Serves until the first stop signal has been obeyed. */
export async function untilStopped({ gateway, handle }: Running, terminal: Terminal): Promise<number> {
  await new Promise<void>((stopped) => {
    terminal.onSignal('reload', () => void gateway.reload());
    terminal.onSignal('stop', () => void gateway.stop().then(stopped));
    terminal.onSignal('interrupt', () => void gateway.stop({ minMs: 0 }).then(stopped));
  });
  handle.flush();
  return 0;
}
