// A release over its life, installed and upgraded by real helm against a Kubernetes API that keeps objects and does
// nothing else: what `helm template` cannot show, because it never looks at the cluster.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { at, CHART, HELM, type HelmRun, helmVersion, NO_HELM } from '../support/helm.ts';
import { WITHOUT_COLLECTIONS } from '../support/go-programs.ts';
import { KEEPS_IDLE } from '../support/keeps-idle.ts';

/** `npm run interop -- --only charts` plays newer ones on a real API server. */
const SKIP = /^v3\.(\d|1[0-5])(\.|$)/.test(helmVersion())
  ? NO_HELM
  : NO_HELM || 'this Helm speaks protobuf, which the stand-in does not read';

const KINDS: Readonly<Record<string, readonly (readonly [kind: string, name: string])[]>> = {
  v1: [
    ['Secret', 'secrets'],
    ['ConfigMap', 'configmaps'],
    ['Service', 'services'],
    ['ServiceAccount', 'serviceaccounts'],
    ['PersistentVolumeClaim', 'persistentvolumeclaims'],
  ],
  'apps/v1': [
    ['Deployment', 'deployments'],
    ['StatefulSet', 'statefulsets'],
  ],
};

function discovery(path: string): unknown {
  if (path === '/version') return { major: '1', minor: '31', gitVersion: 'v1.31.0' };
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  const apps = { groupVersion: 'apps/v1', version: 'v1' };
  if (path === '/apis')
    return { kind: 'APIGroupList', groups: [{ name: 'apps', versions: [apps], preferredVersion: apps }] };
  const groupVersion = path.replace(/^\/apis?\//, '');
  const kinds = KINDS[groupVersion];
  if (kinds === undefined) return undefined;
  const verbs = ['create', 'get', 'list', 'patch', 'update', 'delete'];
  const resources = kinds.map(([kind, name]) => ({ name, kind, namespaced: true, verbs }));
  return { kind: 'APIResourceList', groupVersion, resources };
}

/** Keeps what is created, by path; a patch changes nothing, which is enough for what is asked here. */
async function answer(
  kept: Map<string, unknown>,
  req: IncomingMessage,
): Promise<[status: number, body: unknown]> {
  const [path = ''] = (req.url ?? '').split('?');
  if (req.method === 'POST' || req.method === 'PUT') {
    const object: unknown = JSON.parse(await text(req));
    kept.set(req.method === 'PUT' ? path : `${path}/${String(at(object, 'metadata', 'name'))}`, object);
    return [201, object];
  }
  if (req.method === 'DELETE') return [kept.delete(path) ? 200 : 404, { kind: 'Status', apiVersion: 'v1' }];
  if (req.method === 'GET' && path.endsWith('/secrets')) {
    const items = [...kept]
      .filter(([name]) => name.startsWith(`${path}/sh.helm.`))
      .map(([, object]) => object);
    return [200, { kind: 'SecretList', apiVersion: 'v1', metadata: {}, items }];
  }
  const found = kept.get(path) ?? discovery(path);
  return found === undefined
    ? [404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }]
    : [200, found];
}

interface Release {
  /** Objects by path. */
  readonly kept: Map<string, unknown>;
  /** `METHOD path` of what changed something. */
  readonly changes: string[];
  readonly patches: Map<string, string>;
  readonly helm: (...args: readonly string[]) => Promise<HelmRun>;
}

/** An empty cluster, and helm for it. */
async function startRelease(t: Tap): Promise<Release> {
  const kept = new Map<string, unknown>();
  const changes: string[] = [];
  const patches = new Map<string, string>();
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const [path = ''] = (req.url ?? '').split('?');
    if (req.method !== 'GET' && !path.includes('/sh.helm.')) changes.push(`${req.method} ${path}`);
    if (req.method === 'PATCH') patches.set(path, await text(req));
    const [status, body] = await answer(kept, req);
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const server = createServer(KEEPS_IDLE, (req, res) => void serve(req, res));
  t.teardown(() => server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = t.testdir();
  const config = join(folder, 'kubeconfig');
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: url } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: '' } }],
      'current-context': 'c',
    }),
    { mode: 0o600 },
  );
  const run = async (...args: readonly string[]): Promise<HelmRun> => {
    // HOME: client-go caches what the cluster offers, and must not find another cluster's.
    const env = { ...process.env, ...WITHOUT_COLLECTIONS, KUBECONFIG: config, HOME: folder };
    const child = spawn(HELM ?? 'helm', [...args, '-n', 'oh', '--disable-openapi-validation'], { env });
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { ok: code === 0, out, err };
  };
  return { kept, changes, patches, helm: run };
}
type Tap = Pick<typeof t, 'teardown' | 'testdir'>;

t.test(
  'a generated master key outlives an upgrade, and the notes say how to read it',
  { skip: SKIP },
  async (t) => {
    const { kept, helm } = await startRelease(t);
    const run = async (...args: readonly string[]): Promise<string> => {
      const { ok, out, err } = await helm(...args);
      t.ok(ok, err);
      return out;
    };
    const secret = '/api/v1/namespaces/oh/secrets/openhands-litellm-masterkey';

    const idle = 'db.deployStandalone=true,collector.enabled=true,metricsServer.enabled=false';
    const notes = await run('install', 'openhands', CHART, '--set', idle);
    const first = at(kept.get(secret), 'data', 'masterkey');
    t.match(Buffer.from(String(first), 'base64').toString(), /^sk-[A-Za-z0-9]{32}$/);
    t.match(notes, 'http://openhands-litellm.oh.svc.cluster.local:4000/v1');
    t.match(
      notes,
      `get secret openhands-litellm-masterkey -o go-template='{{ index .data "masterkey" | base64decode }}'`,
    );
    t.match(notes, /on an emptyDir: they survive a restart of the container, not the deletion/);
    t.match(notes, 'helm -n oh test openhands --logs');
    t.match(notes, 'WARNING: there are no models yet');
    t.match(
      notes,
      /Accepted, without effect here: collector, db\.deployStandalone\. This chart brings no PostgreSQL/,
    );

    const model = 'proxy_config.model_list[0]';
    const sets = [
      `${model}.model_name=a`,
      `${model}.litellm_params.model=openai/a`,
      `${model}.litellm_params.api_key=sk-1`,
      `${model}.litellm_params.api_base=https://gateway.example.com/v1`,
      `${model}.litellm_params.extra_headers.X-Api-Token=abc`,
      `${model}.litellm_params.extra_headers.X-Tenant=prod`,
      'envVars.SOME_API_KEY=abc',
    ];
    const manifest = await run(
      'upgrade',
      'openhands',
      CHART,
      '--debug',
      ...sets.flatMap((one) => ['--set', one]),
    );
    t.match(manifest, `masterkey: ${String(first)}\n`, 'the key of the cluster, not another random one');
    t.match(manifest, 'WARNING: these secrets stand as plain text in the ConfigMap openhands-litellm-config');
    t.match(manifest, '\n  model_list[0].litellm_params.api_key\n');
    t.match(manifest, '\n  model_list[0].litellm_params.extra_headers.X-Api-Token\n');
    t.notMatch(manifest, 'extra_headers.X-Tenant', 'most headers are no secrets');
    t.match(manifest, 'WARNING: envVars SOME_API_KEY looks like a secret');
  },
);

const APPS = '/apis/apps/v1/namespaces/oh';
const CLAIMS = '/api/v1/namespaces/oh/persistentvolumeclaims';

t.test(
  'persistence moves a release to a StatefulSet and back; nothing else is taken away',
  { skip: SKIP },
  async (t) => {
    const { kept, changes, helm } = await startRelease(t);
    const move = async (...sets: readonly string[]): Promise<readonly string[]> => {
      changes.length = 0;
      const known = [...kept.keys()].some((path) => path.includes('/sh.helm.'));
      const { ok, err } = await helm(
        known ? 'upgrade' : 'install',
        'openhands',
        CHART,
        ...sets.flatMap((one) => ['--set', one]),
      );
      t.ok(ok, err);
      return changes.filter((change) => !change.startsWith('PATCH') && !change.endsWith('/secrets'));
    };
    await move('databaseSecretName=pg', 'replicaCount=3');
    t.ok(kept.has(`${APPS}/deployments/openhands-litellm`));
    const selector = at(kept.get(`${APPS}/deployments/openhands-litellm`), 'spec', 'selector');

    t.same(await move('databaseSecretName=pg', 'replicaCount=3', 'persistence.enabled=true'), [
      `POST ${APPS}/statefulsets`,
      `DELETE ${APPS}/deployments/openhands-litellm`,
    ]);
    const set = kept.get(`${APPS}/statefulsets/openhands-litellm`);
    t.match(set, {
      spec: {
        replicas: 3,
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate' },
        volumeClaimTemplates: [
          { metadata: { name: 'data' }, spec: { resources: { requests: { storage: '10Gi' } } } },
        ],
      },
    });
    t.same(
      at(set, 'spec', 'selector'),
      selector,
      'the Service finds the pods of both while one follows the other',
    );

    t.same(await move('databaseSecretName=pg'), [
      `POST ${APPS}/deployments`,
      `DELETE ${APPS}/statefulsets/openhands-litellm`,
    ]);
  },
);

t.test(
  'the claim of a Deployment that went before is not left behind in silence',
  { skip: SKIP },
  async (t) => {
    const { kept, changes, helm } = await startRelease(t);
    const upgrade = (...sets: readonly string[]): Promise<HelmRun> =>
      helm('upgrade', '--install', 'openhands', CHART, ...sets.flatMap((one) => ['--set', one]));
    t.match(await upgrade('kind=Deployment', 'persistence.enabled=true'), { ok: true });
    t.ok(kept.has(`${CLAIMS}/openhands-litellm-data`));
    changes.length = 0;
    t.match(await upgrade('persistence.enabled=true'), {
      ok: false,
      err: /The claim openhands-litellm-data holds what a Deployment .* set persistence\.existingClaim: openhands-litellm-data .* or kind: StatefulSet/,
    });
    t.same(
      changes.filter((change) => !change.endsWith('/secrets')),
      [],
      'nothing is changed',
    );

    const mine = ['persistence.enabled=true', 'persistence.existingClaim=openhands-litellm-data'];
    t.match(await upgrade(...mine), { ok: true });
    t.ok(kept.has(`${CLAIMS}/openhands-litellm-data`), 'the claim stays, though the release has it no more');
    t.ok(kept.has(`${APPS}/deployments/openhands-litellm`));

    t.match(await upgrade('persistence.enabled=true', 'kind=StatefulSet'), { ok: true });
    t.notOk(kept.has(`${APPS}/deployments/openhands-litellm`));
    t.ok(kept.has(`${CLAIMS}/openhands-litellm-data`));
  },
);

t.test(
  'a Deployment that changes to Recreate gives up what the API server filled in',
  { skip: SKIP },
  async (t) => {
    const { patches, helm } = await startRelease(t);
    t.match(await helm('install', 'openhands', CHART), { ok: true });
    const claim = ['--set', 'persistence.enabled=true,persistence.existingClaim=records'];
    t.match(await helm('upgrade', 'openhands', CHART, ...claim), { ok: true });
    const patch: unknown = JSON.parse(patches.get(`${APPS}/deployments/openhands-litellm`) ?? '{}');
    t.match(at(patch, 'spec', 'strategy'), { type: 'Recreate', rollingUpdate: null });
  },
);
