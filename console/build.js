// Builds the console into console/dist/, which is committed: who runs the proxy needs no tools for it.
//   node console/build.js            builds; each file with its .br and .gz
//   node console/build.js --check    also checks types, and fails when what is committed is not what the sources build
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib';
import { installTools } from '../bin/install.js';

const HERE = dirname(fileURLToPath(import.meta.url));
const DIST = join(HERE, 'dist');

/** Every file of a folder, as `path -> bytes`. */
function filesOf(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return new Map(
    entries.map((one) => {
      const path = join(one.parentPath, one.name);
      return [relative(folder, path).replaceAll('\\', '/'), readFileSync(path)];
    }),
  );
}

function run(command, args) {
  const { status } = spawnSync(process.execPath, [command, ...args], {
    cwd: HERE,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) process.exit(status ?? 1);
}

function build(folder) {
  run(join(HERE, 'node_modules/vite/bin/vite.js'), ['build', '--logLevel', 'warn', '--outDir', folder]);
  for (const [path, bytes] of filesOf(folder)) {
    const level = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(join(folder, `${path}.br`), brotliCompressSync(bytes, { params: level }));
    writeFileSync(join(folder, `${path}.gz`), gzipSync(bytes, { level: 9 }));
  }
}

/** What a file holds: versions of zlib compress differently. */
function plain(path, bytes) {
  if (path.endsWith('.br')) return brotliDecompressSync(bytes);
  return path.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

function differences(committed, built) {
  const paths = new Set([...committed.keys(), ...built.keys()]);
  return [...paths].filter((path) => {
    const [one, other] = [committed.get(path), built.get(path)];
    return one === undefined || other === undefined || !plain(path, one).equals(plain(path, other));
  });
}

await installTools(HERE, 'what the console is built with');
if (process.argv.includes('--check')) {
  run(join(HERE, '../node_modules/typescript/bin/tsc'), ['-p', 'tsconfig.json']);
  const folder = mkdtempSync(join(tmpdir(), 'throughline-console-'));
  try {
    build(folder);
    const stale = differences(filesOf(DIST), filesOf(folder));
    if (stale.length > 0) {
      console.error(
        `console/dist is not what its sources build; run npm run build:console: ${stale.join(', ')}`,
      );
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else {
  build(DIST);
  const sum = [...filesOf(DIST)].reduce(
    (all, [path, { length }]) => all + (path.endsWith('.br') ? length : 0),
    0,
  );
  console.log(`console/dist: ${(sum / 1000).toFixed(1)} kB compressed`);
}
