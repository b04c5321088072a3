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
import { at, CHART, HELM, NO_HELM } from '../support/helm.ts';
import { KEEPS_IDLE } from '../support/keeps-idle.ts';

const KINDS: Readonly<Record<string, readonly (readonly [kind: string, name: string])[]>> = {
  v1: [
    ['Secret', 'secrets'],
    ['ConfigMap', 'configmaps'],
    ['Service', 'services'],
    ['ServiceAccount', 'serviceaccounts'],
  ],
  'apps/v1': [['Deployment', 'deployments']],
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

t.test(
  'a generated master key outlives an upgrade, and the notes say how to read it',
  { skip: NO_HELM },
  async (t) => {
    const kept = new Map<string, unknown>();
    const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
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
    const run = async (...args: readonly string[]): Promise<string> => {
      // HOME: client-go caches what the cluster offers, and must not find another cluster's.
      const env = { ...process.env, KUBECONFIG: config, HOME: folder };
      const child = spawn(HELM ?? 'helm', [...args, '-n', 'oh', '--disable-openapi-validation'], { env });
      const [out, err, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      t.equal(code, 0, err);
      return out;
    };
    const secret = '/api/v1/namespaces/oh/secrets/openhands-litellm-masterkey';

    const notes = await run('install', 'openhands', CHART, '--set', 'db.deployStandalone=true');
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
    t.match(notes, /Accepted, without effect here: db\.deployStandalone\. This chart brings no PostgreSQL/);

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
