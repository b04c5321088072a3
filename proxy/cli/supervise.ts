// `serve` with more than one worker, in the first process: how many there are to be, and their supervisor. Loads
// neither the proxy nor the configuration, so that the supervisor stays small (70 MB instead of 110).
import { availableParallelism } from 'node:os';
import { asError } from '../base/as-error.ts';
import { systemClock } from '../base/clock.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { takeDirectory } from '../spend/ledger.ts';
import { type LogLevel } from '../observability/logger.ts';
import { Supervisor } from '../cluster/supervisor.ts';
import { logFor } from './log.ts';
import { UsageError, type Terminal } from './terminal.ts';

const MOST = 128;

/** The number that the flag or the environment states, or null. @throws UsageError */
export function statedWorkers(flag: string | undefined, { env }: Terminal): number | null {
  const variables = ['THROUGHLINE_WORKERS', 'NUM_WORKERS'] as const;
  const all = [['--workers', flag] as const, ...variables.map((name) => [name, env[name]] as const)];
  const [source, text] = all.find(([, one]) => (one ?? '') !== '') ?? [];
  if (text === undefined) return null;
  const count = text === 'auto' ? workersOf(text) : Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MOST) return count;
  throw new UsageError(
    `${source} ${text} is not a number of workers - give a whole number of 1 to ${MOST}, or auto`,
  );
}

/** `auto` is one per core that this process may use; limits of a container count. */
export function workersOf(wanted: number | 'auto'): number {
  return wanted === 'auto' ? Math.min(MOST, availableParallelism()) : wanted;
}

/** Runs the workers until a stop signal. @returns the exit code. @throws CannotStart */
export async function supervise(
  count: number,
  dataDir: string,
  level: LogLevel,
  terminal: Terminal,
): Promise<number> {
  const { log, flush } = logFor(level, terminal, 0);
  const lock = lockedFor(dataDir, (event) => log[event.level]({ event: event.name }, event.message));
  try {
    const supervisor = new Supervisor({ count, log, clock: systemClock });
    terminal.onSignal('reload', () => supervisor.reload());
    for (const kind of ['stop', 'interrupt'] as const) terminal.onSignal(kind, () => supervisor.stop(kind));
    return await supervisor.run(({ url, onAllAddresses, adminUrl, models }) => {
      terminal.err(`throughline serves ${models} models on ${url}\n`);
      if (onAllAddresses !== null) terminal.err(`${onAllAddresses}\n`);
      if (adminUrl !== null) terminal.err(`metrics and administration are served on ${adminUrl}\n`);
    });
  } finally {
    lock.release();
    await flush();
  }
}

function lockedFor(
  dataDir: string,
  onEvent: Parameters<typeof takeDirectory>[1],
): ReturnType<typeof takeDirectory> {
  try {
    return takeDirectory(dataDir, onEvent);
  } catch (error) {
    throw new CannotStart(asError(error).message, { cause: error });
  }
}
