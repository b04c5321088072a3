// `throughline serve`: the proxy on one configuration, until a signal.
import { parseArgs } from 'node:util';
import { resolve } from 'node:path';
import { startGateway, type Gateway } from '../gateway.ts';
import { openLog, type LogHandle } from '../observe/logger.ts';
import { settleHeap } from './settle-heap.ts';
import { configPathOf, portOf, UsageError, type Command, type Terminal } from './terminal.ts';

const USAGE = `throughline serve --config FILE [--host H] [--port N] [--data-dir DIR] [--log-level L]

Serves the models of a YAML configuration on an OpenAI-compatible base URL.

  --config FILE     YAML with a model_list                  (or CONFIG_FILE_PATH)
  --host H          address to bind; default all addresses, loopback without a master key   (or HOST)
  --port N          default 4000                            (or PORT)
  --data-dir DIR    spend journal and store; default ./data (or THROUGHLINE_DATA_DIR)
  --log-level L     debug, info, warn, error, silent; default info   (or THROUGHLINE_LOG_LEVEL)

The master key comes from general_settings.master_key, PROXY_MASTER_KEY or LITELLM_MASTER_KEY.
SIGHUP reads the configuration again (so does a change of the file); SIGTERM lets running requests end, a second one
cuts them. Spend records are written in either case.
`;

const OPTIONS = {
  config: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  'data-dir': { type: 'string' },
  'log-level': { type: 'string' },
} as const;

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export const serve: Command = {
  name: 'serve',
  summary: 'serve a configuration',
  usage: USAGE,
  run: async (args, terminal) => {
    const { values } = parseArgs({ args: withoutForeign(args, terminal), options: OPTIONS });
    const running = await open(configPathOf(values.config, terminal), values, terminal);
    const { snapshot } = running.gateway.changes.live;
    terminal.err(`throughline serves ${snapshot.routes.length} models on ${running.gateway.url}\n`);
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
  '--num_workers': true,
  '--telemetry': true,
  '--keepalive_timeout': true,
};

function withoutForeign(args: readonly string[], terminal: Terminal): string[] {
  const own: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const [flag = '', value] = (args[i] as string).split('=', 2);
    if (!Object.hasOwn(FOREIGN, flag)) own.push(args[i] as string);
    else {
      terminal.err(`${flag} has no effect here\n`);
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

/** Starts the proxy as the flags and the environment say. */
export async function open(config: string, flags: ServeFlags, terminal: Terminal): Promise<Running> {
  const { env, cwd } = terminal;
  const level = flags['log-level'] ?? env['THROUGHLINE_LOG_LEVEL'] ?? 'info';
  const known = LEVELS.find((one) => one === level);
  if (known === undefined) throw new UsageError(`${level} is not a log level (${LEVELS.join(', ')})`);
  const handle = openLog(known);
  const host = flags.host ?? env['HOST'];
  const gateway = await startGateway({
    configPath: resolve(cwd, config),
    dataDir: resolve(cwd, flags['data-dir'] ?? env['THROUGHLINE_DATA_DIR'] ?? 'data'),
    host: host === '' ? undefined : host,
    port: portOf(flags.port, terminal, 4000),
    env,
    log: handle.log,
  });
  settleHeap();
  return { gateway, handle };
}

/** Serves until the first stop signal has been obeyed. */
export async function untilStopped({ gateway, handle }: Running, terminal: Terminal): Promise<number> {
  await new Promise<void>((stopped) => {
    terminal.onSignal('reload', () => void gateway.reload());
    terminal.onSignal('stop', () => void gateway.stop().then(stopped));
  });
  handle.flush();
  return 0;
}
