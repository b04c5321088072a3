// Plays files that share a process: `node test/support/group.ts test/config/a.test.ts test/config/b.test.ts`.
import { resolve } from 'node:path';

// tap makes the names of temporary folders of the whole command line; the first file tells this batch from others.
const files = process.argv.splice(2);
process.argv.push(...files.slice(0, 1));
for (const file of files) await import(resolve(file));
