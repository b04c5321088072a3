// Installs what a fresh checkout lacks: the locked packages, and a Node that can run them where the present one is too
// old. `npm start` installs what serving needs; `node bin/install.js`, which `npm test` and `npm run check` call first,
// adds the tools. Does nothing when everything is there. Plain JavaScript for any Node.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The first version that runs TypeScript sources without a flag; `engines` in package.json says the same. */
const NEEDED = [22, 19];

/** Whether a Node of this version can run the proxy. */
export function fits(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
}

export const NEEDED_TEXT = NEEDED.join('.');

/**
 * Installs what is missing in a checkout, the packages and the Node at the same time.
 * @param tools also what tests and checks need
 * @returns the Node to run with: the present one, or the one that was brought along
 */
export async function installMissing(home, { tools }) {
  // After the first time npm's scripts run on the Node that was brought along: it is looked after as well.
  const isOwn = process.execPath.startsWith(join(home, 'bin', 'node') + sep);
  const isFit = fits(process.versions.node);
  await Promise.all([installPackages(home, tools), isFit && !isOwn ? null : installNode(home)]);
  if (isFit && !isOwn) return process.execPath;
  // `npx` and npm's scripts look here first, so that tools run on it too. `npm ci` removes the link with its folder.
  const link = join(home, 'node_modules', '.bin', 'node');
  if (process.platform !== 'win32' && lstatSync(link, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), broughtNode(home)), link);
  }
  return isFit ? process.execPath : broughtNode(home);
}

/** Installs the locked packages of a folder with a lockfile of its own, if any is missing. */
export async function installTools(folder, what) {
  if (!isInstalled(folder, () => true)) await npmCi(folder, what, []);
}

async function installPackages(home, tools) {
  const serving = ([, { dev }]) => dev !== true;
  if (isInstalled(home, tools ? () => true : serving)) return;
  // What has the tools keeps them: only a checkout that never had them is installed without.
  if (tools || hasTools(home)) await npmCi(home, 'everything for tests and checks', []);
  else await npmCi(home, 'what serving needs', ['--omit=dev']);
}

const broughtNode = (home) =>
  join(home, 'bin', 'node', 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');

async function installNode(home) {
  const folder = join(home, 'bin', 'node');
  if (existsSync(broughtNode(home)) && isInstalled(folder, () => true)) return;
  const { version } = Object.values(packagesOf(join(folder, 'package-lock.json'))).find((one) => one.version);
  say(`This is Node ${process.versions.node}; ${NEEDED_TEXT} or newer is needed.`);
  await npmCi(folder, `Node ${version} for this checkout alone`, []);
  if (existsSync(broughtNode(home))) return;
  say(`There is no Node to bring along for ${process.platform} ${process.arch}; install one.`);
  process.exit(1);
}

async function npmCi(folder, what, more) {
  say(`Installing ${what} (npm ci${more.map((one) => ` ${one}`).join('')}) ...`);
  const started = Date.now();
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  // Warnings about the Node that npm itself runs on concern nobody: the packages run on the one that fits.
  const args = ['ci', ...more, '--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
  const shell = process.platform === 'win32';
  const child = spawn(npm, args, { cwd: folder, stdio: ['ignore', 'ignore', 2], shell });
  const [status] = await once(child, 'exit').catch(noNpm);
  if (status !== 0) {
    say(`npm ci failed in ${folder}; see above. Run it by hand there and start again.`);
    process.exit(1);
  }
  const packages = Object.keys(packagesOf(markOf(folder))).length;
  const megabytes = Math.round(bytesBelow(join(folder, 'node_modules')) / 1e6);
  const seconds = Math.max(1, Math.round((Date.now() - started) / 1000));
  say(
    `Installed ${what}: ${packages} ${packages === 1 ? 'package' : 'packages'}, ${megabytes} MB, ${seconds} s.`,
  );
}

/** Debian and Alpine have npm in a package of its own. */
function noNpm({ message }) {
  say(
    `npm cannot be run (${message}). Install it (\`apt-get install npm\`, \`apk add npm\`) and start again.`,
  );
  process.exit(1);
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Compares versions, not times: npm writes the lockfile after node_modules, so it always looks newer. */
function isInstalled(folder, isWanted) {
  if (!existsSync(markOf(folder))) return false;
  const installed = packagesOf(markOf(folder));
  const locked = Object.entries(packagesOf(join(folder, 'package-lock.json'))).filter(isWanted);
  const isMissing = ([path, { version, optional }]) =>
    path !== '' && installed[path]?.version !== version && !(optional && installed[path] === undefined);
  return !locked.some(isMissing);
}

function hasTools(home) {
  return existsSync(markOf(home)) && Object.values(packagesOf(markOf(home))).some(({ dev }) => dev === true);
}

/** What npm wrote down about what it installed. */
function markOf(folder) {
  return join(folder, 'node_modules', '.package-lock.json');
}

function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

function bytesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesBelow(path) : lstatSync(path).size);
  }, 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await installMissing(dirname(dirname(fileURLToPath(import.meta.url))), { tools: true });
}
