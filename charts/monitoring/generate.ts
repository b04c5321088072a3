// Writes the dashboards, the rules, the inhibitions and the index of the runbooks. With --check it writes nothing and fails
// when a file is stale. Runs in development only; nothing imports it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { generatedFiles } from './files.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });

const read = (path: string): string => {
  const place = join(ROOT, path);
  return existsSync(place) ? readFileSync(place, 'utf8') : '';
};

for (const [path, text] of generatedFiles(read)) {
  const place = join(ROOT, path);
  const fresh = await format(text, { ...(await resolveConfig(place)), filepath: place });
  if (!values.check) {
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, fresh);
  } else if (read(path) !== fresh) {
    process.stderr.write(`${path} is stale - run: node charts/monitoring/generate.ts\n`);
    process.exitCode = 1;
  }
}
