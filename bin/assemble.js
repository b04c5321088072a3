// Assembles proxy/bodies/string-scan.wat into string-scan-bytes.ts; `--check` fails when that file is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import wabt from 'wabt';

const bodies = join(dirname(dirname(fileURLToPath(import.meta.url))), 'proxy', 'bodies');
const target = join(bodies, 'string-scan-bytes.ts');

const tools = await wabt();
const text = readFileSync(join(bodies, 'string-scan.wat'), 'utf8');
const module = tools.parseWat('string-scan.wat', text, { simd: true });
module.validate();
const lines =
  Buffer.from(module.toBinary({}).buffer)
    .toString('base64')
    .match(/.{1,100}/g) ?? [];
const made = `// Generated from string-scan.wat by \`node bin/assemble.js\`. Do not edit.

/** A WebAssembly module, base64. */
export const STRING_SCAN =
${lines.map((line) => `  '${line}'`).join(' +\n')};
`;

if (!process.argv.includes('--check')) writeFileSync(target, made);
else if (readFileSync(target, 'utf8') !== made) {
  console.error('proxy/bodies/string-scan-bytes.ts is stale: run npm run generate');
  process.exit(1);
}
