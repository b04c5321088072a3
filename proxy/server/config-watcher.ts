// Detects changes of the configuration files. Watches the directories, not the files: Kubernetes swaps a ConfigMap by
// renaming the `..data` symlink, after which a watch on the file itself never fires again (measured; `fs.watch(dir)`
// fires at every swap). Polling every 30 s covers file systems without notifications.
import { statSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';

const SETTLE_MS = 100;
const FALLBACK_MS = 30_000;

export class ConfigWatcher {
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: number }>();
  readonly #fallback: NodeJS.Timeout;
  #files: readonly string[] = [];
  #folders: ReadonlySet<string> = new Set();
  #seen = '';
  #settling: NodeJS.Timeout | null = null;

  /**
   * @param onChange called when a file was replaced or written to
   * @param fallbackMs polling interval
   */
  constructor(onChange: () => void, fallbackMs = FALLBACK_MS) {
    this.#onChange = onChange;
    this.#fallback = setInterval(() => this.#look(), fallbackMs).unref();
  }

  /** Watches the folders of exactly these files from now on. */
  follow(files: readonly string[]): void {
    this.#files = files;
    this.#seen = files.map(identityOf).join(' ');
    this.#folders = new Set(files.map((file) => dirname(file)));
    for (const folder of this.#watchers.keys()) if (!this.#folders.has(folder)) this.#drop(folder);
    this.#arm();
  }

  close(): void {
    clearInterval(this.#fallback);
    if (this.#settling !== null) clearTimeout(this.#settling);
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
    const now = this.#files.map(identityOf).join(' ');
    if (now === this.#seen) return;
    this.#seen = now;
    this.#onChange();
  }

  #noticed(): void {
    this.#settling ??= setTimeout(() => {
      this.#settling = null;
      this.#look();
    }, SETTLE_MS).unref();
  }
}

function inodeOf(folder: string): number | undefined {
  try {
    return statSync(folder).ino;
  } catch {
    return undefined; // missing or not readable: polling tries again
  }
}

/** Inode, size and times of a file, following symbolic links. */
function identityOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable'; // the reload reports what is wrong
  }
}
