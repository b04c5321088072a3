// Notices that a configuration file has changed. Watches the folders, not the files: Kubernetes swaps a ConfigMap by
// renaming the `..data` symlink, after which a watch on the file itself is dead (measured; `fs.watch(dir)` fires at
// every swap). A slow look every 30 s covers file systems that tell nothing.
import { statSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';

const SETTLE_MS = 100;
const FALLBACK_MS = 30_000;

export class ConfigWatcher {
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #fallback: NodeJS.Timeout;
  #settling: NodeJS.Timeout | null = null;
  #files: readonly string[] = [];
  #seen = '';

  /** `onChange` is called when one of the files is another one than before, or has been written to. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#fallback = setInterval(() => this.#look(), FALLBACK_MS).unref();
  }

  /** Watches the folders of exactly these files from now on. */
  follow(files: readonly string[]): void {
    this.#files = files;
    this.#seen = signatureOf(files);
    const folders = new Set(files.map((file) => dirname(file)));
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#noticed());
        watcher.on('error', () => this.#drop(folder)); // the folder was removed; the fallback goes on
        this.#watchers.set(folder, watcher);
      } catch {
        // not watchable (no inotify left, odd file system): the fallback looks every 30 s
      }
    }
  }

  close(): void {
    clearInterval(this.#fallback);
    if (this.#settling !== null) clearTimeout(this.#settling);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #noticed(): void {
    this.#settling ??= setTimeout(() => {
      this.#settling = null;
      this.#look();
    }, SETTLE_MS).unref();
  }

  /** Other files may live in the folder, and reading 10,000 models takes a second: look before. */
  #look(): void {
    const now = signatureOf(this.#files);
    if (now === this.#seen) return;
    this.#seen = now;
    this.#onChange();
  }
}

/** Which files these are and when they changed, through symbolic links. */
function signatureOf(files: readonly string[]): string {
  return files.map(identityOf).join(' ');
}

function identityOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable'; // reading it will say what is wrong
  }
}
