// Plays files that share a process: `node test/support/group.ts test/config/a.test.ts test/config/b.test.ts`.
import { resolve } from 'node:path';

// tap makes the names of temporary folders of the whole command line; the first file tells this batch from others.
const files = process.argv.splice(2);
process.argv.push(...files.slice(0, 1));
const { default: t } = await import('tap');
const loaded = Promise.withResolvers<void>();
// tap ends when it has nothing to do: the tests of one file may be over while the next one still starts its server.
void t.test('all files of the batch are loaded', () => loaded.promise);
for (const file of files) await import(resolve(file));
loaded.resolve();
