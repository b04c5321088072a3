// The command line around a sandbox's own: resource limits by the shell's ulimit, and bubblewrap, which shows the
// command the machine read-only, its own folder writable, and neither the data directory nor other processes.
import { spawn } from 'node:child_process';
import type { SandboxSettings, SandboxSpec } from '../../config/snapshot.ts';
import { SandboxFailure } from './driver.ts';

/** Whether bubblewrap is used; decided once per start by trying it. @throws SandboxTrouble when it must and cannot */
export async function usesBubblewrap(
  isolation: SandboxSettings['isolation'],
  path: string,
): Promise<boolean> {
  if (isolation === 'none') return false;
  const works = await tried([...WRAP, '--', 'true'], path);
  if (works || isolation === 'auto') return works;
  throw new SandboxFailure(
    'platform.sandbox.isolation is bubblewrap, but bwrap does not work here - install bubblewrap and allow ' +
      'unprivileged user namespaces, or set isolation: auto',
  );
}

// No --new-session: the driver has already made a session, and a second one would leave the process group.
const WRAP: readonly string[] =
  'bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-pid --unshare-ipc --unshare-uts'.split(
    ' ',
  );

/** The whole command line of a sandbox. @param folders `hidden` is the data directory, `own` the sandbox's folder in it */
export function commandLine(
  command: readonly string[],
  limits: SandboxSpec['limits'],
  bubblewrap: boolean,
  folders: { readonly hidden: string; readonly own: string; readonly working: string },
): readonly [file: string, ...args: string[]] {
  const { hidden, own, working } = folders;
  const wrapped = bubblewrap
    ? [...WRAP, '--tmpfs', hidden, '--bind', own, own, '--chdir', working, '--', ...command]
    : command;
  const bounds = [
    limits.memoryMb === null ? '' : `ulimit -v ${limits.memoryMb * 1024}`,
    limits.cpuSeconds === null ? '' : `ulimit -t ${limits.cpuSeconds}`,
    limits.openFiles === null ? '' : `ulimit -n ${limits.openFiles}`,
  ].filter((bound) => bound !== '');
  // Numbers of the configuration are all that the shell reads; the command goes past it as arguments.
  const limited =
    bounds.length === 0
      ? wrapped
      : ['/bin/sh', '-c', `${bounds.join(' && ')} && exec "$@"`, 'sh', ...wrapped];
  const [file = '', ...args] = limited;
  return [file, ...args];
}

function tried(line: readonly string[], path: string): Promise<boolean> {
  const [file = '', ...args] = line;
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'ignore', env: { PATH: path }, timeout: 10_000 });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
  });
}
