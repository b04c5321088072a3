// The proxy of the working tree as a package or an image holds it: compiled files, no types to strip when they are loaded.
// From sources each thread holds what strips them, some 10 MB.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './peers.ts';

/** Builds it in `parent`. @returns its main file. @throws Error with tsc's words */
export function built(parent: string): string {
  const app = join(parent, 'built');
  mkdirSync(app);
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  const { status, stdout } = spawnSync(
    tsc,
    ['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(app, 'dist')],
    {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}` },
    },
  );
  if (status !== 0) throw new Error(`tsc could not build the proxy: ${stdout.slice(0, 500)}`);
  for (const name of ['package.json', 'schemas', 'config/samples']) {
    cpSync(join(ROOT, name), join(app, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(app, 'node_modules'));
  return join(app, 'dist/proxy/main.js');
}
