#!/usr/bin/env node
// Finds a Node that can run the proxy and hands over to it. Plain JavaScript for any Node, because its whole purpose
// is to say one clear sentence where the real program could not even be parsed.
'use strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installMissing } from './install.js';

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const NEEDED = [22, 19];

function fits(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
}

// A published package has dist/ alone; a checkout runs its sources.
const source = join(home, 'proxy', 'main.ts');
const main = existsSync(source) ? source : join(home, 'dist', 'proxy', 'main.js');

if (main === source) installMissing(home);
const pinned = join(home, 'node_modules', 'node', 'bin', 'node');
if (main === source && existsSync(pinned) && process.execPath !== pinned && !fits(process.versions.node)) {
  const self = fileURLToPath(import.meta.url);
  const child = spawn(pinned, [self, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C in a terminal reaches the child by itself; sent again it would be the second signal, which cuts requests.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
} else if (fits(process.versions.node)) {
  process.argv.splice(1, 1, main);
  // Spares stripping and compiling at the next start: 120 ms from sources, 30 ms built. Within the package, never in a
  // shared temporary folder, because whoever writes there could plant code. A read-only package starts without it.
  module.enableCompileCache?.(join(home, 'node_modules', '.cache', 'throughline'));
  await import(pathToFileURL(main).href);
} else {
  console.error(
    `throughline needs Node ${NEEDED.join('.')} or newer and this is ${process.versions.node} - install one, or run \`npm install\` in a checkout, which brings its own.`,
  );
  process.exit(1);
}
