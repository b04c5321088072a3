// The command line around a sandbox's own: resource limits by the shell's ulimit, and bubblewrap, which gives the command
// a root of its own. What is in it is an allowlist: programs and libraries of the machine, some files of /etc, the
// spec's `readable_paths`, and the sandbox's folder, which alone it can write.
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative } from 'node:path';
import type { SandboxSettings, SandboxSpec } from '../../config/snapshot.ts';
import { SandboxFailure } from './driver.ts';

/** Inside its namespace the command is this user, whoever runs the server; some agents refuse to be root. */
const USER_ID = '1000';
/** Where `passwdOf` is read from. The first descriptor beyond the three that every process has. */
export const PASSWD_FD = 3;

/**
 * Namespaces of its own (users, processes, IPC, host name, cgroups), no capability in any of them. No --new-session: the
 * driver has already made a session, and a second one would leave the process group.
 */
const UNSHARED: readonly string[] =
  `--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL --uid ${USER_ID} --gid ${USER_ID}`.split(
    ' ',
  );
/** No user namespace within, where new capabilities could be had. Bubblewrap before 0.8 cannot forbid it. */
const NO_NESTING = '--disable-userns';

/** Folders of programs and libraries; on most systems all but the first are links into it. */
const PROGRAM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'] as const;
/** Of /etc only what programs read to start, find names and check certificates. No keys, no accounts. */
const ETC =
  'alternatives ca-certificates ca-certificates.conf fonts gai.conf host.conf hosts ld.so.cache ld.so.conf ld.so.conf.d localtime locale.alias mime.types nsswitch.conf pki/tls/certs pki/ca-trust/extracted protocols resolv.conf services ssl/certs ssl/openssl.cnf timezone'
    .split(' ')
    .map((name) => `/etc/${name}`);

/**
 * Files of /proc that belong to root and ask for no capability: a server that runs as root is that root still, in any
 * namespace (`/proc/sys/kernel/core_pattern` names a program that the kernel runs). The lists are those of container
 * runtimes (github.com/moby/moby, oci/defaults.go).
 */
const PROC_READ_ONLY = ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'] as const;
const PROC_HIDDEN_FILES = [
  'kcore',
  'keys',
  'latency_stats',
  'sched_debug',
  'timer_list',
  'timer_stats',
] as const;
const PROC_HIDDEN_FOLDERS = ['acpi', 'asound', 'scsi'] as const;

/** Never shown: sockets and tokens, the kernel's files, passwords, the containers of others. */
const NEVER = ['/run', '/var/run', '/proc', '/sys', '/dev', '/etc/shadow', '/var/lib/docker'] as const;

/** Bubblewrap as it works on this machine: its command line up to the mounts of one sandbox. */
export interface Bubblewrap {
  readonly base: readonly string[];
}

/** Bubblewrap, decided once per start by trying it; null when it is not used. @throws SandboxFailure when it must and cannot */
export async function bubblewrapFor(
  isolation: SandboxSettings['isolation'],
  path: string,
): Promise<Bubblewrap | null> {
  if (isolation === 'none') return null;
  const root = ['--proc', '/proc', ...coveredProc(), '--dev', '/dev', '--tmpfs', '/tmp', ...machine()];
  for (const base of [
    ['bwrap', ...UNSHARED, NO_NESTING, ...root],
    ['bwrap', ...UNSHARED, ...root],
  ])
    if (await works([...base, '--', 'true'], path)) return { base };
  if (isolation === 'auto') return null;
  throw new SandboxFailure(
    'platform.sandbox.isolation is bubblewrap, but bwrap does not work here - install bubblewrap and allow ' +
      'user namespaces, or set isolation: auto',
  );
}

/** What a sandbox must not see. */
export interface Hidden {
  readonly dataDir: string;
  readonly configPath: string;
  readonly dockerSocket: string;
}

/** @throws SandboxFailure for a path that would show a sandbox the server's own files, sockets or tokens */
export function checkReadablePaths(specs: readonly SandboxSpec[], hidden: Hidden): void {
  const roots = [hidden.dataDir, hidden.configPath, hidden.dockerSocket, ...NEVER].map(realPath);
  const around = [...roots, realPath(homedir())];
  for (const spec of specs)
    for (const path of spec.readablePaths) {
      const real = realPath(path);
      const reason = around.find((one) => isWithin(one, real)) ?? roots.find((one) => isWithin(real, one));
      if (reason !== undefined)
        throw new SandboxFailure(
          `platform.sandbox_specs: readable_paths of "${spec.id}" holds ${path}, which would show ${reason} to the ` +
            'sandbox - name the folders of its programs alone',
        );
    }
}

/** The part of a spec that shapes the command line. */
type ShownSpec = Pick<SandboxSpec, 'id' | 'readablePaths'> & {
  readonly limits: Pick<SandboxSpec['limits'], 'memoryMb' | 'cpuSeconds' | 'openFiles'>;
};

/** What one sandbox gets. */
export interface SandboxFolders {
  /** The only folder that it can write. */
  readonly own: string;
  readonly working: string;
  /** PATH of the command. */
  readonly path: string;
}

/**
 * The whole command line of a sandbox. With bubblewrap, `passwdOf` goes to descriptor PASSWD_FD.
 *
 * @throws SandboxFailure for a command or working folder that is not in the sandbox
 */
export function commandLine(
  spec: ShownSpec,
  command: readonly string[],
  bubblewrap: Bubblewrap | null,
  { own, working, path }: SandboxFolders,
): readonly [file: string, ...args: string[]] {
  if (bubblewrap !== null) checkVisible(spec, command[0] ?? '', { own, working, path });
  const wrapped =
    bubblewrap === null
      ? command
      : [
          ...bubblewrap.base,
          ...placesOf(spec.readablePaths).flatMap((place) => ['--ro-bind', realPath(place), place]),
          '--ro-bind-data',
          String(PASSWD_FD),
          '/etc/passwd',
          ...placesOf([own]).flatMap((place) => ['--bind', realPath(place), place]),
          '--remount-ro',
          '/',
          '--chdir',
          working,
          '--',
          ...command,
        ];
  const { limits } = spec;
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

/** The /etc/passwd of a sandbox: git over ssh and others end when their user has no entry. */
export function passwdOf(own: string): string {
  return `sandbox:x:${USER_ID}:${USER_ID}:sandbox:${own}:/bin/sh\n`;
}

function coveredProc(): readonly string[] {
  const there = (names: readonly string[]): readonly string[] =>
    names.map((name) => `/proc/${name}`).filter((path) => existsSync(path));
  return [
    ...there(PROC_READ_ONLY).flatMap((path) => ['--ro-bind', path, path]),
    ...there(PROC_HIDDEN_FILES).flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...there(PROC_HIDDEN_FOLDERS).flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
  ];
}

/** The machine's programs, read-only, and what they read in /etc. */
function machine(): readonly string[] {
  const folders = PROGRAM_FOLDERS.flatMap((folder) => {
    try {
      if (lstatSync(folder).isSymbolicLink()) return ['--symlink', readlinkSync(folder), folder];
      return ['--ro-bind', folder, folder];
    } catch {
      return []; // not on this system
    }
  });
  return [...folders, ...ETC.flatMap((file) => ['--ro-bind-try', file, file])];
}

function checkVisible(spec: ShownSpec, program: string, { own, working, path }: SandboxFolders): void {
  const visible = [...PROGRAM_FOLDERS, ...placesOf([...spec.readablePaths, own])];
  const isVisible = (file: string): boolean => visible.some((folder) => isWithin(file, folder));
  if (!isVisible(working))
    throw new SandboxFailure(
      `working_dir ${working} is not in the sandbox - use {sandbox_dir}, or add it to readable_paths of "${spec.id}"`,
    );
  const found = programAt(program, path);
  if (found === null) return; // bwrap would say so in the log of the sandbox alone
  for (const file of [found, realPath(found)])
    if (!isVisible(file))
      throw new SandboxFailure(
        `the command ${file} is not in the sandbox - add its folder to readable_paths of "${spec.id}"`,
      );
}

/** Where a program lies on this machine. @throws SandboxFailure when it is nowhere */
function programAt(program: string, path: string): string | null {
  if (program.includes('/') && !isAbsolute(program)) return null; // below the working folder
  const places = isAbsolute(program) ? [program] : path.split(':').map((folder) => join(folder, program));
  const found = places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new SandboxFailure(`the command ${program} was not found`);
  return found;
}

/**
 * Where paths stand in the sandbox: under their real name, and under their own when a link is a part of it. Programs ask
 * for both: a script names its interpreter as it was written, an interpreter looks beside its real path. A name within
 * another path is there already, and bubblewrap cannot mount on a link.
 */
function placesOf(paths: readonly string[]): readonly string[] {
  const real = paths.map(realPath);
  const isShown = (path: string): boolean =>
    [...real, ...paths].some((other) => other !== path && isWithin(path, other));
  return [...new Set([...real, ...paths.filter((path) => !isShown(path))])];
}

function isWithin(file: string, folder: string): boolean {
  const way = relative(folder, file);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function works(line: readonly string[], path: string): Promise<boolean> {
  const [file = '', ...args] = line;
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'ignore', env: { PATH: path }, timeout: 10_000 });
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
  });
}
