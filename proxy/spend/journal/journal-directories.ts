// Where journals lie: `journal/` is that of a process that is alone on its data directory, `journal/w1`, `journal/w2`,
// ... those of workers. One writer each. Lists them; opens none.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which of how many workers a process is; numbers count from 1. */
export interface WorkerNumber {
  readonly number: number;
  readonly count: number;
}

const WORKER = /^w([1-9]\d*)$/;

/** Directory of the journal that this process writes. */
export function journalDirectory(dataDir: string, worker: WorkerNumber | undefined): string {
  const all = join(dataDir, 'journal');
  return worker === undefined ? all : join(all, `w${worker.number}`);
}

/** Directories of all journals; every one has a file `id`. */
export function allJournals(dataDir: string): string[] {
  const all = join(dataDir, 'journal');
  if (!existsSync(all)) return [];
  const workers = readdirSync(all).filter((name) => WORKER.test(name));
  return [all, ...workers.map((name) => join(all, name))].filter((dir) => existsSync(join(dir, 'id')));
}

/** What the store knows a journal by. */
export const journalId = (dir: string): string => readFileSync(join(dir, 'id'), 'utf8').trim();

/** Directories of journals without a writer. They are the first worker's to take over, or the only process's. */
export function leftJournals(dataDir: string, worker: WorkerNumber | undefined): string[] {
  if (worker !== undefined && worker.number > 1) return [];
  const all = join(dataDir, 'journal');
  const written = worker?.count ?? 0;
  const names = readdirSync(all);
  const former = names.filter((name) => Number(WORKER.exec(name)?.[1] ?? 0) > written);
  const alone = worker !== undefined && names.includes('id') ? [all] : []; // every journal has that file
  return [...alone, ...former.map((name) => join(all, name))];
}
