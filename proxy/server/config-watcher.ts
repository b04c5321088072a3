// Detects changes of the configuration files. Watches the directories, not the files: Kubernetes swaps a ConfigMap by
// renaming the `..data` symlink, after which a watch on the file itself never fires again (measured; `fs.watch(dir)`
// fires at every swap). Polling every 30 s covers file systems without notifications.
import { statSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import { identityOf } from '../../config/read.ts';

/** A file that is written to in place may be valid, and half of what it will be: it is read after a pause. */
const PAUSE_MS = 100;
/** And at the latest so long after the first write. */
const LONGEST_MS = 3_000;
const FALLBACK_MS = 30_000;

/** Call `close` at the end: a watch keeps descriptors open. */
export class ConfigWatcher {
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: number }>();
  readonly #fallback: NodeJS.Timeout;
  /** By absolute path, what is known of each. */
  #files: ReadonlyMap<string, string> = new Map();
  #folders: ReadonlySet<string> = new Set();
  /** Something in the folders is being written. */
  #writing: { readonly pause: NodeJS.Timeout; readonly longest: NodeJS.Timeout } | null = null;
  #isClosed = false;

  /**
   * @param onChange called when a file was replaced or written to
   * @param fallbackMs polling interval
   */
  constructor(onChange: () => void, fallbackMs = FALLBACK_MS) {
    this.#onChange = onChange;
    this.#fallback = setInterval(() => this.#look(), fallbackMs).unref();
  }

  /**
   * Watches exactly these files from now on; none once it is closed, for a reload may end after that.
   * @param files by absolute path, the identities that they had when they were read: one that has changed since is noticed
   */
  follow(files: ReadonlyMap<string, string>): void {
    if (this.#isClosed) return;
    this.#files = files;
    this.#folders = new Set([...files.keys()].map((file) => dirname(file)));
    for (const folder of this.#watchers.keys()) if (!this.#folders.has(folder)) this.#drop(folder);
    this.#arm();
    this.#noticed();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#fallback);
    this.#settled();
    for (const folder of this.#watchers.keys()) this.#drop(folder);
  }

  /** Watches each directory. One that was removed or replaced has a new inode, and its old watch never fires again. */
  #arm(): void {
    for (const folder of this.#folders) {
      const inode = inodeOf(folder);
      if (inode !== undefined && this.#watchers.get(folder)?.inode === inode) continue;
      this.#drop(folder);
      if (inode === undefined) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#noticed());
        watcher.on('error', () => this.#drop(folder));
        this.#watchers.set(folder, { watcher, inode });
      } catch {
        // not watchable (inotify limit, unusual file system): polling covers it
      }
    }
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.watcher.close();
    this.#watchers.delete(folder);
  }

  /** The directories may contain other files, and reading 10,000 models takes a second: compare file identities first. */
  #look(): void {
    this.#arm();
    const now = new Map([...this.#files.keys()].map((file) => [file, identityOf(file)]));
    if ([...now].every(([file, identity]) => identity === this.#files.get(file))) return;
    this.#files = now;
    this.#onChange();
  }

  #noticed(): void {
    const longest = this.#writing?.longest ?? this.#lookIn(LONGEST_MS);
    clearTimeout(this.#writing?.pause);
    this.#writing = { pause: this.#lookIn(PAUSE_MS), longest };
  }

  #lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#settled();
      this.#look();
    }, ms).unref();
  }

  #settled(): void {
    clearTimeout(this.#writing?.pause);
    clearTimeout(this.#writing?.longest);
    this.#writing = null;
  }
}

function inodeOf(folder: string): number | undefined {
  try {
    return statSync(folder).ino;
  } catch {
    return undefined; // missing or not readable: polling tries again
  }
}
