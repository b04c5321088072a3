// Sandboxes as pods: what the API server is asked for under the role of the Helm chart, and what its answers become.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { startCluster, type Reply, type TestCluster } from '../../../support/kubernetes.ts';
import { startKubelet, type Kubelet } from '../../fixture/kubelet.ts';
import { at, startPlatform, until, type PlatformRig } from '../../fixture/rig.ts';
import { beforeNextLook } from '../../../support/patience.ts';
import { tempDir } from '../../../proxy/spend/store/fixture/temp-dir.ts';

const PATH = '/api/v1/sandboxes';
const NAMESPACE = 'agents';
const BASE = `/api/v1/namespaces/${NAMESPACE}`;
const ROLE = new URL('../../fixture/sandbox-role.yaml', import.meta.url);
const KINDS = ['pods', 'services', 'secrets', 'persistentvolumeclaims', 'podtemplates'] as const;

interface Sandbox {
  readonly id: string;
  readonly session_api_key: string;
  readonly exposed_urls: readonly { readonly url: string }[];
}

interface Item {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

interface Stand {
  readonly cluster: TestCluster;
  readonly kubelet: Kubelet;
  readonly folder: string;
  readonly tokenFile: string;
  rig(settings?: RigSettings): Promise<PlatformRig>;
  /** Names of the objects of a kind. */
  names(kind: (typeof KINDS)[number]): Promise<readonly string[]>;
}

interface RigSettings {
  readonly folder?: string;
  readonly sandbox?: string;
  readonly kubernetes?: string;
}

/** Named for the sandbox: the namespace's own objects are left out. */
async function namesOf(cluster: TestCluster, kind: string): Promise<readonly string[]> {
  const { body } = await cluster.call('GET', `${BASE}/${kind}`);
  const { items } = body as { readonly items: readonly Item[] };
  return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('throughline-'));
}

/** Cluster, node, namespace that admits hardened pods alone, and an account with the rights that the chart gives. */
async function stand(t: Test): Promise<Stand> {
  const folder = mkdtempSync(join(tmpdir(), 'kubelet-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const cluster = await startCluster(t);
  const enforce = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const made = (reply: Reply): unknown => {
    if (reply.status !== 201) throw new Error(JSON.stringify(reply.body));
    return reply.body;
  };
  const metadata = { name: NAMESPACE, labels: enforce };
  made(await cluster.call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata }));
  for (const name of ['default', 'throughline'])
    made(
      await cluster.call('POST', `${BASE}/serviceaccounts`, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name },
      }),
    );
  for (const document of parseAllDocuments(readFileSync(ROLE, 'utf8'))) {
    const object = document.toJS() as { readonly kind: string };
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/${object.kind.toLowerCase()}s`;
    made(await cluster.call('POST', rbac, object));
  }
  const asked = await cluster.call('POST', `${BASE}/serviceaccounts/throughline/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });
  const { token } = (made(asked) as { readonly status: { readonly token: string } }).status;
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${token}\n`);
  const volumes = join(folder, 'volumes');
  mkdirSync(volumes);
  const kubelet = startKubelet(cluster, NAMESPACE, volumes);
  t.teardown(() => kubelet.stop());
  const port = 20_000 + Math.floor(Math.random() * 40_000);
  return {
    cluster,
    kubelet,
    folder,
    tokenFile,
    names: (kind) => namesOf(cluster, kind),
    rig: (settings) =>
      startPlatform(t, {
        ...(settings?.folder === undefined ? {} : { folder: settings.folder }),
        platform: `
  sandbox:
    driver: kubernetes
    ${settings?.sandbox ?? 'start_timeout_seconds: 600'}
    kubernetes:
      api_server: ${cluster.url}
      ${cluster.caFile === null ? '' : `ca_file: ${cluster.caFile}`}
      token_file: ${tokenFile}
      namespace: ${NAMESPACE}
      ${settings?.kubernetes ?? ''}
  sandbox_specs:
    - id: agent
      image: agent:1
      port: ${port}
      command: [agent-server, --port, "{port}", "$(SECRET)"]
      working_dir: "{sandbox_dir}/work"
      initial_env: { A: "of {sandbox_id}", SECRET: hidden-value }
      limits: { memory_mb: 512, cpus: 1.5 }
${['missing', 'misconfigured', 'ends', 'hungry', 'crashing', 'slow', 'unschedulable']
  .map((image) => `    - { id: ${image}, image: "agent:${image}", port: ${port}, limits: { memory_mb: 64 } }`)
  .join('\n')}
`,
      }),
  };
}

async function running(rig: PlatformRig): Promise<Sandbox> {
  const started = await rig.api('POST', PATH);
  if (started.status !== 200) throw new Error(started.text);
  return (await until(rig, String(at(started, 'id')), 'RUNNING')) as unknown as Sandbox;
}

async function ask(sandbox: Sandbox, path: string, body?: string): Promise<unknown> {
  const {
    exposed_urls: [exposed],
    session_api_key: key,
  } = sandbox;
  const init = body === undefined ? {} : { method: 'PUT', body };
  const answer = await fetch(`${exposed?.url}${path}`, { headers: { 'x-session-api-key': key }, ...init });
  return answer.json();
}

/** The first word of the server on a sandbox that has that status. */
async function detailOf(rig: PlatformRig, id: string, status: string): Promise<unknown> {
  return (await until(rig, id, status))['status_detail'];
}

t.test('a pod is hardened, its secrets stand in a Secret alone; paused, it keeps its folder', async (t) => {
  const { cluster, rig: open, names } = await stand(t);
  const rig = await open();
  const sandbox = await running(rig);
  const name = `throughline-sandbox-${sandbox.id.toLowerCase()}`;
  for (const kind of KINDS) t.same(await names(kind), [name], kind);

  const pod = (await cluster.call('GET', `${BASE}/pods/${name}`)).body;
  t.match(pod, {
    metadata: {
      labels: {
        'app.kubernetes.io/managed-by': 'throughline',
        'throughline.sandbox.id': sandbox.id,
        'throughline.sandbox.spec': 'agent',
      },
      ownerReferences: [{ kind: 'Service', name }],
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: 'Never',
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10001,
        fsGroup: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      volumes: [{ name: 'sandbox', persistentVolumeClaim: { claimName: name } }],
      containers: [
        {
          image: 'agent:1',
          args: ['agent-server', '--port', /^\d+$/, '$$(SECRET)'],
          workingDir: '/sandbox/work',
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          resources: {
            limits: { memory: '512Mi', cpu: '1500m', 'ephemeral-storage': '10Gi' },
            requests: { memory: '512Mi', cpu: '250m' },
          },
          volumeMounts: [{ mountPath: '/sandbox' }, { mountPath: '/sandbox/work', subPath: 'work' }],
        },
      ],
    },
  });
  for (const kind of ['pods', 'podtemplates', 'services', 'persistentvolumeclaims'] as const) {
    const text = JSON.stringify((await cluster.call('GET', `${BASE}/${kind}/${name}`)).body);
    t.notOk(text.includes(sandbox.session_api_key), `no key in ${kind}`);
    t.notOk(text.includes('hidden-value'), `no environment in ${kind}`);
  }
  t.match(await ask(sandbox, '/environment'), {
    A: `of ${sandbox.id}`,
    SECRET: 'hidden-value',
    SESSION_API_KEY: sandbox.session_api_key,
    OH_SESSION_API_KEYS_0: sandbox.session_api_key,
  });

  await ask(sandbox, '/file', 'work of an hour');
  const before = await ask(sandbox, '/pod');
  t.equal((await rig.api('POST', `${PATH}/${sandbox.id}/pause`)).status, 200);
  t.same(await names('pods'), []);
  t.same(await names('persistentvolumeclaims'), [name]);
  await until(rig, sandbox.id, 'PAUSED');
  const resumed = await rig.api('POST', `${PATH}/${sandbox.id}/resume`);
  t.equal(resumed.status, 200, resumed.text);
  t.equal(await ask(sandbox, '/file'), 'work of an hour', 'at the same address, with the same key');
  t.not(await ask(sandbox, '/pod'), before, 'its processes are new');

  t.equal((await rig.api('DELETE', `${PATH}/${sandbox.id}`)).status, 200);
  for (const kind of KINDS) t.same(await gone(cluster, kind), [], kind);
});

/** Kubelet confirms the end of a pod a little later. A claim waits for a controller that no test has. */
async function gone(cluster: TestCluster, kind: string): Promise<readonly string[]> {
  for (;;) {
    const { body } = await cluster.call('GET', `${BASE}/${kind}`);
    const { items } = body as {
      readonly items: readonly (Item & { metadata: { deletionTimestamp?: string } })[];
    };
    const left = items.filter(
      ({ metadata }) =>
        metadata.name.startsWith('throughline-') &&
        (kind !== 'persistentvolumeclaims' || metadata.deletionTimestamp === undefined),
    );
    if (left.length === 0 || left.some(({ metadata }) => metadata.deletionTimestamp === undefined))
      return left.map(({ metadata }) => metadata.name);
    await beforeNextLook();
  }
}

t.test('what keeps a pod from running is said in words', async (t) => {
  const { cluster, rig: open, names } = await stand(t);
  const rig = await open();
  const cases = [
    ['missing', /its image cannot be pulled.*ImagePullBackOff: Back-off pulling image "agent:missing"/],
    ['misconfigured', /cannot be configured \(CreateContainerConfigError: container has runAsNonRoot/],
    ['ends', /^its container ended with code 3$/],
    ['hungry', /^it used more memory than its limit of 64Mi$/],
    ['crashing', /its command ends again and again \(CrashLoopBackOff/],
  ] as const;
  for (const [spec, words] of cases) {
    const started = await rig.api('POST', `${PATH}?sandbox_spec_id=${spec}`);
    const id = String(at(started, 'id'));
    t.match(await detailOf(rig, id, 'ERROR'), words, spec);
    t.equal((await rig.api('DELETE', `${PATH}/${id}`)).status, 200);
  }
  t.same(await gone(cluster, 'pods'), []);
  await rig.stop();

  const hurried = await open({ sandbox: 'start_timeout_seconds: 1' });
  const late = [
    [
      'unschedulable',
      /^its runtime was not ready within 1 s: no node takes its pod: 0\/3 nodes are available: 3 Insufficient memory\.$/,
    ],
    ['slow', /^its runtime was not ready within 1 s: its pod is being started \(ContainerCreating\)$/],
  ] as const;
  for (const [spec, words] of late) {
    const started = await hurried.api('POST', `${PATH}?sandbox_spec_id=${spec}`);
    t.match(await detailOf(hurried, String(at(started, 'id')), 'ERROR'), words, spec);
  }
  t.equal((await names('pods')).length, late.length, 'one that is late is kept: it may only be slow');
  t.equal((await names('services')).length, late.length, 'with the address at which it is watched');
});

t.test('what the API server refuses is said in words, and nothing is left', async (t) => {
  const { cluster, rig: open, tokenFile } = await stand(t);
  const rig = await open();
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'few' },
    spec: { hard: { pods: '0' } },
  };
  await cluster.call('POST', `${BASE}/resourcequotas`, quota);
  const status = { hard: { pods: '0' }, used: { pods: '0' } };
  await cluster.call(
    'PATCH',
    `${BASE}/resourcequotas/few/status`,
    { status },
    'application/merge-patch+json',
  );
  for (;;) {
    const probe = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'probe' },
      spec: {
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'probe',
            image: 'probe',
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
        ],
      },
    };
    if ((await cluster.call('POST', `${BASE}/pods?dryRun=All`, probe)).status === 403) break; // it has seen the quota
    await beforeNextLook();
  }
  const full = await rig.api('POST', PATH);
  t.equal(full.status, 500);
  t.match(full.json, { detail: /^the quota of the namespace agents is used up: few, requested: pods=1/ });
  for (const kind of KINDS) t.same(await gone(cluster, kind), [], `${kind} are removed again`);
  await cluster.call('DELETE', `${BASE}/resourcequotas/few`);

  const token = readFileSync(tokenFile);
  writeFileSync(tokenFile, 'expired');
  t.match((await rig.api('POST', PATH)).json, {
    detail: 'the Kubernetes API server does not take the token of this server',
  });
  writeFileSync(tokenFile, token);
  for (;;) if ((await rig.api('POST', PATH)).status === 200) break; // the quota is forgotten, and the new token was read

  const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['create', 'delete', 'list'] }];
  const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles/throughline-sandboxes`;
  await cluster.call('PATCH', role, { rules }, 'application/merge-patch+json');
  for (;;) {
    const { status, json } = await rig.api('POST', PATH);
    const { id, detail } = json as { readonly id?: string; readonly detail?: string };
    if (status === 200) {
      await rig.api('DELETE', `${PATH}/${id}`); // the API server has not seen the new role yet
      continue;
    }
    t.equal(
      detail,
      'this server may not create secrets in the namespace agents; its Kubernetes role lacks that',
    );
    break;
  }
});

t.test('a restart takes over its own and removes its strays; what others own stays', async (t) => {
  const { cluster, kubelet, rig: open, names } = await stand(t);
  const folder = tempDir(t);
  const first = await open({ folder });
  const all = [await running(first), await running(first), await running(first), await running(first)];
  const [, ended, evicted, deleted] = all.map(({ id }) => `throughline-sandbox-${id.toLowerCase()}`);
  const { body } = await cluster.call('GET', `${BASE}/services/${ended}`);
  const { labels = {} } = (body as Item).metadata;
  await first.stop();
  await kubelet.report(String(ended), {
    phase: 'Failed',
    containerStatuses: [
      {
        name: 'sandbox',
        image: 'x',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { terminated: { exitCode: 7 } },
      },
    ],
  });
  await kubelet.report(String(evicted), {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on memory.',
  });
  await cluster.call('DELETE', `${BASE}/pods/${deleted}`);
  const plant = async (id: string, home: string | undefined): Promise<unknown> =>
    cluster.call('POST', `${BASE}/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: `throughline-sandbox-${id}`,
        labels: { 'throughline.sandbox.id': id, 'throughline.sandbox.home': home },
      },
      spec: { ports: [{ port: 80 }] },
    });
  await plant('stray', labels['throughline.sandbox.home']);
  await plant('other', '0123456789abcdef');

  const second = await open({ folder });
  const { json } = await second.api('GET', `${PATH}?id=${all.map(({ id }) => id).join('&id=')}`);
  t.match(json, [
    { status: 'RUNNING' },
    { status: 'ERROR', status_detail: 'its container ended with code 7' },
    { status: 'PAUSED' },
    { status: 'PAUSED' },
  ]);
  for (const index of [2, 3]) {
    const { id } = all[index] as Sandbox;
    const resumed = await second.api('POST', `${PATH}/${id}/resume`);
    t.equal(resumed.status, 200, resumed.text);
    t.match(await ask(all[index] as Sandbox, '/environment'), { A: `of ${id}` });
  }
  const left = await names('services');
  t.notOk(left.includes('throughline-sandbox-stray'));
  t.ok(left.includes('throughline-sandbox-other'));
});

t.test('an API server that is away fails the call, not the server', async (t) => {
  const { cluster, rig: open } = await stand(t);
  const rig = await open();
  const { id } = await running(rig);
  await cluster.stop();
  const paused = await rig.api('POST', `${PATH}/${id}/pause`);
  t.same([paused.status, paused.json], [502, { detail: 'the Kubernetes API server does not answer' }]);
  t.equal((await rig.api('POST', PATH)).status, 500);
  t.equal((await rig.api('GET', '/api/v1/settings/profiles')).status, 200);
});

t.test('without a claim a sandbox is not paused, since its folder would be lost', async (t) => {
  const { cluster, rig: open, names } = await stand(t);
  const rig = await open({ sandbox: 'idle_pause_seconds: 0', kubernetes: 'volume: empty_dir' });
  const { id } = await running(rig);
  t.same(await names('persistentvolumeclaims'), []);
  const paused = await rig.api('POST', `${PATH}/${id}/pause`);
  t.equal(paused.status, 502);
  t.match(paused.json, { detail: /cannot be paused: without a volume claim its folder would be lost/ });
  await until(rig, id, 'RUNNING');
  const [name] = await names('pods');
  const pod = (await cluster.call('GET', `${BASE}/pods/${name}`)).body;
  t.match(pod, { spec: { volumes: [{ name: 'sandbox', emptyDir: { sizeLimit: '10Gi' } }] } });
});
