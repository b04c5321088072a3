// Which events have raised an alert: one empty file each, made exclusively, so that of all workers on a data directory exactly
// one raises it, after a restart too.
import { mkdir, open, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../config/error-code.ts';

/** Longer than any window that people use; a budget that never resets raises one again after so long. */
const KEPT_MS = 400 * 86_400_000;
/** Beyond it the oldest are forgotten. */
const MOST = 50_000;

export class RaisedEvents {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /** @throws NodeJS.ErrnoException */
  static async open(dir: string): Promise<RaisedEvents> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return new RaisedEvents(dir);
  }

  /** Whether somebody has. */
  async has(id: string): Promise<boolean> {
    return (await stat(join(this.#dir, id)).catch(() => null)) !== null;
  }

  /**
   * Whether nobody has raised an alert of this event; from now on somebody has.
   * @throws NodeJS.ErrnoException
   */
  async claim(id: string): Promise<boolean> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 }); // somebody may have removed it
    try {
      await (await open(join(this.#dir, id), 'wx', 0o600)).close();
      return true;
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      throw error;
    }
  }

  /** Forgets what is old. @throws NodeJS.ErrnoException */
  async sweep(nowMs: number, most: number = MOST): Promise<void> {
    const found: { readonly name: string; readonly madeMs: number }[] = [];
    for (const name of await readdir(this.#dir)) {
      const state = await stat(join(this.#dir, name)).catch(() => null);
      if (state !== null) found.push({ name, madeMs: state.mtimeMs });
    }
    found.sort((a, b) => b.madeMs - a.madeMs);
    for (const [index, { name, madeMs }] of found.entries())
      if (index >= most || nowMs - madeMs > KEPT_MS)
        await unlink(join(this.#dir, name)).catch(() => undefined);
  }
}
