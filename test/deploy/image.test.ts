// The Dockerfile: what it states, that it copies what there is, and that the folders it makes really start. No engine is
// needed: its stages are followed in folders, so what a base image brings is not seen here.
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SERVING_ENV } from '../../bin/serving.js';
import { folder, ROOT, startCli } from '../support/cli.ts';
import {
  copyOf,
  follow,
  isInContext,
  lastOf,
  pairsOf,
  readDockerfile,
  type Stage,
} from '../support/dockerfile.ts';
import { freePort } from '../support/free-port.ts';
import { isOffline, NPM_ENV, WITHOUT_REGISTRY } from '../support/npm.ts';

/** docs/install.md states it: our layers, uncompressed. The whole is below 150 MB as it is pulled. */
const LAYERS_BYTES = 40_000_000;

const { global, stages } = readDockerfile(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
const final = stages.at(-1) as Stage;

t.test('each COPY takes what the build context or an earlier stage has', (t) => {
  const names = new Set<string>();
  for (const stage of stages) {
    for (const one of stage.instructions.filter(({ name }) => name === 'COPY')) {
      const { from } = one.flags;
      if (from !== undefined) t.ok(names.has(from), `${from} is an earlier stage`);
      else for (const source of copyOf(one).sources) t.ok(isInContext(ROOT, source), source);
    }
    names.add(stage.name);
  }
  for (const path of ['test', 'node_modules', 'bin/node', 'data', '.git', '.env', 'bin/check.js'])
    t.notOk(isInContext(ROOT, path), `${path} does not reach the builder`);
  t.end();
});

t.test('the last stage: slim, without rights, with a health check of our own', (t) => {
  t.strictSame(
    global.map(({ name, rest }) => `${name} ${rest}`),
    ['ARG BASE=node:26-slim'],
  );
  t.equal(final.base, '${BASE}');
  t.equal(lastOf(final, 'RUN'), '', 'a base without a shell will do');
  t.match(lastOf(final, 'USER'), /^[1-9]\d*:[1-9]\d*$/, 'Kubernetes looks no name up');
  t.equal(lastOf(final, 'STOPSIGNAL'), 'SIGTERM');
  t.equal(lastOf(final, 'EXPOSE'), '4000');
  const health = /CMD (\[.*\])$/.exec(lastOf(final, 'HEALTHCHECK'));
  t.strictSame(JSON.parse(health?.[1] ?? '[]'), ['node', '/app/bin/throughline.js', 'healthcheck']);
  t.strictSame(JSON.parse(lastOf(final, 'ENTRYPOINT')), ['node', '/app/bin/throughline.js']);
  const labels = pairsOf(final, 'LABEL');
  for (const label of ['title', 'description', 'licenses', 'version', 'revision', 'created'])
    t.ok(`org.opencontainers.image.${label}` in labels, label);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  t.equal(pairsOf(final, 'ARG')['VERSION'], version);
  t.match(pairsOf(final, 'ENV'), SERVING_ENV, 'as the launcher begins a process');
  t.notMatch(JSON.stringify(pairsOf(final, 'ENV')), /key|token|password|secret/i);
  t.end();
});

t.test('the folders that it makes start, answer and end', async (t) => {
  const into = folder(t);
  let roots: ReadonlyMap<string, string>;
  try {
    roots = follow(stages, {
      context: ROOT,
      into,
      env: NPM_ENV,
      // The packages for the build are those of this checkout: the same lockfile, half a gigabyte less to copy.
      instead: (command, cwd) => {
        if (command !== 'npm ci --ignore-scripts') return false;
        symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
        return true;
      },
    });
  } catch (error) {
    if (!isOffline(String(error))) throw error;
    t.comment(`skipped: ${WITHOUT_REGISTRY}`);
    return;
  }
  const root = roots.get(final.name) ?? '';
  const app = join(root, 'app');
  t.strictSame(readdirSync(app).toSorted(), [
    'LICENSE',
    'bin',
    'config',
    'console',
    'dist',
    'node_modules',
    'package.json',
    'sbom.cdx.json',
    'schemas',
  ]);
  t.strictSame(readdirSync(join(app, 'bin')).toSorted(), ['install.js', 'serving.js', 'throughline.js']);
  t.equal(statSync(join(root, 'var/lib/throughline')).mode & 0o777, 0o700);
  const bytes = bytesBelow(app);
  t.comment(`${bytes} bytes in the layers of the image`);
  t.ok(bytes < LAYERS_BYTES, `${bytes} bytes`);
  const { components } = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8')) as {
    components: { name: string }[];
  };
  const names = components.map(({ name }) => name);
  t.strictSame(
    [...new Set(names)].toSorted(),
    [...new Set(packagesBelow(join(app, 'node_modules')))].toSorted(),
    'the SBOM names each package, and no other',
  );
  t.ok(names.includes('undici'));
  t.notOk(names.includes('typescript'));

  const config = join(into, 'config.yaml');
  writeFileSync(
    config,
    `model_list:
  - { model_name: a, litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1" } }
general_settings: { master_key: sk-master }
litellm_settings: { callbacks: [otel] }
`,
  );
  const port = await freePort();
  const env = {
    ...pairsOf(final, 'ENV'),
    PATH: NPM_ENV.PATH,
    CONFIG_FILE_PATH: config,
    THROUGHLINE_DATA_DIR: join(root, 'var/lib/throughline'),
    HOST: '127.0.0.1',
    PORT: String(port),
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  };
  /** A command of the Dockerfile, in this folder. */
  const placed = (json: string): [string, ...string[]] => {
    const [, ...rest] = (JSON.parse(json) as string[]).map((word) => word.replace(/^\/app\//, `${app}/`));
    return [process.execPath, ...rest];
  };
  const cwd = join(into, 'elsewhere');
  mkdirSync(cwd);
  const cli = startCli(t, JSON.parse(lastOf(final, 'CMD')) as string[], {
    command: placed(lastOf(final, 'ENTRYPOINT')),
    cwd,
    env,
  });
  await cli.said(/serves 1 models on /);
  const check = placed(/CMD (\[.*\])$/.exec(lastOf(final, 'HEALTHCHECK'))?.[1] ?? '');
  const healthy = startCli(t, [], { command: check, cwd, env });
  t.match(await healthy.ended, { code: 0, out: 'ready\n' });
  const models = await fetch(`http://127.0.0.1:${port}/v1/models`, {
    headers: { authorization: 'Bearer sk-master' },
  });
  t.equal(models.status, 200);
  // The tokenizer keeps one form of several, and the SDK of OpenTelemetry is there.
  for (const name of [
    'gpt-tokenizer/encoding/o200k_base',
    '@opentelemetry/sdk-trace',
    '@opentelemetry/resources',
  ]) {
    const load = startCli(t, ['--input-type=module', '-e', `await import('${name}')`], {
      command: [process.execPath],
      cwd: app,
    });
    t.match(await load.ended, { code: 0, err: '' }, name);
  }
  cli.kill('SIGTERM');
  t.match(await cli.ended, { code: 0 });
  const gone = startCli(t, [], { command: check, cwd, env });
  t.match(await gone.ended, { code: 1, err: /ECONNREFUSED/ });
});

function bytesBelow(place: string): number {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
}

/** Names of the packages in a node_modules, and in those within. */
function packagesBelow(place: string): string[] {
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .map(
      (path) =>
        /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(`node_modules/${path}`)?.[1],
    )
    .filter((name) => name !== undefined);
}
