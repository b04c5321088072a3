// What a subcommand gets from main.ts: output, the environment, signals. Also the flags and variables that several
// subcommands share.
import { resolve } from 'node:path';
import { Option, type Command } from '@commander-js/extra-typings';
import type { Environment } from '../../config/load.ts';
import { nearest } from '../../config/nearest.ts';

export type LogStyle = 'json' | 'plain' | 'coloured';

export interface Terminal {
  readonly env: Environment;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** How the log is written: JSON lines where programs read it, else for people. */
  readonly logStyle: LogStyle;
  /** What the process is to end with; 0 when it is never called. */
  readonly exitWith: (code: number) => void;
  /** Calls back at each SIGTERM (`stop`), SIGINT (`interrupt`) and SIGHUP (`reload`). */
  readonly onSignal: (kind: 'stop' | 'interrupt' | 'reload', act: () => void) => void;
  /** Asks the person at the terminal; null = there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Where paths on the command line are relative to. */
  readonly cwd: string;
  /** The package's own folder: samples are below it. */
  readonly home: string;
}

/** A subcommand: states its help, its flags and what it does. */
export type Define = (command: Command, terminal: Terminal) => void;

/** Calls back when the command is to end. */
export function onStop(terminal: Terminal, act: () => void): void {
  for (const kind of ['stop', 'interrupt'] as const) terminal.onSignal(kind, act);
}

/** A proxy, as signals see it. */
interface Signalled {
  reload(): Promise<unknown>;
  stop(limits?: { readonly minMs?: number }): Promise<unknown>;
}

/** Resolves when a stop signal came and the proxy has stopped. Rejects as the stop does. */
export function untilStopped(proxy: Signalled, signals: Pick<Terminal, 'onSignal'>): Promise<unknown> {
  return new Promise((resolve) => {
    signals.onSignal('reload', () => void proxy.reload());
    signals.onSignal('stop', () => resolve(proxy.stop()));
    signals.onSignal('interrupt', () => resolve(proxy.stop({ minMs: 0 })));
  });
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
  const source = flag === undefined ? 'PORT ' : '';
  if (text === undefined || text === '') return fallback;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`${source}${text} is not a port - give a whole number from 0 to 65535`);
  return port;
}

/** One of the words. @throws UsageError that names the nearest one, or all */
export function oneOf<W extends string>(flag: string, word: string, words: readonly W[]): W {
  const known = words.find((one) => one === word);
  if (known !== undefined) return known;
  const near = nearest(word, words);
  const hint = near === null ? '' : `did you mean ${near}? `;
  throw new UsageError(
    `${flag} ${word} is not known - ${hint}${near === null ? 'one' : 'One'} of ${words.join(', ')}`,
  );
}

/** A flag that takes one of some words: help and completion list them. */
export function choice<const F extends `--${string}`, W extends string>(
  flags: F,
  description: string,
  words: readonly W[],
) {
  const [flag = ''] = flags.split(' ');
  return new Option(flags, description).choices(words).argParser((word) => oneOf(flag, word, words));
}

const UNITS: Readonly<Record<string, number>> = { '': 1_000, s: 1_000, m: 60_000, h: 3_600_000 };

/** A time from a flag, in milliseconds: `90`, `60s`, `5m`, `1h`. @throws UsageError when it is none */
export function msOf(flag: string, text: string): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(s|m|h|)$/.exec(text.trim()) ?? [];
  if (count === undefined) throw new UsageError(`${flag} ${text} is no time - for example 60s or 5m`);
  return Number(count) * (UNITS[unit] ?? 1_000);
}

export const CONFIG_FLAG = ['--config <file>', 'YAML with a model_list (or CONFIG_FILE_PATH)'] as const;
export const DATA_DIR_FLAG = [
  '--data-dir <dir>',
  'spend journal and store (or THROUGHLINE_DATA_DIR; default: ./data)',
] as const;

/** The proxy's data directory by flag and environment. */
export function dataDirOf(flag: string | undefined, terminal: Terminal): string {
  return resolve(terminal.cwd, statedDataDir(flag, terminal) ?? 'data');
}

/** Empty is not stated: `--data-dir "$UNSET"` would else take the folder that the command runs in, and close it to others. */
export function statedDataDir(flag: string | undefined, { env }: Terminal): string | null {
  return [flag, env['THROUGHLINE_DATA_DIR']].find((one) => one !== undefined && one !== '') ?? null;
}
