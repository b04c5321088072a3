// The data directory: made where it is missing, refused where it cannot hold data, and private. Its files hold who asked
// what and sealed keys, so that nobody else on the machine may read them, also when they were there before.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statfsSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { errorCode } from '../../../config/error-code.ts';
import type { SpendEvent } from '../event.ts';

const OTHERS = 0o077;
const WORLD_WRITES = 0o002;
const ROOT = 0;

/** Kernel interfaces that look like file systems, by their magic number (statfs(2)); none keeps a file. */
const VIRTUAL: ReadonlyMap<number, string> = new Map([
  [0x9fa0, 'proc'],
  [0x62656572, 'sysfs'],
  [0x27e0eb, 'cgroup'],
  [0x63677270, 'cgroup2'],
  [0x64626720, 'debugfs'],
  [0x74726163, 'tracefs'],
  [0x1cd1, 'devpts'],
  [0x73636673, 'securityfs'],
  [0x6165676c, 'pstore'],
  [0xcafe4a11, 'bpf'],
  [0x19800202, 'mqueue'],
]);

/** What the proxy keeps in a data directory, and what file systems put into each. */
const OWN =
  /^((lock|throughline|platform|access|history|brake|capsules)\.db.*|journal|alerts|capsules|replica-id|sandboxes|quickstart\.yaml|port-\d+|lost\+found)$/;
/** Folders of which everything is the proxy's. */
const OWN_FOLDERS = ['journal', 'alerts', 'capsules'];
/** There since the first start with it. */
const MARKS = ['lock.db', 'journal'];

const ANOTHER = 'name another one with --data-dir';

/** No right and no space would make it one. */
class UnsuitableDirectory extends Error {
  override readonly name = 'UnsuitableDirectory';
  readonly fix: string;

  constructor(message: string, fix = ANOTHER, options?: ErrorOptions) {
    super(message, options);
    this.fix = fix;
  }
}

/** What is said of a data directory that cannot be used, because of what `makeDirectory`, `openDirectory` or a file in it has thrown. */
export function unusableDirectory(dir: string, cause: Error): Error {
  const fix =
    cause instanceof UnsuitableDirectory ? cause.fix : `make it writable and free space in it, or ${ANOTHER}`;
  return new Error(`the data directory ${dir} cannot be used (${cause.message}) - ${fix}`, { cause });
}

/**
 * Makes a directory with those above it, each for its owner alone. Not `mkdirSync(recursive)`, which never returns where
 * the kernel answers ENOENT in a directory that exists, as in /proc.
 * @throws Error that says what is in the way
 */
export function makeDirectory(dir: string): void {
  const missing: string[] = [];
  let at = resolve(dir);
  let found = statSync(at, { throwIfNoEntry: false });
  while (found === undefined && dirname(at) !== at) {
    missing.push(at);
    at = dirname(at);
    found = statSync(at, { throwIfNoEntry: false });
  }
  if (found?.isDirectory() !== true) throw new UnsuitableDirectory(`${at} is not a directory`);
  const kind = VIRTUAL.get(statfsSync(at).type);
  if (kind !== undefined) throw new UnsuitableDirectory(`${at} is part of ${kind}, which keeps no files`);
  for (const path of missing.toReversed()) makeOne(path);
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    // Another process was faster; or the name is a symbolic link that leads nowhere.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new UnsuitableDirectory(`${path} is a symbolic link to nothing`, ANOTHER, { cause: error });
  }
}

/**
 * Makes a data directory if it is missing, and takes what others may do with it and the files in it from them.
 * @param self user id of this process
 * @returns what there is to say about it
 * @throws Error when it cannot be one, or belongs to somebody who could replace its files
 */
export function openDirectory(dir: string, self = process.geteuid?.()): readonly SpendEvent[] {
  makeDirectory(dir);
  const stats = statSync(dir);
  if (self === undefined) return []; // Windows: the mode says nothing there
  if (stats.uid !== self && stats.uid !== ROOT && self !== ROOT)
    throw new UnsuitableDirectory(
      `it belongs to another user (uid ${stats.uid}; this process has uid ${self})`,
      `give it to the user of this process, or ${ANOTHER}`,
    );
  const isOpen = (stats.mode & OTHERS) !== 0;
  const isOwn = stats.uid === self || self === ROOT;
  const closes = isOpen && isOwn && mayBeClosed(dir, stats);
  if (closes) chmodSync(dir, 0o700);
  const files = tightened(dir, 0);
  const events: SpendEvent[] = [];
  if (isOpen && !closes) events.push(sharedEvent(dir, stats, isOwn));
  if (closes || files > 0) events.push(tightenedEvent(dir, stats, closes, files));
  if (self === ROOT && stats.uid !== ROOT)
    events.push({
      level: 'warn',
      name: 'data_directory_owner',
      message: `the data directory ${dir} belongs to uid ${stats.uid}, who can read and replace what is in it - give it to the user of this process`,
    });
  return events;
}

/**
 * A directory with other things in it, /tmp or a home directory for example, is not closed to others at its first use.
 * @throws Error where everybody could replace the files
 */
function mayBeClosed(dir: string, { mode }: Stats): boolean {
  const names = readdirSync(dir);
  if (names.every((name) => OWN.test(name))) return true;
  if ((mode & WORLD_WRITES) !== 0)
    throw new UnsuitableDirectory(
      'everybody may write to it, and it holds other things than the data of this proxy',
    );
  return MARKS.every((name) => names.includes(name));
}

/**
 * Sets the proxy's files to 0600 and its folders to 0700. Sandboxes have directories of their own here, whose
 * contents are theirs.
 * @returns how many were open to others
 */
function tightened(dir: string, depth: number): number {
  let count = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    const isFolder = entry.isDirectory() && (depth > 0 || OWN_FOLDERS.includes(entry.name));
    if (!isFolder && !(entry.isFile() && (depth > 0 || OWN.test(entry.name)))) continue; // a symbolic link is left as it is: its target may be anywhere
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isSymbolicLink()) continue;
    if ((stats.mode & OTHERS) !== 0 && isChanged(path, isFolder ? 0o700 : 0o600)) count += 1;
    if (isFolder) count += tightened(path, depth + 1);
  }
  return count;
}

/** A file of another user is left: the directory is closed to others in any case. */
function isChanged(path: string, mode: number): boolean {
  try {
    chmodSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function tightenedEvent(dir: string, { mode }: Stats, isOpen: boolean, files: number): SpendEvent {
  const which = isOpen ? `the data directory ${dir} had mode ${octal(mode)}` : `in the data directory ${dir}`;
  const what = files === 0 ? '' : `${files} ${files === 1 ? 'file was' : 'files were'} open to other users`;
  const both = isOpen && what !== '' ? `${which}, and ${what}` : `${which}${isOpen ? '' : ` ${what}`}`;
  return {
    level: 'warn',
    name: 'data_directory_tightened',
    message: `${both}; now only the user of this process may read and write there`,
  };
}

/** Kubernetes mounts volumes as root's, with the pod's group (fsGroup): there is nothing that this process could change. */
function sharedEvent(dir: string, { mode }: Stats, isOwn: boolean): SpendEvent {
  const why = isOwn
    ? `holds other things too, so its mode ${octal(mode)} is left`
    : `is root's and has mode ${octal(mode)}, which this process cannot change`;
  return {
    level: isOwn || (mode & WORLD_WRITES) !== 0 ? 'warn' : 'info',
    name: 'data_directory_shared',
    message: `the data directory ${dir} ${why}; the files of the proxy in it are for this process alone`,
  };
}

/** Whoever names a database for the first time has keys here that open nothing any more. */
export function sqliteNotRead(dir: string): SpendEvent | null {
  const names = ['access.db', 'throughline.db', 'platform.db'].filter((name) => existsSync(join(dir, name)));
  if (names.length === 0) return null;
  return {
    level: 'warn',
    name: 'sqlite_not_read',
    message:
      `${names.join(', ')} in ${dir} ${names.length === 1 ? 'is' : 'are'} not read, because a database is named: keys, teams, ` +
      `stored models and rows of that time are not in it - make them again there, and move the files away`,
  };
}

const octal = (mode: number): string => `0${(mode & 0o7777).toString(8)}`;
