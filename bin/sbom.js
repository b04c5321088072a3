// `npm run sbom`: the bill of materials (CycloneDX) of what is served, on stdout. npm writes it from the lockfile; its own
// `--omit dev` leaves out what a development tool needs as well (undici, yaml: npm 11.19), so the choice is made here.
//
//   node bin/sbom.js               the npm package: all that the lockfile does not mark as for development
//   node bin/sbom.js --installed   an image: all that is in node_modules
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
const { status, stdout, stderr } = spawnSync('npm', args, {
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
  shell: process.platform === 'win32',
});
if (status !== 0) {
  process.stderr.write(stderr);
  process.exit(1);
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const isInstalled = process.argv.includes('--installed');
const isServed = ([path, { dev }]) => (isInstalled ? existsSync(`${path}/package.json`) : dev !== true);
/** npm tells a package that stands in several places once, so names and versions decide, not paths. */
const served = new Set(
  Object.entries(packages)
    .filter(([path]) => path !== '')
    .filter(isServed)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`),
);

const whole = JSON.parse(stdout);
const components = whole.components.filter((one) => served.has(one['bom-ref']));
const root = whole.metadata.component['bom-ref'];
const kept = new Set([root, ...components.map((one) => one['bom-ref'])]);
const dependencies = whole.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) }));
process.stdout.write(`${JSON.stringify({ ...whole, components, dependencies }, null, 2)}\n`);
