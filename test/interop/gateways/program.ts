// A gateway as a process: started on a port of its own, awaited until it answers, killed as an operator would. It inherits PATH
// and nothing else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { RUN, RUN_MARK } from '../../support/process-cleanup.ts';
import { until, type InteropRun } from '../harness/suite.ts';

const LOG_CHARS = 6_000;

export interface GatewayProgram {
  kill(): Promise<void>;
}

export async function startProgram(
  run: InteropRun,
  what: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    readonly folder: string;
    readonly port: number;
    /** A path that answers with 200 when it can be used. */
    readonly readyPath: string;
  },
): Promise<GatewayProgram> {
  const env = { PATH: process.env['PATH'], HOME: what.folder, [RUN_MARK]: RUN, ...what.env };
  const child = spawn(what.command, what.args, {
    cwd: what.folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // its workers end with its group
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (said = `${said}${part}`.slice(-LOG_CHARS)));
  const closed = once(child, 'close');
  const kill = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
    await closed;
  };
  run.teardown(kill);
  await until(`${what.command} at port ${what.port}`, async () => {
    if (child.exitCode !== null) throw new Error(`${what.command} ended with ${child.exitCode}: ${said}`);
    if (!(await listens(what.port))) return null;
    const answer = await fetch(`http://127.0.0.1:${what.port}${what.readyPath}`).catch(() => null);
    return answer?.ok === true ? true : null;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${said}`);
  });
  return { kill };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => socket.end(() => resolve(true))).on('error', () => resolve(false));
  });
}
