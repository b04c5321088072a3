// The processes of a sandbox, as Linux knows them: each carries the sandbox's mark in its environment, so that children
// which left the process group, and sandboxes of a former server, are found as well. Holds no opinion on what to do.
import { readdir, readFile } from 'node:fs/promises';
import { errorCode } from '../../config/error-code.ts';

/** Names of the environment variables that mark a sandbox and the data directory it belongs to. */
export const ID_MARK = 'THROUGHLINE_SANDBOX_ID';
export const HOME_MARK = 'THROUGHLINE_SANDBOX_HOME';

interface MarkedProcess {
  readonly pid: number;
  readonly sandboxId: string;
  /** Letter of proc(5): `T` = stopped, `Z` = ended and not yet collected. */
  readonly state: string;
}

/**
 * Living processes of sandboxes of this data directory; none where the system has no /proc.
 * @throws Error when the system has no file descriptor left to look with: that says nothing about the processes
 */
export async function markedProcesses(home: string): Promise<readonly MarkedProcess[]> {
  const names = await readdir('/proc').catch((error: unknown) => {
    if (isShortage(error)) throw error;
    return [];
  });
  const found = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((name) => look(name, home)));
  return found.filter((one) => one !== null);
}

async function look(name: string, home: string): Promise<MarkedProcess | null> {
  try {
    const text = await readFile(`/proc/${name}/environ`, 'latin1');
    if (!text.includes(HOME_MARK)) return null; // as most on the machine
    const environment = text.split('\0');
    if (!environment.includes(`${HOME_MARK}=${home}`)) return null;
    const id = environment.find((one) => one.startsWith(`${ID_MARK}=`))?.slice(ID_MARK.length + 1);
    if (id === undefined) return null;
    const stat = await readFile(`/proc/${name}/stat`, 'latin1');
    // The program's name stands in parentheses and may hold any character; the state follows the last one.
    const state = stat[stat.lastIndexOf(')') + 2] ?? '?';
    return state === 'Z' || state === 'X' ? null : { pid: Number(name), sandboxId: id, state };
  } catch (error) {
    if (isShortage(error)) throw error;
    return null; // it ended meanwhile, or belongs to another user
  }
}

const isShortage = (error: unknown): boolean =>
  ['EMFILE', 'ENFILE', 'ENOMEM'].includes(errorCode(error) ?? '');
