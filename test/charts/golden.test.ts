// What three values files render to, whole: a change of a template shows as a change of these files. And over a matrix of
// values: each object is one that Kubernetes knows, by the strict schema of 1.34 and of the custom resources.
// After a change that is meant: UPDATE_GOLDEN=1 npm test -- test/charts/golden
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { at, CHART, helm, helmVersion, NO_HELM, rendered } from '../support/helm.ts';
import schemas from '../support/kubernetes-schemas.json' with { type: 'json' };
import { checkObject } from '../support/kubernetes-stand-in.ts';

const valuesFile = (name: string): string => join(import.meta.dirname, 'values', `${name}.yaml`);
/** Its example models are refused (models.test.ts), and its image; nothing else of the file is. */
const DEFAULTS = [
  '-f',
  valuesFile('dialect-default'),
  '--set',
  'proxy_config.model_list=null,image.repository=throughline',
];

t.comment(`helm ${helmVersion()}`);

/** Boards and rules come and go with their own tests. */
function withoutMonitoring(text: string): string {
  const parts = text
    .split(/^---\n/m)
    .filter((part) => !/^# Source: .*\/(dashboards|prometheusrule)\.yaml/m.test(part));
  return parts.join('---\n');
}

for (const [name, args] of [
  ['dialect-default', DEFAULTS],
  ['platform', ['-f', valuesFile('platform')]],
  ['production', ['-f', valuesFile('production')]],
  ['tls', ['-f', valuesFile('tls')]],
] as const) {
  t.test(`golden: ${name}`, { skip: NO_HELM }, (t) => {
    const run = helm('template', 'openhands', CHART, '-n', 'oh', '--kube-version', '1.31.0', ...args);
    t.ok(run.ok, run.err);
    // Helm 4 puts an empty line before each `---`.
    const even = withoutMonitoring(run.out).replace(/\n+(?=---\n|$)/g, '\n');
    const text = even.replace(/^( {2}masterkey: ).*$/m, '$1RANDOM');
    const path = join(import.meta.dirname, 'golden', `${name}.yaml`);
    if (process.env['UPDATE_GOLDEN'] !== undefined) writeFileSync(path, text);
    t.equal(text, readFileSync(path, 'utf8'));
    t.end();
  });
}

/** Sets of values that touch what the three files leave alone. */
const MATRIX: readonly (readonly string[])[] = [
  DEFAULTS,
  ['-f', valuesFile('platform')],
  ['-f', valuesFile('production')],
  ['-f', valuesFile('production'), '--kube-version', '1.23.0'],
  ['-f', valuesFile('exposed')],
  ['-f', valuesFile('tls')],
  ['-f', valuesFile('persistent'), '--set', 'persistence.existingClaim=records'],
  ['-f', valuesFile('persistent'), '--set', 'kind=Deployment'],
  ['-f', valuesFile('own-config')],
  ['-f', valuesFile('routes')],
];

t.test(
  'every object is one that Kubernetes knows, and no list names a thing twice',
  { skip: NO_HELM },
  (t) => {
    const kinds = new Set<string>();
    for (const args of MATRIX) {
      for (const [name, object] of rendered(...args)) {
        const kind = String(at(object, 'kind'));
        kinds.add(kind);
        t.ok(Object.hasOwn(schemas.kinds, kind), `${kind} has a schema`);
        t.doesNotThrow(() => checkObject(kind, withoutNulls(object)), `${args.join(' ')} ${name}`);
        t.same(twice(object), [], `${args.join(' ')} ${name}`);
        labelsAreText(t, object, name);
      }
    }
    t.same(
      Object.keys(schemas.kinds)
        .filter((kind) => !kinds.has(kind))
        .sort(),
      ['DeleteOptions', 'PodTemplate'],
      'nothing else is left out',
    );
    t.end();
  },
);

/** A null asks the API server to remove a field: the one that it fills in for another strategy. */
function withoutNulls(object: unknown): unknown {
  const text = JSON.stringify(object);
  return JSON.parse(
    text.replace('"rollingUpdate":null,', '').replace(',"rollingUpdate":null', ''),
  ) as unknown;
}

/** Names that stand twice in lists which Kubernetes merges by name: server-side apply refuses them. */
function twice(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys: Readonly<Record<string, string>> = {
    env: 'name',
    ports: 'name',
    volumes: 'name',
    containers: 'name',
    initContainers: 'name',
    volumeMounts: 'mountPath',
  };
  return Object.entries(value).flatMap(([key, inner]) => {
    const by = Array.isArray(inner) ? keys[key] : undefined;
    const names =
      by === undefined
        ? []
        : (inner as unknown[]).map((one) => at(one, by)).filter((one) => one !== undefined);
    const again = names.filter((one, index) => names.indexOf(one) !== index);
    return [...again.map((one) => `${path}.${key}: ${String(one)}`), ...twice(inner, `${path}.${key}`)];
  });
}

function labelsAreText(t: Pick<Tap, 'equal'>, object: unknown, name: string): void {
  for (const part of ['labels', 'annotations'])
    for (const [key, value] of Object.entries(at(object, 'metadata', part) ?? {}))
      t.equal(typeof value, 'string', `${name} ${key}`);
}
type Tap = typeof t;
