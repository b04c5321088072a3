// Writes schemas/openapi.json, the copy for those who read the repository. With --check it writes nothing and fails when the
// file is stale. Runs in development only; nothing imports it.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { allRows } from '../route-table.ts';
import { openApiDocument } from './document.ts';

const path = fileURLToPath(new URL('../../../schemas/openapi.json', import.meta.url));
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const prettier = await import('prettier');
const made = await prettier.format(JSON.stringify(openApiDocument(allRows())), {
  ...(await prettier.resolveConfig(path)),
  filepath: path,
});
if (!values.check) writeFileSync(path, made);
else if (readFileSync(path, 'utf8') !== made) {
  process.stderr.write('schemas/openapi.json is stale - run: npm run generate\n');
  process.exitCode = 1;
}
