// deploy/compose: what it mounts is there, what it waits for can become healthy, its secrets come from the environment file,
// and the files of others in it are what their programs read.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { folder, ROOT, runWithin } from '../support/cli.ts';
import { pairsOf, readDockerfile, type Stage } from '../support/dockerfile.ts';
import { withoutProgram } from '../support/prometheus.ts';

const HOME = join(ROOT, 'deploy', 'compose');
const read = (...names: readonly string[]): string => readFileSync(join(HOME, ...names), 'utf8');

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string };
  readonly env_file?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly stop_grace_period?: string;
}
const text = read('compose.yaml');
const { services, volumes } = parse(text) as {
  services: Record<string, Service>;
  volumes: Record<string, null>;
};
const mounts = Object.values(services)
  .flatMap((one) => one.volumes ?? [])
  .map((one) => one.split(':'));

t.test('each mounted path exists, each volume is declared and used', (t) => {
  for (const [source = '', target, mode] of mounts) {
    if (!source.startsWith('.')) continue;
    t.ok(existsSync(resolve(HOME, source)), source);
    t.equal(mode, 'ro', `${target} is read only`);
  }
  const named = mounts.map(([source = '']) => source).filter((source) => !source.startsWith('.'));
  t.strictSame(named.toSorted(), Object.keys(volumes).toSorted());
  t.ok(existsSync(resolve(HOME, services['throughline']?.build?.context ?? '', 'Dockerfile')));
  t.end();
});

t.test('services wait for what can become healthy; images are pinned; ports are of this machine', (t) => {
  t.strictSame(Object.keys(services), ['throughline', 'postgres', 'valkey', 'prometheus', 'grafana']);
  for (const [name, one] of Object.entries(services)) {
    t.match(one.image, /^[\w/-]+:[\w.-]*\d[\w.-]*$/, `${name} has a version`);
    for (const port of one.ports ?? []) t.match(port, /^127\.0\.0\.1:\d+:\d+$/, name);
    // That of the proxy stands in its image.
    if (name !== 'throughline') t.ok(one.healthcheck, `${name} has a health check`);
    for (const [other, { condition }] of Object.entries(one.depends_on ?? {}))
      t.ok(other in services && condition === 'service_healthy', `${name} waits for ${other}`);
  }
  const { stages } = readDockerfile(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
  const final = stages.at(-1) as Stage;
  t.ok(final.instructions.some(({ name }) => name === 'HEALTHCHECK'));
  t.equal(services['throughline']?.image, `throughline:${pairsOf(final, 'ARG')['VERSION']}`);
  t.end();
});

t.test('each variable stands in example.env without a value, and nothing else is there', (t) => {
  const lines = read('example.env')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  for (const line of lines) t.match(line, /^[A-Z_]+=$/, 'no default that somebody keeps');
  const stated = lines.map((line) => line.slice(0, -1));
  const compose = [...text.matchAll(/(?<!\$)\$\{(\w+):\?/g)].map(([, name = '']) => name);
  t.notMatch(text, /(?<!\$)\$(\w|\{\w+\})/, 'a variable that is not set ends `up` with a sentence');
  const config = [...read('config', 'config.yaml').matchAll(/os\.environ\/(\w+)/g)].map(
    ([, name = '']) => name,
  );
  const own = Object.keys(services['throughline']?.environment ?? {});
  const needed = [...compose, ...config].filter((name) => !own.includes(name));
  t.strictSame([...new Set(needed)].toSorted(), stated.toSorted());
  t.strictSame(services['throughline']?.env_file, ['.env']);
  t.ok(readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n').includes('.env'));
  t.end();
});

t.test('the configuration is served without a warning, and ends before compose kills it', async (t) => {
  const env = {
    PROXY_MASTER_KEY: 'sk-1',
    AGENTS_KEY: 'sk-2',
    GATEWAY_KEY: 'sk-3',
    DATABASE_URL: 'postgresql://throughline:a@postgres:5432/throughline?sslmode=disable',
    REDIS_URL: 'redis://:a@valkey:6379/0',
  };
  const config = join(HOME, 'config', 'config.yaml');
  const { code, out, err } = await runWithin(['check', '--strict', '--config', config], { env });
  t.equal(code, 0, out + err);
  const { general_settings: settings } = parse(read('config', 'config.yaml')) as {
    general_settings: { drain_seconds: number; admin_port: number };
  };
  t.equal(services['throughline']?.stop_grace_period, `${settings.drain_seconds + 30}s`);
  t.match(read('prometheus.yml'), `throughline:${settings.admin_port}`);
});

t.test('Grafana is told where its dashboards and its Prometheus are', (t) => {
  const grafana = services['grafana']?.volumes ?? [];
  const provider = parse(read('grafana/provisioning/dashboards/throughline.yaml')) as {
    providers: { options: { path: string } }[];
  };
  const place = provider.providers[0]?.options.path ?? '';
  const [source = ''] = grafana.find((one) => one.split(':')[1] === place)?.split(':') ?? [];
  t.ok(globSync('*.json', { cwd: resolve(HOME, source) }).length >= 4, 'all dashboards are below it');
  const sources = parse(read('grafana/provisioning/datasources/prometheus.yaml')) as {
    datasources: { url: string; type: string }[];
  };
  t.match(sources.datasources, [{ url: 'http://prometheus:9090', type: 'prometheus' }]);
  t.end();
});

t.test('promtool reads prometheus.yml with its rules', { skip: withoutProgram('promtool') }, (t) => {
  const place = folder(t);
  for (const mount of services['prometheus']?.volumes ?? []) {
    const [source = '', target = ''] = mount.split(':');
    if (!source.startsWith('.')) continue;
    mkdirSync(dirname(join(place, target)), { recursive: true });
    cpSync(resolve(HOME, source), join(place, target), { recursive: true });
  }
  const checked = spawnSync('promtool', ['check', 'config', join(place, 'etc/prometheus/prometheus.yml')], {
    encoding: 'utf8',
  });
  t.equal(checked.status, 0, checked.stdout + checked.stderr);
  t.match(checked.stdout, /SUCCESS: \d+ rules found/);
  t.match(checked.stdout, /1 rule files found/);
  t.end();
});
