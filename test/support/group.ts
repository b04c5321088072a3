// Plays files that share a process: `node test/support/group.ts test/config/a.test.ts test/config/b.test.ts`.
import { resolve } from 'node:path';

for (const file of process.argv.slice(2)) await import(resolve(file));
