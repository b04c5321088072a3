#!/usr/bin/env node
// Finds a Node that can run the proxy and hands over to it. Plain JavaScript for any Node, because its whole purpose
// is to say one clear sentence where the real program could not even be parsed.
'use strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { fits, installMissing, NEEDED_TEXT } from './install.js';
import { SERVING_ENV, SERVING_FLAGS } from './serving.js';

const home = dirname(dirname(fileURLToPath(import.meta.url)));

// A published package and an image have dist/ alone; a checkout runs its sources.
const source = join(home, 'proxy', 'main.ts');
const isCheckout = existsSync(source);
const main = isCheckout ? source : join(home, 'dist', 'proxy', 'main.js');

const { versions, execPath, execArgv } = process;
const node = isCheckout ? await installMissing(home, { tools: false }) : execPath;
// Node 22 prints that its SQLite is experimental, from a thread as well; only a flag keeps all of them quiet.
const QUIET = '--disable-warning=ExperimentalWarning';
const isLoud = versions.node.startsWith('22.') && !execArgv.includes(QUIET);
// What serves runs for months, so it may take 25 ms more to start. Whoever has set one of the variables is not overruled.
const isServing = ['serve', 'start'].includes(process.argv[2] ?? '') && process.platform === 'linux';
const isSet =
  !isServing || Object.keys(SERVING_ENV).every((name) => name in process.env) || process.connected;
const env = isSet ? process.env : { ...SERVING_ENV, ...process.env };
const flags = isSet ? [QUIET] : [QUIET, ...SERVING_FLAGS];
const args = [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];

if (node === execPath && !fits(versions.node)) {
  console.error(`throughline needs Node ${NEEDED_TEXT} or newer and this is ${versions.node} - install one.`);
  process.exit(1);
} else if (node !== execPath || isLoud) {
  const child = spawn(node, args, { stdio: 'inherit', env });
  // Ctrl-C in a terminal reaches the child by itself; sent again it would be the second signal, which cuts requests.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // They do nothing there; here the first would open a debugger, and the second leave the child without its parent.
  for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => undefined);
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
} else {
  // The same process, begun anew: these are read before any code of ours runs.
  if (!isSet && process.execve !== undefined) process.execve(node, [node, ...execArgv, ...args], env);
  process.argv.splice(1, 1, main);
  // Spares stripping and compiling at the next start: 120 ms from sources, 30 ms built. Within the package, never in a
  // shared temporary folder, because whoever writes there could plant code. A read-only package starts without it. Node
  // holds what it has read until the end, 12 MB: what serves built files starts 30 ms later instead.
  if (isCheckout || !isServing)
    module.enableCompileCache?.(join(home, 'node_modules', '.cache', 'throughline'));
  await import(pathToFileURL(main).href);
}
