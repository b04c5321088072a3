// The npm package as `npx` meets it: packed, installed into an empty folder without tools of development, started there.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, runCli, startCli } from '../support/cli.ts';
import { copyOfSources, isOffline, npm, NPM_ENV, servedPackages, WITHOUT_REGISTRY } from '../support/npm.ts';

/** What may be in the tarball; everything else is a mistake. */
const ALLOWED: readonly RegExp[] = [
  /^(package\.json|README\.md|LICENSE)$/,
  /^bin\/(throughline|install|serving)\.js$/,
  /^dist\/(config|platform|proxy|schemas)\/[\w./-]+\.js(on)?$/,
  /^console\/dist\/[\w./-]+\.(html|js|css|svg|txt)(\.br|\.gz)?$/,
  /^config\/samples\/[\w-]+\.yaml$/,
  /^schemas\/(?:editor|gateway)\.json$/,
];
/** docs/install.md states them. */
const PACKED_BYTES = 2_100_000;
const UNPACKED_BYTES = 8_000_000;

interface Packed {
  readonly filename: string;
  readonly version: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const home = folder(t);
const sources = join(home, 'sources');
mkdirSync(sources);
copyOfSources(sources);
// What an earlier build has left is not packed.
mkdirSync(join(sources, 'dist', 'proxy'), { recursive: true });
writeFileSync(join(sources, 'dist', 'proxy', 'removed-long-ago.js'), '');
const made = npm(sources, 'npm', 'pack', '--json', '--silent', '--pack-destination', home);
// What prepack says stands before the JSON.
const [packed] = JSON.parse(made.out.slice(made.out.indexOf('[\n'))) as readonly Packed[];
if (packed === undefined) throw new Error(made.err);

t.test('the tarball holds what serving needs, and nothing else', (t) => {
  const paths = packed.files.map(({ path }) => path);
  t.strictSame(
    paths.filter((path) => !ALLOWED.some((one) => one.test(path)) || /\.test\.|removed-long-ago/.test(path)),
    [],
  );
  for (const path of [
    'bin/throughline.js',
    'dist/proxy/main.js',
    'dist/proxy/spend/store/sqlite/worker.js',
    'console/dist/index.html',
  ])
    t.ok(paths.includes(path), path);
  t.comment(`${packed.size} bytes packed, ${packed.unpackedSize} unpacked, ${paths.length} files`);
  t.ok(packed.size < PACKED_BYTES);
  t.ok(packed.unpackedSize < UNPACKED_BYTES);
  t.end();
});

t.test('installed into an empty folder it runs: --version, check, start, a call, SIGTERM', async (t) => {
  const place = join(home, 'empty');
  mkdirSync(place);
  const spec = `file:../${packed.filename}`;
  const root = { name: 'empty', version: '1.0.0', dependencies: { throughline: spec } };
  writeFileSync(join(place, 'package.json'), JSON.stringify(root));
  // The versions of our lockfile: the cache has those, and a new release of a package changes no result here.
  const { dependencies, bin, engines } = JSON.parse(
    readFileSync(join(sources, 'package.json'), 'utf8'),
  ) as Record<string, unknown>;
  const packages = {
    '': root,
    'node_modules/throughline': { version: packed.version, resolved: spec, dependencies, bin, engines },
    ...servedPackages(),
  };
  writeFileSync(
    join(place, 'package-lock.json'),
    JSON.stringify({ name: 'empty', version: '1.0.0', lockfileVersion: 3, requires: true, packages }),
  );
  const installed = npm(place, 'npm', 'ci', '--omit=dev', '--ignore-scripts');
  if (installed.status !== 0 && isOffline(installed.err)) {
    t.comment(`skipped: ${WITHOUT_REGISTRY}`);
    return;
  }
  t.equal(installed.status, 0, installed.err);

  const env = { PATH: NPM_ENV.PATH };
  const version = npm(place, 'npx', '--no-install', 'throughline', '--version');
  t.match(version, { status: 0, out: `${packed.version}\n` });
  const sample = join(place, 'node_modules', 'throughline', 'config', 'samples', 'quickstart.yaml');
  const program = join(place, 'node_modules', '.bin', 'throughline');
  const check = await runCli(t, ['check', '--config', sample], { command: [program], cwd: place, env });
  t.equal(check.code, 0, check.err);

  const cli = startCli(t, ['start', '--port', '0', '--data-dir', join(place, 'data')], {
    command: [program],
    cwd: place,
    env,
  });
  const [, url = ''] = await cli.said(/base URL +(\S+)\/v1/);
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-quickstart-agent', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  t.equal(response.status, 200);
  t.match(await response.json(), { object: 'chat.completion' });
  const healthy = await runCli(t, ['healthcheck', '--url', url], { command: [program], cwd: place, env });
  t.strictSame([healthy.code, healthy.out], [0, 'ready\n'], healthy.err);
  cli.kill('SIGTERM');
  t.match(await cli.ended, { code: 0 });
});

t.test('npm run sbom names what the package brings along, and no tool', (t) => {
  const { status, out, err } = npm(sources, 'npm', 'run', '--silent', 'sbom');
  t.equal(status, 0, err);
  const { components, bomFormat } = JSON.parse(out) as {
    bomFormat: string;
    components: readonly { readonly name: string }[];
  };
  t.equal(bomFormat, 'CycloneDX');
  const names = Object.keys(servedPackages()).map((path) => path.replace(/^.*node_modules\//, ''));
  t.strictSame(components.map(({ name }) => name).toSorted(), names.toSorted());
  t.ok(names.includes('undici'));
  t.end();
});
