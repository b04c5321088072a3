// A disk that can be full or read-only: a small tmpfs, where that is allowed.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../config/error-code.ts';
import type { Teardown } from './process-cleanup.ts';

export interface SmallDisk {
  /** Takes all room that is left. */
  fill(): void;
  /** Gives it back. */
  free(): void;
  /** @throws Error while a file on it is open for writing */
  protect(isReadOnly: boolean): void;
}

const mount = (...args: string[]): void => void execFileSync('mount', args, { stdio: 'ignore' });
const unmount = (dir: string): void => void execFileSync('umount', ['-l', dir], { stdio: 'ignore' });

/** Why there can be none here; false when there can. */
export function noSmallDisk(): string | false {
  const dir = mkdtempSync(join(tmpdir(), 'throughline-'));
  try {
    mount('-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', dir);
    unmount(dir);
    return false;
  } catch {
    return 'needs Linux and the right to mount a small tmpfs';
  } finally {
    rmdirSync(dir);
  }
}

/** Mounts one on the folder, which is made; unmounted with the test. */
export function smallDisk(t: Teardown, dir: string, size = '256k'): SmallDisk {
  mkdirSync(dir, { recursive: true });
  mount('-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', dir);
  t.teardown(() => unmount(dir));
  const filler = join(dir, 'filler');
  return {
    fill: () => {
      const { bavail, bsize } = statfsSync(dir);
      try {
        writeFileSync(filler, Buffer.alloc(bavail * bsize));
      } catch (error) {
        if (errorCode(error) !== 'ENOSPC') throw error; // others have written meanwhile
      }
    },
    free: () => rmSync(filler),
    protect: (isReadOnly) => mount('-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, dir),
  };
}
