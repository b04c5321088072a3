// Which file a name leads to: one that is open goes on when somebody removes it or puts another in its place, and what is
// written to it then can be read by nobody.
import { statSync, type Stats } from 'node:fs';

/** The file that has this name now; null = none. @throws NodeJS.ErrnoException where a folder may not be searched */
export function fileIdAt(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : fileIdOf(found);
}

/** The same for every name of a file, and for no other file as long as one of the two is open. */
export function fileIdOf({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): string {
  return `${dev} ${ino}`;
}
