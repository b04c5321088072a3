// Plays the files of one folder that share a process: `node test/support/group.ts test/config`.
import { join } from 'node:path';
import { ROOT, sharers } from './files.ts';

const [, , folder = ''] = process.argv;
await Promise.all(sharers(folder).map((file) => import(join(ROOT, file))));
