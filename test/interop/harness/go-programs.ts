// Programs of others that are Go modules, built from the module proxy once and kept outside the repository's files. A build
// of helm takes about five minutes on two cores and 2 GB of Go's cache.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/cli.ts';
import { Missing } from './suite.ts';

const CACHE = join(ROOT, 'node_modules', '.cache', 'throughline-interop', 'go');

function go(args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const { status, signal, stdout, stderr } = spawnSync('go', args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (status === 0) return stdout;
  if (signal !== null) throw new Missing(`go ${args.join(' ')} was ended by ${signal} before it was done`);
  throw new Missing(
    `go ${args.join(' ')} failed - a Go module proxy must be reachable: ${stderr.trim().slice(-300)}`,
  );
}

/** @throws Missing where there is no Go */
export function goVersion(): string {
  const { status, stdout } = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (status === 0) return stdout.replace(/^go version go(\S+).*$/s, '$1');
  throw new Missing('there is no Go - install Go 1.26 or later');
}

/** Path of a program. @param module for example `helm.sh/helm/v4/cmd/helm@v4.3.1` @throws Missing */
export function goProgram(module: string): string {
  const [path = '', version = ''] = module.split('@');
  const folder = join(CACHE, `${path.replaceAll('/', '_')}@${version}`);
  const program = join(folder, path.split('/').at(-1) ?? '');
  if (existsSync(program)) return program;
  console.error(`building ${module} into ${folder}`);
  mkdirSync(folder, { recursive: true });
  go(['install', '-trimpath', '-ldflags', '-s -w', module], { GOBIN: folder });
  return program;
}

/** Folder of a module's files. @throws Missing */
export function goModule(module: string): string {
  const told: unknown = JSON.parse(go(['mod', 'download', '-json', module]));
  const dir = typeof told === 'object' && told !== null && 'Dir' in told ? told.Dir : undefined;
  if (typeof dir !== 'string') throw new Missing(`${module} cannot be had from the Go module proxy`);
  return dir;
}
