// The chart as real helm renders it: what must hold for any values, and what each values file asks for. The rendered
// configuration goes through the real loader, so the chart and the server cannot disagree.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { STOP_MS } from '../../proxy/server/stop-times.ts';
import { ENV, list, loadRendered, named, show, type Shown, valuesFile } from '../support/chart.ts';
import { at, CHART, helm, NO_HELM, rendered } from '../support/helm.ts';
import { checkObject } from '../support/kubernetes-stand-in.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const ALL = ['platform', 'exposed', 'persistent', 'own-config'];

t.test('generated files are fresh and the chart carries the version of the package', (t) => {
  const run = spawnSync(process.execPath, [join(ROOT, 'charts/generate.ts'), '--check'], {
    encoding: 'utf8',
  });
  t.equal(run.status, 0, run.stderr);
  const chart: unknown = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'));
  const own: unknown = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  t.equal(at(chart, 'appVersion'), at(own, 'version'));
  t.match(readFileSync(join(CHART, 'README.md'), 'utf8'), /^\| `replicaCount` +\| Number of pods\./m);
  t.end();
});

t.test('helm lint finds nothing to mend, whatever the values', { skip: NO_HELM }, (t) => {
  for (const values of [[], ...[...ALL, 'production', 'routes'].map((name) => ['-f', valuesFile(name)])]) {
    const run = helm('lint', '--strict', CHART, ...values);
    t.ok(run.ok, `${values.join(' ')}${run.ok ? '' : `${run.out}${run.err}`}`);
  }
  t.end();
});

for (const name of ['defaults', ...ALL]) {
  t.test(`what must always hold: ${name}`, { skip: NO_HELM }, (t) => {
    const { objects, get, pod, container, env } = show(
      ...(name === 'defaults' ? [] : ['-f', valuesFile(name)]),
    );
    const workload = get('Deployment') ?? get('StatefulSet');
    const selector = at(workload, 'spec', 'selector', 'matchLabels');
    t.same(
      selector,
      { 'app.kubernetes.io/name': 'litellm', 'app.kubernetes.io/instance': 'openhands' },
      'a selector cannot be changed: it stays the one of the chart that is replaced',
    );
    t.match(at(workload, 'spec', 'template', 'metadata', 'labels'), selector);
    t.same(at(get('Service'), 'spec', 'selector'), selector);
    for (const kind of ['PodDisruptionBudget', 'ServiceMonitor']) {
      if (get(kind) !== undefined) t.same(at(get(kind), 'spec', 'selector', 'matchLabels'), selector, kind);
    }
    for (const object of objects.values()) {
      const own = at(object, 'metadata', 'namespace') ?? at(object, 'metadata', 'name');
      t.match(own, /^(oh|beside)$/, 'every object of ours names its namespace');
    }

    t.equal(at(container, 'name'), 'litellm');
    t.same(at(container, 'ports'), [{ name: 'http', containerPort: 4000, protocol: 'TCP' }]);
    t.equal(at(env.get('PORT'), 'value'), '4000');
    t.equal(at(get('Service'), 'spec', 'ports', 0, 'targetPort'), 'http');
    for (const [probe, path] of [
      ['livenessProbe', '/health/liveliness'],
      ['readinessProbe', '/health/readiness'],
      ['startupProbe', '/health/readiness'],
    ] as const) {
      t.same(at(container, probe, 'httpGet'), { path, port: 'http' }, probe);
    }

    t.match(at(pod, 'securityContext'), {
      runAsNonRoot: true,
      runAsUser: 10001,
      fsGroup: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    t.same(at(container, 'securityContext'), {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });

    const mounts = list(at(container, 'volumeMounts'));
    const config = named(mounts, 'litellm-config');
    t.same(config, { name: 'litellm-config', mountPath: '/etc/litellm', readOnly: true });
    t.ok(
      mounts.every((mount) => at(mount, 'subPath') === undefined),
      'no mount is frozen by a subPath',
    );
    for (const mount of mounts)
      t.ok(
        named(at(pod, 'volumes'), String(at(mount, 'name'))) ??
          list(at(workload, 'spec', 'volumeClaimTemplates')).find(
            (claim) => at(claim, 'metadata', 'name') === at(mount, 'name'),
          ),
        'each mount has a volume',
      );
    t.equal(at(env.get('CONFIG_FILE_PATH'), 'value'), '/etc/litellm/config.yaml');
    const data = mounts.find(
      (mount) => at(mount, 'mountPath') === at(env.get('THROUGHLINE_DATA_DIR'), 'value'),
    );
    t.ok(data, 'the data directory is a mounted volume: the root is read-only');
    t.equal(at(env.get('HOST'), 'value'), '0.0.0.0');
    t.equal(env.size, list(at(container, 'env')).length, 'no variable is set twice');

    const reference = at(env.get('PROXY_MASTER_KEY'), 'valueFrom', 'secretKeyRef');
    const secret = objects.get(`Secret/${String(at(reference, 'name'))}`);
    if (name === 'platform') t.equal(secret, undefined, 'a named secret is not made');
    else
      t.ok(at(secret, 'data', String(at(reference, 'key'))), 'the master key is where the pod looks for it');

    const account = String(at(pod, 'serviceAccountName'));
    t.ok(objects.has(`ServiceAccount/${account}`));
    t.equal(at(pod, 'automountServiceAccountToken'), name === 'exposed');

    const configMap = get('ConfigMap');
    if (name !== 'own-config') {
      const snapshot = loadRendered(t, configMap, ENV);
      const sleep = Number(at(container, 'lifecycle', 'preStop', 'sleep', 'seconds'));
      const graceMs = 1000 * (Number(at(pod, 'terminationGracePeriodSeconds')) - sleep);
      t.ok(
        snapshot.drainMs > 0 && snapshot.drainMs + STOP_MS <= graceMs,
        'requests and records end before the kill',
      );
      t.ok(snapshot.masterKey?.equals('sk-master'));
    }
    t.end();
  });
}

t.test(
  'with no values there is one pod, an upgrade without a gap, and a generated key',
  { skip: NO_HELM },
  (t) => {
    const { objects, get, pod, container } = show();
    t.same([...objects.keys()].sort(), [
      'ConfigMap/openhands-litellm-config',
      'Deployment/openhands-litellm',
      'Pod/openhands-litellm-test',
      'Secret/openhands-litellm-masterkey',
      'Service/openhands-litellm',
      'ServiceAccount/openhands-litellm',
    ]);
    t.equal(at(get('Deployment'), 'spec', 'replicas'), 1);
    t.match(at(get('Deployment'), 'spec', 'strategy'), {
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
    t.equal(at(get('Service'), 'spec', 'ports', 0, 'port'), 4000);
    t.same(at(container, 'args'), ['serve', '--config', '/etc/litellm/config.yaml']);
    t.same(at(container, 'lifecycle', 'preStop'), { sleep: { seconds: 5 } }, 'by kubelet');
    const older = show('--kube-version', '1.29.0');
    t.same(at(older.container, 'lifecycle', 'preStop', 'exec', 'command'), ['sleep', '5']);
    t.equal(at(pod, 'terminationGracePeriodSeconds'), 635);
    t.same(at(named(at(pod, 'volumes'), 'data'), 'emptyDir'), {});
    t.match(at(get('Deployment'), 'spec', 'template', 'metadata', 'annotations'), {
      'checksum/config': /^[0-9a-f]{64}$/,
    });
    const key = Buffer.from(String(at(get('Secret'), 'data', 'masterkey')), 'base64').toString();
    t.match(key, /^sk-[A-Za-z0-9]{32}$/);
    t.equal(loadRendered(t, get('ConfigMap'), ENV).drainMs, 600_000);
    t.end();
  },
);

t.test('the values of the replaced chart are taken as they are', { skip: NO_HELM }, (t) => {
  const { get, pod, container, env } = show('-f', valuesFile('platform'));
  t.equal(at(container, 'image'), 'registry.example.com/throughline:0.1.0');
  t.same(at(container, 'args'), ['--config', '/etc/litellm/config.yaml', '--use_v2_migration_resolver']);
  t.equal(at(container, 'command'), undefined, 'an empty mapping is no command');
  t.same(at(env.get('PROXY_MASTER_KEY'), 'valueFrom', 'secretKeyRef'), {
    name: 'lite-llm-api-key',
    key: 'lite-llm-api-key',
  });
  t.same(at(container, 'envFrom'), [
    { secretRef: { name: 'litellm-env-secrets' } },
    { secretRef: { name: 'external-gw-keys' } },
    { configMapRef: { name: 'litellm-env' } },
  ]);
  t.equal(at(env.get('SSL_VERIFY'), 'value'), 'true', 'a variable is text');
  t.equal(at(env.get('THROUGHLINE_LOG_LEVEL'), 'value'), 'info');
  t.equal(at(env.get('THROUGHLINE_WORKERS'), 'value'), '2', 'numWorkers is workers');
  t.equal(at(get('Deployment'), 'spec', 'replicas'), 2);
  t.match(at(get('Deployment'), 'spec', 'template', 'metadata', 'annotations'), {
    'checksum/credentials': 'abc',
  });
  t.ok(named(at(pod, 'volumes'), 'ca'));
  t.ok(named(at(container, 'volumeMounts'), 'ca'));

  const snapshot = loadRendered(t, get('ConfigMap'), ENV);
  t.equal(snapshot.drainMs, 55_000, 'requests get what a grace period of 90 s leaves');
  t.equal(snapshot.storeModelInDb, true);
  t.equal(snapshot.headers.forwardAll, true);
  const [first, second] = snapshot.deployments;
  t.match(first, {
    kind: 'proxy',
    upstreamModel: 'claude-sonnet-4-5-20250929',
    weight: 100_000,
    prices: { tokens: { input: { base: 3_000_000_000_000n } } },
  });
  t.same(
    first?.staticHeaders.map(([name, value]) => [name, value.reveal()]).sort(),
    [
      ['ocp-apim-subscription-key', 'abc123'],
      ['x-org', '0123'],
      ['x-tenant-id', 'prod'],
    ],
    'a text that looks like a number stays a text',
  );
  t.match(second, {
    kind: 'compat',
    origin: 'https://bifrost.example.com:8080',
    clocks: { firstByteMs: 120_000 },
  });
  t.end();
});

t.test('what is off by default comes with its switch', { skip: NO_HELM }, (t) => {
  const { objects, get, pod, container, env } = show('-f', valuesFile('exposed'));
  const deployment = get('Deployment');
  t.ok(objects.has('Deployment/gateway'));
  t.equal(at(deployment, 'spec', 'replicas'), undefined, 'the autoscaler owns the number of pods');
  t.same(at(deployment, 'metadata', 'annotations'), { 'example.com/owner': 'platform' });
  t.same(at(deployment, 'spec', 'strategy'), { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } });
  t.match(at(deployment, 'spec', 'template', 'metadata'), {
    annotations: { 'checksum/config': /^[0-9a-f]{64}$/ },
    labels: { tier: 'llm' },
  });
  t.match(get('Service'), {
    metadata: { annotations: { 'example.com/internal': 'true' } },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: 'example.com/lb',
      ports: [{ port: 80, targetPort: 'http' }],
    },
  });
  t.match(get('Ingress'), {
    apiVersion: 'networking.k8s.io/v1',
    metadata: { annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' } },
    spec: {
      tls: [{ secretName: 'llm-tls' }],
      rules: [
        {
          host: 'llm.example.com',
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: 'gateway', port: { name: 'http' } } },
              },
            ],
          },
        },
      ],
    },
  });
  t.equal(at(get('Ingress'), 'spec', 'ingressClassName'), undefined);
  t.equal(at(get('PodDisruptionBudget'), 'spec', 'minAvailable'), '50%');
  t.match(get('ServiceMonitor'), {
    metadata: { labels: { release: 'prometheus' } },
    spec: { namespaceSelector: { matchNames: ['oh'] }, endpoints: [{ port: 'http', path: '/metrics' }] },
  });
  t.match(at(get('HorizontalPodAutoscaler'), 'spec'), {
    scaleTargetRef: { name: 'gateway' },
    minReplicas: 3,
    maxReplicas: 9,
    metrics: [
      { resource: { name: 'cpu' } },
      { resource: { name: 'memory', target: { averageUtilization: 70 } } },
    ],
  });
  t.equal(at(get('Secret'), 'data', 'masterkey'), Buffer.from('sk-from-values').toString('base64'));
  t.match(env.get('GATEWAY_KEY'), {
    valueFrom: { secretKeyRef: { name: 'external-gw-keys', key: 'gateway' } },
  });
  t.equal(at(env.get('THROUGHLINE_LOG_LEVEL'), 'value'), 'warn');
  t.equal(at(env.get('THROUGHLINE_WORKERS'), 'value'), 'auto');
  t.equal(at(pod, 'serviceAccountName'), 'gateway-runner');
  t.same(at(container, 'lifecycle', 'preStop'), { sleep: { seconds: 15 } });
  t.match(pod, {
    imagePullSecrets: [{ name: 'registry-credentials' }],
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'llm' }],
    affinity: { podAntiAffinity: {} },
    topologySpreadConstraints: [{ maxSkew: 1 }],
    initContainers: [{ name: 'wait' }],
    containers: [{ name: 'litellm', resources: { requests: { cpu: '250m' } } }, { name: 'beside' }],
  });
  t.ok(objects.has('ConfigMap/beside'));
  t.end();
});

t.test(
  'an admin port is on container and Service, in the configuration, and what Prometheus scrapes',
  { skip: NO_HELM },
  (t) => {
    const flags = (...values: readonly string[]): Shown =>
      show(...values.flatMap((value) => ['--set', value]));
    const monitored = (...values: readonly string[]): unknown =>
      at(flags('serviceMonitor.enabled=true', ...values).get('ServiceMonitor'), 'spec', 'endpoints', 0);
    const none = flags();
    t.equal(named(at(none.container, 'ports'), 'admin'), undefined);
    t.equal(loadRendered(t, none.get('ConfigMap'), ENV).admin, null);
    const general = 'proxy_config.general_settings';
    for (const stated of ['adminPort=4002', `${general}.admin_port=4002`]) {
      const shown = flags(stated);
      t.same(named(at(shown.container, 'ports'), 'admin'), {
        name: 'admin',
        containerPort: 4002,
        protocol: 'TCP',
      });
      t.match(named(at(shown.get('Service'), 'spec', 'ports'), 'admin'), { port: 4002, targetPort: 'admin' });
      t.same(loadRendered(t, shown.get('ConfigMap'), ENV).admin, { port: 4002, host: null });
      t.match(monitored(stated), { port: 'admin', path: '/metrics', authorization: undefined });
    }
    const ownMap = flags('proxyConfigMap.create=false', 'proxyConfigMap.name=own', 'adminPort=4002');
    t.match(named(at(ownMap.container, 'ports'), 'admin'), { containerPort: 4002 });

    const bearer = { type: 'Bearer', credentials: { name: 'openhands-litellm-masterkey', key: 'masterkey' } };
    t.same(at(monitored(), 'authorization'), bearer, 'the port of the proxy asks for the master key');
    const asks = 'proxy_config.litellm_settings.require_auth_for_metrics_endpoint';
    t.equal(at(monitored(`${asks}=false`), 'authorization'), undefined);
    t.same(at(monitored(`${asks}=true`, 'adminPort=4002'), 'authorization'), bearer);
    const off = ['serviceMonitor.authSecret.name=scraper', 'serviceMonitor.authSecret.key=key'];
    t.equal(at(monitored(`${asks}=false`, ...off), 'authorization'), undefined, 'off, as there');
    const theirs = [...off, 'serviceMonitor.authSecret.enabled=true'];
    const scraper = { type: 'Bearer', credentials: { name: 'scraper', key: 'key' } };
    t.same(at(monitored(...theirs), 'authorization'), scraper, 'as the replaced chart names it');
    t.same(
      at(monitored(...theirs, 'serviceMonitor.bearerTokenSecret.name=own'), 'authorization', 'credentials'),
      { name: 'own', key: 'token' },
    );
    const clash = helm('template', CHART, '--kube-version', '1.31.0', '--set', 'adminPort=4000');
    t.match(clash, {
      ok: false,
      err: /adminPort is 4000, the port of the proxy itself - choose another one/,
    });
    t.end();
  },
);

t.test('keys of agents come from Secrets and are in no ConfigMap', { skip: NO_HELM }, (t) => {
  const keys = [
    'inferenceKeys[0].name=agents',
    'inferenceKeys[0].secretName=agent-keys',
    'inferenceKeys[1].name=ci',
    'inferenceKeys[1].secretName=ci-keys',
    'inferenceKeys[1].secretKey=token',
    'proxy_config.general_settings.inference_keys[0]=os.environ/CUSTOM_API_KEY',
  ];
  const { env, get } = show(...keys.flatMap((value) => ['--set', value]));
  const from = (name: string): unknown => at(env.get(name), 'valueFrom', 'secretKeyRef');
  t.same(from('INFERENCE_KEY_0'), { name: 'agent-keys', key: 'agents' });
  t.same(from('INFERENCE_KEY_1'), { name: 'ci-keys', key: 'token' });
  const { access } = loadRendered(t, get('ConfigMap'), {
    ...ENV,
    INFERENCE_KEY_0: 'sk-a',
    INFERENCE_KEY_1: 'sk-b',
  });
  t.same(
    access.inferenceKeys.map(({ key, name }) => [key.reveal(), name]),
    [
      ['sk-custom', null],
      ['sk-a', 'agents'],
      ['sk-b', 'ci'],
    ],
  );
  const nameless = helm('template', CHART, '--kube-version', '1.31.0', '--set', 'inferenceKeys[0].name=a');
  t.match(nameless, { ok: false, err: /secretName is required|missing property 'secretName'/ });
  t.end();
});

t.test(
  'a key that would protect something is refused before anything is installed',
  { skip: NO_HELM },
  (t) => {
    const template = (value: string): ReturnType<typeof helm> =>
      helm('template', CHART, '--kube-version', '1.31.0', '--set', `proxy_config.litellm_settings.${value}`);
    t.match(template('guardrails[0].guardrail_name=a'), { ok: false, err: /guardrails/ });
    t.match(template('max_budget=10'), { ok: true });
    t.end();
  },
);

t.test(
  'sandboxes in the cluster get the rights that the driver uses, and no others',
  { skip: NO_HELM },
  (t) => {
    const needed = ['proxy_config.platform.session_api_key=a', 'proxy_config.platform.secret_key=b'];
    const show = (...sets: readonly string[]): ReadonlyMap<string, unknown> =>
      rendered(...[...needed, ...sets].flatMap((one) => ['--set', one]));
    const driver = 'proxy_config.platform.sandbox.driver=kubernetes';
    const on = show(driver, 'proxy_config.platform.sandbox.kubernetes.namespace=agents');
    const role = on.get('Role/openhands-litellm-sandboxes');
    t.equal(at(role, 'metadata', 'namespace'), 'agents');
    const tested = readFileSync(new URL('../platform/fixture/sandbox-role.yaml', import.meta.url), 'utf8');
    const [used] = parseAllDocuments(tested);
    t.same(at(role, 'rules'), at(used?.toJS(), 'rules'), 'the driver is tested with this role');
    t.match(on.get('RoleBinding/openhands-litellm-sandboxes'), {
      metadata: { namespace: 'agents' },
      roleRef: { kind: 'Role', name: 'openhands-litellm-sandboxes' },
      subjects: [{ kind: 'ServiceAccount', name: 'openhands-litellm', namespace: 'oh' }],
    });
    const mounts = (objects: ReadonlyMap<string, unknown>): unknown =>
      at(
        objects.get('Deployment/openhands-litellm'),
        'spec',
        'template',
        'spec',
        'automountServiceAccountToken',
      );
    t.equal(mounts(on), true);
    for (const [name, object] of show(driver, 'sandboxes.networkPolicy.enabled=true'))
      if (/^(Role|RoleBinding|NetworkPolicy)\//.test(name))
        t.doesNotThrow(() => checkObject(String(at(object, 'kind')), object), name);
    t.match(
      show(driver, 'sandboxes.networkPolicy.enabled=true').get('NetworkPolicy/openhands-litellm-sandboxes'),
      {
        spec: { podSelector: { matchLabels: { 'app.kubernetes.io/component': 'sandbox' } } },
      },
    );

    for (const off of [
      show(),
      show(driver, 'proxy_config.platform.sandbox.kubernetes.api_server=https://elsewhere'),
    ]) {
      t.notOk(off.has('Role/openhands-litellm-sandboxes'));
      t.equal(mounts(off), false);
    }
    const own = show('proxyConfigMap.create=false', 'proxyConfigMap.name=mine', 'sandboxes.kubernetes=true');
    t.equal(at(own.get('Role/openhands-litellm-sandboxes'), 'metadata', 'namespace'), 'oh');
    t.end();
  },
);

t.test('a platform interface with a port of its own is reached by it', { skip: NO_HELM }, (t) => {
  const ports = (...values: readonly string[]): readonly unknown[] => {
    const needed = ['proxy_config.platform.session_api_key=a', 'proxy_config.platform.secret_key=b'];
    const { get, container } = show(...[...needed, ...values].flatMap((value) => ['--set', value]));
    return [at(container, 'ports', 1), at(get('Service'), 'spec', 'ports', 1)];
  };
  t.same(ports(), [undefined, undefined]);
  t.match(ports('proxy_config.platform.port=4001'), [
    { name: 'platform', containerPort: 4001 },
    { name: 'platform', port: 4001, targetPort: 'platform' },
  ]);
  t.match(ports('proxy_config.platform.port=4001', 'service.platformPort=80'), [
    { containerPort: 4001 },
    { port: 80 },
  ]);
  t.match(ports('proxyConfigMap.create=false', 'proxyConfigMap.name=own', 'service.platformPort=4002'), [
    { containerPort: 4002 },
    { port: 4002 },
  ]);
  const hosts =
    'ingress.hosts[0].host=a,ingress.hosts[0].paths[0].path=/api,ingress.hosts[0].paths[0].port=platform';
  const { get } = show('--set', `ingress.enabled=true,${hosts}`, '--set', 'service.platformPort=4001');
  t.match(get('Ingress'), {
    spec: {
      rules: [{ http: { paths: [{ path: '/api', backend: { service: { port: { name: 'platform' } } } }] } }],
    },
  });
  t.end();
});

t.test(
  'a ConfigMap of somebody else is mounted whole, unless its key has another name',
  { skip: NO_HELM },
  (t) => {
    const { get, pod, container } = show('-f', valuesFile('own-config'));
    t.equal(get('ConfigMap'), undefined);
    t.same(at(named(at(pod, 'volumes'), 'litellm-config'), 'configMap'), { name: 'written-elsewhere' });
    t.same(
      at(container, 'lifecycle', 'preStop', 'exec', 'command'),
      ['sleep', '20'],
      'own hooks replace ours',
    );
    const renamed = show('-f', valuesFile('own-config'), '--set', 'proxyConfigMap.key=gateway.yaml');
    t.same(at(named(at(renamed.pod, 'volumes'), 'litellm-config'), 'configMap', 'items'), [
      { key: 'gateway.yaml', path: 'config.yaml' },
    ]);
    t.end();
  },
);

t.test('the drain follows the grace period, and a stated drain must fit it', { skip: NO_HELM }, (t) => {
  const drainMs = (...args: readonly string[]): number =>
    loadRendered(t, show(...args).get('ConfigMap'), ENV).drainMs;
  t.equal(drainMs('--set', 'terminationGracePeriodSeconds=3635'), 3_600_000);
  t.equal(
    drainMs('--set', 'terminationGracePeriodSeconds=30'),
    12_000,
    'half of what is left when there is little',
  );
  const stated = 'proxy_config.general_settings.drain_seconds';
  t.equal(drainMs('--set', `${stated}=20`, '--set', 'terminationGracePeriodSeconds=60'), 20_000);
  t.equal(drainMs('--set', `${stated}=605`), 605_000, 'of 630 s what follows the drain needs 25');
  const { ok, err } = helm('template', CHART, '--kube-version', '1.31.0', '--set', `${stated}=606`);
  t.notOk(ok);
  t.match(err, /drain_seconds is 606, .* raise terminationGracePeriodSeconds to 641/);
  t.end();
});

t.test('the URL of a database comes from its Secret, and from nowhere else', { skip: NO_HELM }, (t) => {
  t.notOk(show().env.has('DATABASE_URL'));
  const refOf = (...args: readonly string[]): unknown =>
    at(show(...args).env.get('DATABASE_URL'), 'valueFrom', 'secretKeyRef');
  const named = ['--set', 'databaseSecretName=pg'];
  t.same(refOf(...named), { name: 'pg', key: 'DATABASE_URL' });
  t.same(refOf(...named, '--set', 'databaseSecretKey=url'), { name: 'pg', key: 'url' });
  t.end();
});
