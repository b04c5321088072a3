// An earlier state of the proxy, laid out so that it can run beside the present one: the files of the revision in a
// folder of their own, the packages of this checkout. Reads the repository and changes nothing in it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './peers.ts';
import type { Revision } from './scenario.ts';

/** @throws Error when git does not know the revision */
export function unpack(name: string, parent: string): Revision {
  const run = (command: string, args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${name} cannot be compared: ${command} says ${stderr.trim()}`);
    return stdout.trim();
  };
  const commit = run('git', ['rev-parse', '--verify', '--short', '--end-of-options', `${name}^{commit}`]);
  const folder = join(parent, `revision-${commit}`);
  mkdirSync(folder, { recursive: true });
  // An archive, because a worktree would leave an entry in the repository when a run is killed.
  const archive = join(folder, 'files.tar');
  run('git', ['archive', `--output=${archive}`, commit, 'package.json', 'proxy', 'config', 'schemas']);
  run('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return { name: commit, folder };
}
