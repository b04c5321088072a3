// What a subcommand may touch: text out, the environment as a value, signals as a call. main.ts hands it in.
import type { Environment } from '../../config/load.ts';

export interface Terminal {
  readonly env: Environment;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Calls back at each SIGTERM (`stop`), SIGINT (`interrupt`) and SIGHUP (`reload`). */
  readonly onSignal: (kind: 'stop' | 'interrupt' | 'reload', act: () => void) => void;
  /** Where paths on the command line are relative to. */
  readonly cwd: string;
  /** The package's own folder: samples are below it. */
  readonly home: string;
}

/** A subcommand: reads its arguments, returns the exit code. */
export interface Command {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  readonly usage: string;
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>;
}

/** The command line is wrong: the message says how; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The configuration file that a command works on. @throws UsageError when none is named. */
export function configPathOf(flag: string | undefined, terminal: Terminal): string {
  const path = flag ?? terminal.env['CONFIG_FILE_PATH'];
  if (path !== undefined && path !== '') return path;
  throw new UsageError(
    'no configuration is named - give --config FILE or set CONFIG_FILE_PATH (`throughline start` runs a sample)',
  );
}

/** A port from a flag or the environment. @throws UsageError when it is none. */
export function portOf(flag: string | undefined, terminal: Terminal, fallback: number): number {
  const text = flag ?? terminal.env['PORT'];
  if (text === undefined || text === '') return fallback;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`${text} is not a port (0 to 65535)`);
  return port;
}
