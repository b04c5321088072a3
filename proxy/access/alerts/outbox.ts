// The outbox: alerts that some receiver has not taken yet, in a file of one JSON line each. A line is on the disk before its
// alert is sent; that it was taken is a further line, so an alert is sent again after a crash rather than lost.
import { mkdir, open, readdir, readFile, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../../bodies/json.ts';
import type { Alert } from './alert.ts';

/** An alert for one receiver. */
export interface PendingAlert {
  readonly alert: Alert;
  /** Name of the channel. */
  readonly to: string;
}

/** As a file may hold it. */
type Written = Omit<Alert, 'cause'> & Partial<Pick<Alert, 'cause'>>;

type Line =
  | { readonly alert: Written; readonly to: readonly string[] }
  | { readonly taken: string; readonly by: string };

/** What waits beyond it is not kept; some 600 bytes each. */
const MOST_WAITING = 10_000;
/** The file is written anew when it is larger, and twice what it was when that was done last: its lines may all wait. */
const LARGE_BYTES = 4 << 20;

/** What lines of version 0.1.0 do not say, beside the cause. */
const UNSAID: Pick<Alert, 'level' | 'subject'> = {
  level: 'warning',
  subject: { kind: 'proxy', id: '', name: '' },
};

const keyOf = (id: string, to: string): string => `${to} ${id}`;

/** One process's outbox; the calls of one object must not overlap. */
export class Outbox {
  readonly #dir: string;
  readonly #name: string;
  readonly #waiting = new Map<string, PendingAlert>();
  #file: FileHandle | null = null;
  #bytes = 0;
  /** Of the file when it was written anew. */
  #bytesAnew = 0;
  #isClosed = false;

  private constructor(dir: string, name: string) {
    this.#dir = dir;
    this.#name = name;
  }

  /**
   * Opens the outbox of a worker, with what waited in those of workers that are no more.
   * @param count of workers @throws NodeJS.ErrnoException
   */
  static async open(
    dir: string,
    worker: { readonly number: number; readonly count: number },
  ): Promise<Outbox> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const outbox = new Outbox(dir, fileOf(worker.number));
    const others =
      worker.number === 1 ? (await readdir(dir)).filter((name) => numberOf(name) > worker.count) : [];
    for (const name of [...others, outbox.#name])
      outbox.#read(await readFile(join(dir, name), 'utf8').catch(nothing));
    await outbox.#rewrite();
    for (const name of others) await unlink(join(dir, name));
    return outbox;
  }

  /** What waits, the oldest first. */
  get waiting(): PendingAlert[] {
    return [...this.#waiting.values()];
  }

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Keeps an alert for these channels. @returns those for which it did not wait already; null: too many wait
   * @throws NodeJS.ErrnoException
   */
  async put(alert: Alert, to: readonly string[]): Promise<readonly string[] | null> {
    const added = to.filter((name) => !this.#waiting.has(keyOf(alert.id, name)));
    if (added.length === 0) return added;
    if (this.#waiting.size + added.length > MOST_WAITING) return null;
    await this.#append({ alert, to: added }, true);
    for (const name of added) this.#waiting.set(keyOf(alert.id, name), { alert, to: name });
    return added;
  }

  /** It need not be waited for any more. Not synced: at worst it is sent twice. @throws NodeJS.ErrnoException */
  async taken({ alert: { id }, to }: PendingAlert): Promise<void> {
    if (this.#isClosed || !this.#waiting.delete(keyOf(id, to))) return;
    await this.#append({ taken: id, by: to }, false);
    const isLarge = this.#bytes > Math.max(LARGE_BYTES, 2 * this.#bytesAnew);
    if (isLarge || this.#waiting.size === 0) await this.#rewrite();
  }

  /** What is taken from now on is sent again by the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#file?.close();
    this.#file = null;
  }

  async #append(line: Line, sync: boolean): Promise<void> {
    // After an append that failed the file may end in half a line: it is written anew.
    if (this.#file === null) await this.#rewrite();
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      await this.#file?.appendFile(bytes);
      if (sync) await this.#file?.datasync();
    } catch (error) {
      await this.#file?.close().catch(() => undefined);
      this.#file = null;
      throw error;
    }
    this.#bytes += bytes.length;
  }

  #read(text: string): void {
    for (const written of text.split('\n')) {
      const line = lineOf(written);
      if (line === null) continue;
      if ('taken' in line) this.#waiting.delete(keyOf(line.taken, line.by));
      else
        for (const to of line.to)
          this.#waiting.set(keyOf(line.alert.id, to), { alert: alertIn(line.alert), to });
    }
  }

  /** Replaces the file with one that holds what waits. */
  async #rewrite(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
    const [path, next] = [join(this.#dir, this.#name), join(this.#dir, `${this.#name}.new`)];
    const text = this.waiting
      .map(({ alert, to }) => `${JSON.stringify({ alert, to: [to] } satisfies Line)}\n`)
      .join('');
    await mkdir(this.#dir, { recursive: true, mode: 0o700 }); // somebody may have removed it
    const file = await open(next, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(next, path);
    const dir = await open(this.#dir, 'r');
    try {
      await dir.sync();
    } finally {
      await dir.close();
    }
    this.#file = await open(path, 'a', 0o600);
    this.#bytes = this.#bytesAnew = Buffer.byteLength(text);
  }
}

const fileOf = (number: number): string => `outbox-${number}.jsonl`;
/** NaN for other files. */
const numberOf = (name: string): number => Number(/^outbox-(\d+)\.jsonl$/.exec(name)?.[1] ?? NaN);
const alertIn = (alert: Written): Alert => ({ ...UNSAID, ...alert, cause: alert.cause ?? alert.id });
const nothing = (): string => '';

/** null: half a line of a crash, or none of ours. */
function lineOf(text: string): Line | null {
  const line = parseJson(text);
  if (typeof line !== 'object' || line === null) return null;
  return 'taken' in line || ('alert' in line && 'to' in line && Array.isArray(line.to))
    ? (line as Line)
    : null;
}
