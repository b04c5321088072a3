// npm for tests: on the Node of the tests, from npm's cache, and from the registry only for what the cache lacks.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './cli.ts';

/** Scripts and shebangs find the Node of the tests before any other. */
export const NPM_ENV = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  npm_config_prefer_offline: 'true',
  npm_config_fetch_retries: '0',
  npm_config_update_notifier: 'false',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
};

export interface Npm {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

export function npm(cwd: string, command: 'npm' | 'npx', ...args: readonly string[]): Npm {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env: NPM_ENV, encoding: 'utf8' });
  return { status, out: stdout, err: stderr };
}

/** Whether npm failed because the registry cannot be reached. */
export const isOffline = (said: string): boolean =>
  /ENOTCACHED|EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED|ETIMEDOUT|ECONNRESET/.test(said);

export const WITHOUT_REGISTRY = 'packages are neither in the npm cache nor can the registry be reached';

interface Locked {
  readonly dev?: boolean;
}

/** A lockfile's entries below node_modules that are not for development alone. */
export function servedPackages(): Record<string, Locked> {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  return Object.fromEntries(
    Object.entries(packages).filter(([path, one]) => path !== '' && one.dev !== true),
  );
}

/** A copy of what the package is built from, so that no build lands in the checkout. */
export function copyOfSources(into: string): void {
  const names = ['package.json', 'package-lock.json', '.npmrc', 'README.md', 'LICENSE', 'tsconfig.json'];
  for (const name of [...names, 'tsconfig.build.json', 'config', 'proxy', 'platform', 'schemas'])
    cpSync(join(ROOT, name), join(into, name), { recursive: true });
  cpSync(join(ROOT, 'console', 'dist'), join(into, 'console', 'dist'), { recursive: true });
  cpSync(join(ROOT, 'bin'), join(into, 'bin'), {
    recursive: true,
    filter: (path) => path !== join(ROOT, 'bin', 'node'),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(into, 'node_modules'));
}
