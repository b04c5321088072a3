// The chart with the Helm of today: npm has one of 2021 alone, which `npm test` uses. Builds Helm 4, the newest Helm 3 and
// kubeconform from Go modules; plays the chart's tests with both, validates what they render against the OpenAPI documents of
// the oldest and the newest Kubernetes, and installs and upgrades on a real API server where KUBE_APISERVER and ETCD name one.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../../support/cli.ts';
import { at, CHART } from '../../support/helm.ts';
import { startCluster, type TestCluster } from '../../support/kubernetes.ts';
import vendored from '../../support/kubernetes-schemas.json' with { type: 'json' };
import { goModule, goProgram, goVersion } from '../harness/go-programs.ts';
import { Missing, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

const HELM_4 = 'helm.sh/helm/v4/cmd/helm@v4.3.1';
const HELM_3 = 'helm.sh/helm/v3/cmd/helm@v3.22.0';
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0';
/** The oldest that Chart.yaml allows, and the newest. */
const KUBERNETES = ['1.23.17', '1.37.1'];
const VALUES = ['dialect-default', 'platform', 'production', 'exposed', 'persistent', 'own-config', 'routes'];
/** Its example models are refused, and nothing else of it. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  'dialect-default': ['--set', 'proxy_config.model_list=null,image.repository=throughline'],
};

async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  assert.equal(code, 0, `${err.slice(-2000)}\n${out.slice(-2000)}`);
  return out;
}

const valuesFile = (name: string): readonly string[] => [
  '-f',
  join(ROOT, 'test/charts/values', `${name}.yaml`),
  ...(MORE[name] ?? []),
];

/** `npm test -- test/charts` with this helm. */
function tests(name: string, helm: string): Case {
  return {
    name: `the tests of the chart, with ${name}`,
    play: async () => {
      const out = await run(process.execPath, ['test/support/run.ts', 'test/charts'], {
        ...process.env,
        HELM_BIN: helm,
      });
      return out.trim().split('\n').at(-1) ?? '';
    },
  };
}

/** A schema file a kind, as kubeconform looks for them: those of one Kubernetes, and custom resources from the vendored ones. */
function schemaFolder(suite: InteropRun, version: string): string {
  const swagger = join(goModule(`k8s.io/kubernetes@v${version}`), 'api/openapi-spec/swagger.json');
  const cut = spawnSync('python3', [join(ROOT, 'test/interop/kubernetes/schemas.py'), swagger], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (cut.status !== 0) throw new Missing(`python3 schemas.py failed: ${cut.stderr.slice(-300)}`);
  const own = JSON.parse(cut.stdout) as typeof vendored;
  const folder = join(suite.folder(), version);
  mkdirSync(folder);
  for (const [kind, name] of Object.entries({ ...vendored.kinds, ...own.kinds })) {
    const { definitions } = Object.hasOwn(own.kinds, kind) ? own : vendored;
    writeFileSync(
      join(folder, `${kind.toLowerCase()}.json`),
      JSON.stringify({ $ref: `#/definitions/${name}`, definitions }),
    );
  }
  return folder;
}

function conforms(suite: InteropRun, helm: string, kubeconform: string, version: string): Case {
  return {
    name: `what it renders for Kubernetes ${version}, by kubeconform`,
    play: async () => {
      const folder = schemaFolder(suite, version);
      let objects = 0;
      for (const name of VALUES) {
        const rendered = await run(helm, [
          'template',
          'openhands',
          CHART,
          '-n',
          'oh',
          '--kube-version',
          version,
          ...valuesFile(name),
        ]);
        const path = join(folder, `${name}.yaml`);
        // As in golden.test.ts: a null asks the API server to remove a field.
        writeFileSync(path, rendered.replace(/^ +rollingUpdate: null\n/gm, ''));
        const told: unknown = JSON.parse(
          await run(kubeconform, [
            '-strict',
            '-summary',
            '-output',
            'json',
            '-schema-location',
            `${folder}/{{.ResourceKind}}.json`,
            path,
          ]),
        );
        assert.equal(at(told, 'summary', 'skipped'), 0);
        objects += Number(at(told, 'summary', 'valid'));
      }
      return `${objects} objects of ${VALUES.length} values files`;
    },
  };
}

const APPS = '/apis/apps/v1/namespaces/oh';
const CLAIM = '/api/v1/namespaces/oh/persistentvolumeclaims/records';

/** A release over its life, on a real API server: server-side apply with Helm 4. */
function lifeOf(suite: InteropRun, name: string, helm: string): Case {
  const { KUBE_APISERVER = '', ETCD = '' } = process.env;
  const has = KUBE_APISERVER !== '' && ETCD !== '';
  return {
    name: `a release on a real API server, with ${name}`,
    missing: has
      ? null
      : 'KUBE_APISERVER and ETCD name no programs - test/interop/kubernetes/build.sh builds them',
    play: async () => {
      const cluster = await startCluster({
        teardown: (act) => suite.teardown(act),
        comment: () => undefined,
      });
      const upgrade = await helmFor(suite, cluster, helm);
      await cluster.call('POST', '/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: 'oh' },
      });
      const get = async (path: string): Promise<unknown> => (await cluster.call('GET', path)).body;
      const is = async (kind: 'deployments' | 'statefulsets'): Promise<unknown> =>
        get(`${APPS}/${kind}/openhands-litellm`);

      await upgrade();
      const first = await is('deployments');
      assert.deepEqual(at(first, 'spec', 'strategy', 'type'), 'RollingUpdate');
      const key = at(
        await get('/api/v1/namespaces/oh/secrets/openhands-litellm-masterkey'),
        'data',
        'masterkey',
      );

      // Recreate and back: the API server has filled in a rollingUpdate, and refuses it beside Recreate.
      await upgrade('persistence.enabled=true', 'persistence.existingClaim=records');
      assert.equal(at(await is('deployments'), 'spec', 'strategy', 'type'), 'Recreate');
      await upgrade();
      assert.equal(at(await is('deployments'), 'spec', 'strategy', 'type'), 'RollingUpdate');

      // A variable in the values that the chart sets too, and everything else of production.
      const production = [
        'databaseSecretName=pg',
        'replicaCount=3',
        'envVars.HOST=0.0.0.0',
        'networkPolicy.enabled=true',
        'pdb.enabled=true',
      ];
      await upgrade(...production);
      await upgrade(...production, 'persistence.enabled=true');
      assert.equal(at(await is('statefulsets'), 'spec', 'replicas'), 3);
      assert.equal(at(await is('deployments'), 'code'), 404);
      // The same again, with other labels of all: claims may not change.
      await upgrade(...production, 'persistence.enabled=true', 'commonLabels.a=b');
      await upgrade(...production);
      assert.equal(at(await is('deployments'), 'spec', 'replicas'), 3);
      assert.equal(at(await is('statefulsets'), 'code'), 404);
      const kept = at(
        await get('/api/v1/namespaces/oh/secrets/openhands-litellm-masterkey'),
        'data',
        'masterkey',
      );
      assert.equal(kept, key, 'one master key over all upgrades');
      assert.equal(at(await get(CLAIM), 'code'), 404, 'a claim of somebody else is not made');
      return `${cluster.name}, 7 upgrades`;
    },
  };
}

/** `helm upgrade --install` of the release on a cluster. */
async function helmFor(
  suite: InteropRun,
  cluster: TestCluster,
  helm: string,
): Promise<(...sets: readonly string[]) => Promise<void>> {
  const folder = suite.folder();
  const config = join(folder, 'kubeconfig');
  const ca = cluster.caFile === null ? '' : readFileSync(cluster.caFile).toString('base64');
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: cluster.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { token: cluster.token } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    }),
    { mode: 0o600 },
  );
  const env = { PATH: process.env['PATH'], KUBECONFIG: config, HOME: folder };
  return async (...sets) => {
    await run(
      helm,
      [
        'upgrade',
        '--install',
        '--reset-values',
        'openhands',
        CHART,
        '-n',
        'oh',
        ...sets.flatMap((one) => ['--set', one]),
      ],
      env,
    );
  };
}

export const charts: Suite = {
  name: 'charts',
  about:
    'the Helm chart with Helm 4 and the newest Helm 3, kubeconform and a real API server (Go builds them)',
  prepare: (suite) => {
    const go = goVersion();
    const [four, three, kubeconform] = [goProgram(HELM_4), goProgram(HELM_3), goProgram(KUBECONFORM)];
    return Promise.resolve({
      software: `Helm ${HELM_4.split('@v')[1] ?? ''} and ${HELM_3.split('@v')[1] ?? ''}, kubeconform ${KUBECONFORM.split('@v')[1] ?? ''}, Go ${go}`,
      cases: [
        tests('Helm 4', four),
        tests('Helm 3', three),
        ...KUBERNETES.map((version) => conforms(suite, four, kubeconform, version)),
        lifeOf(suite, 'Helm 4', four),
        lifeOf(suite, 'Helm 3', three),
      ],
    });
  },
};
