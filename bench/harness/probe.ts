// What a probe and the scenario that reads it agree on: a probe is loaded into a program with `--import`; SIGUSR2 begins a
// count, the next one ends it, and the program writes what was counted into the file that `countFile` names.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import type { Program } from './processes.ts';

const WRITTEN_WITHIN_MS = 30_000;
/** A signal is handled by the event loop. */
const HANDLED_MS = 500;

const countFile = (pid: number): string => join(tmpdir(), `throughline-counted-${pid}`);

/** How a probe counts on the main thread. */
interface Counting {
  begin(session: Session): void;
  /** Ends the count. @param done gets what was counted, as JSON */
  end(session: Session, done: (counted: unknown) => void): void;
}

/** Makes this process count, if it was started with the probe of that name: what one imports is loaded as well. */
export function listenAs(probe: string, { begin, end }: Counting): void {
  if (!isMainThread || !process.execArgv.some((flag) => flag.endsWith(probe))) return;
  const session = new Session();
  let isCounting = false;
  session.connect();
  process.on('SIGUSR2', () => {
    if (isCounting) end(session, write);
    else begin(session);
    isCounting = !isCounting;
  });
}

function write(counted: unknown): void {
  const file = countFile(process.pid);
  writeFileSync(`${file}.part`, JSON.stringify(counted));
  renameSync(`${file}.part`, file);
}

/** What a program counts meanwhile; it has a probe. */
export async function counted({ pid }: Program, work: () => Promise<unknown>): Promise<unknown> {
  const file = countFile(pid);
  process.kill(pid, 'SIGUSR2');
  await pause(HANDLED_MS);
  await work();
  process.kill(pid, 'SIGUSR2');
  for (let waitedMs = 0; !existsSync(file); waitedMs += 50) {
    if (waitedMs > WRITTEN_WITHIN_MS) throw new Error('the program did not count');
    await pause(50);
  }
  const text = readFileSync(file, 'utf8');
  rmSync(file);
  return JSON.parse(text);
}
