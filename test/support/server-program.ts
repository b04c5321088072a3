// A server of others beside a test: it carries the mark of the test, and is there when it says that it serves.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { RUN, RUN_MARK } from './process-cleanup.ts';

export interface ServerProgram {
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Resolves when it has ended; at once where it has already. @param signal default: SIGKILL */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface ProgramOptions {
  /** What it says when it serves. */
  readonly ready: RegExp;
  /** Where it says so; default: stderr. */
  readonly on?: 'stdout' | 'stderr';
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd?: string;
}

/** Resolves when it serves. @throws Error with what it said, when it ends before */
export async function startProgram(
  program: string,
  args: readonly string[],
  { ready, on = 'stderr', ...as }: ProgramOptions,
): Promise<ServerProgram> {
  const child: ChildProcess = spawn(program, args, {
    ...as,
    env: { ...process.env, [RUN_MARK]: RUN },
    stdio: ['ignore', on === 'stdout' ? 'pipe' : 'ignore', on === 'stderr' ? 'pipe' : 'ignore'],
  });
  await new Promise<void>((resolve, reject) => {
    let said = '';
    child[on]?.on('data', (part: Buffer) => {
      said += String(part);
      if (ready.test(said)) resolve();
    });
    child.once('exit', () => reject(new Error(`${program} did not start: ${said}`)));
  });
  return {
    kill: (signal) => void child.kill(signal),
    stop: async (signal = 'SIGKILL') => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, 'exit');
    },
  };
}
