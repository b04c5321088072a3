// Every value is rendered: each leaf of values.yaml is changed, and the objects change. Texts and numbers are changed all
// at once, each to a mark of its own that must then be found; switches and words one by one.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { CHART, helm, NO_HELM } from '../support/helm.ts';

type Values = Record<string, unknown>;
type Path = readonly string[];

const DEFAULTS = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Values;
const SECRET = { name: 'n', secretName: 's', secretKey: 'k' };

/** Everything on, in two ways: some parts exclude each other. Marks stand in for each text and number. */
const DEPLOYMENT: Values = {
  kind: 'Deployment',
  global: { imageRegistry: 'm-registry.example.com' },
  commonLabels: { a: 'm-common' },
  image: { repository: 'm-repository', tag: 'm-tag', digest: `sha256:${'1'.repeat(64)}` },
  imagePullSecrets: [{ name: 'm-pull' }],
  revisionHistoryLimit: 7001,
  serviceAccount: { annotations: { a: 'm-account' }, name: 'm-account-name' },
  deploymentAnnotations: { a: 'm-deployment-annotation' },
  deploymentLabels: { a: 'm-deployment-label' },
  deploymentMinReadySeconds: 7002,
  podAnnotations: { a: 'm-pod-annotation' },
  podLabels: { b: 'm-pod-label' },
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 7003 } },
  terminationGracePeriodSeconds: 7004,
  preStopSleepSeconds: 17,
  podSecurityContext: { runAsUser: 7006 },
  securityContext: { runAsGroup: 7007 },
  environmentSecrets: ['m-env-secret'],
  environmentConfigMaps: ['m-env-map'],
  envVars: { A: 'm-env' },
  extraEnvVars: [{ name: 'B', value: 'm-extra-env' }],
  listen: 'm-listen',
  scheme: 'https',
  logLevel: 'error',
  workers: 119,
  service: {
    type: 'LoadBalancer',
    port: 7008,
    nodePort: 30123,
    platformPort: 7009,
    labels: { a: 'm-service-label' },
    annotations: { a: 'm-service-annotation' },
    loadBalancerClass: 'm-class',
    loadBalancerSourceRanges: ['10.7.0.0/16'],
    externalTrafficPolicy: 'Local',
    ipFamilyPolicy: 'RequireDualStack',
  },
  ingress: {
    enabled: true,
    className: 'm-ingress-class',
    labels: { a: 'm-ingress-label' },
    annotations: { a: 'm-ingress-annotation' },
    hosts: [{ host: 'm-ingress-host', paths: [{ path: '/m-path' }] }],
    tls: [{ secretName: 'm-tls' }],
  },
  httpRoute: {
    enabled: true,
    annotations: { a: 'm-route-annotation' },
    gatewayName: 'm-gateway',
    gatewayNamespace: 'm-gateway-namespace',
    gatewayGroup: 'm-gateway-group',
    gatewayKind: 'm-gateway-kind',
    gatewaySectionName: 'm-gateway-section',
    hostnames: ['m-route-host'],
    timeout: '7010s',
  },
  istio: {
    enabled: true,
    hosts: ['m-istio-host'],
    gateway: {
      enabled: true,
      labels: { a: 'm-ig-label' },
      annotations: { a: 'm-ig-annotation' },
      selector: { istio: 'm-ig-selector' },
      httpPort: 7011,
      tls: {
        enabled: true,
        mode: 'MUTUAL',
        credentialName: 'm-ig-tls',
        httpsPort: 7012,
        httpsRedirect: false,
        minProtocolVersion: 'm-min-tls',
        maxProtocolVersion: 'm-max-tls',
      },
    },
    virtualService: {
      enabled: true,
      labels: { a: 'm-vs-label' },
      annotations: { a: 'm-vs-annotation' },
      gateways: ['m-vs-gateway'],
      timeout: '7013s',
      retries: { attempts: 7014 },
    },
    destinationRule: {
      enabled: true,
      labels: { a: 'm-dr-label' },
      annotations: { a: 'm-dr-annotation' },
      trafficPolicy: { a: 'm-traffic' },
    },
  },
  masterkey: 'm-masterkey',
  masterkeySecretKey: 'm-masterkey-key',
  inferenceKeys: [{ ...SECRET, secretName: 'm-inference' }],
  adminPort: 7015,
  databaseSecretName: 'm-database',
  databaseSecretKey: 'm-database-key',
  valkeySecretName: 'm-valkey',
  valkeySecretKey: 'm-valkey-key',
  proxy_config: {
    model_list: [{ model_name: 'm-listed', litellm_params: { model: 'openai/a', api_base: 'http://a/v1' } }],
    platform: { session_api_key: 'a', secret_key: 'b', port: 7016 },
  },
  models: { 'm-by-name': { litellm_params: { model: 'openai/a', api_base: 'http://a/v1' } } },
  sandboxes: {
    kubernetes: true,
    namespace: 'm-sandboxes',
    networkPolicy: { enabled: true, except: ['10.8.0.0/16'] },
  },
  resources: { requests: { cpu: '7017', memory: '7018' } },
  livenessProbe: {
    path: '/m-live',
    initialDelaySeconds: 7019,
    periodSeconds: 7020,
    timeoutSeconds: 7021,
    successThreshold: 1,
    failureThreshold: 7022,
  },
  readinessProbe: { path: '/m-ready', periodSeconds: 7023, timeoutSeconds: 7024, failureThreshold: 7025 },
  startupProbe: { path: '/m-start', periodSeconds: 7026, timeoutSeconds: 7027, failureThreshold: 7028 },
  autoscaling: {
    enabled: true,
    minReplicas: 7029,
    maxReplicas: 7030,
    targetCPUUtilizationPercentage: 7031,
    targetMemoryUtilizationPercentage: 7032,
    metrics: [{ type: 'm-metric' }],
    behavior: { scaleDown: { stabilizationWindowSeconds: 7033 } },
  },
  pdb: {
    enabled: true,
    minAvailable: '6034',
    annotations: { a: 'm-pdb-annotation' },
    labels: { a: 'm-pdb-label' },
  },
  serviceMonitor: {
    enabled: true,
    labels: { a: 'm-sm-label' },
    annotations: { a: 'm-sm-annotation' },
    interval: '7035s',
    scrapeTimeout: '7036s',
    relabelings: [{ action: 'm-sm-relabel' }],
    tlsConfig: { serverName: 'm-sm-tls' },
    namespaceSelector: { matchNames: ['m-sm-namespace'] },
    bearerTokenSecret: { name: 'm-token', key: 'm-token-key' },
  },
  prometheusRule: {
    enabled: true,
    namespace: 'm-pr-namespace',
    labels: { a: 'm-pr-label' },
    annotations: { a: 'm-pr-annotation' },
    extraGroups: [{ name: 'm-group', rules: [] }],
  },
  networkPolicy: {
    enabled: true,
    apiFrom: [{ podSelector: { matchLabels: { a: 'm-api' } } }],
    platformFrom: [{ podSelector: { matchLabels: { a: 'm-platform' } } }],
    adminFrom: [{ podSelector: { matchLabels: { a: 'm-admin' } } }],
    extraIngress: [{ ports: [{ port: 7037 }] }],
    egress: {
      enabled: true,
      cidrs: ['10.9.0.0/16', '0.0.0.0/0'],
      except: ['10.10.0.0/16'],
      ports: [7038],
      database: [{ podSelector: { matchLabels: { a: 'm-db' } } }],
      databasePort: 7039,
      valkey: [{ podSelector: { matchLabels: { a: 'm-vk' } } }],
      valkeyPort: 7040,
      collector: [{ podSelector: { matchLabels: { a: 'm-col' } } }],
      collectorPort: 7041,
      extra: [{ ports: [{ port: 7042 }] }],
    },
  },
  helmTest: {
    enabled: true,
    args: ['m-doctor'],
    caSecret: { name: 'm-ca', key: 'm-ca-key' },
    resources: { requests: { cpu: '7043' } },
  },
  volumes: [{ name: 'm-volume' }],
  volumeMounts: [{ name: 'm-volume', mountPath: '/m-mount' }],
  nodeSelector: { a: 'm-node' },
  tolerations: [{ key: 'm-toleration' }],
  affinity: { a: 'm-affinity' },
  topologySpreadConstraints: [{ topologyKey: 'm-topology' }],
  priorityClassName: 'm-priority',
  hostAliases: [{ ip: 'm-alias' }],
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['m-dns'] },
  command: ['m-command'],
  args: ['m-arg'],
  extraInitContainers: [{ name: 'm-init' }],
  extraContainers: [{ name: 'm-beside', resources: { limits: { cpu: '1', memory: '1' } } }],
  extraResources: [{ kind: 'm-extra-kind', apiVersion: 'v1', metadata: { name: 'x' } }],
};

const STATEFULSET: Values = {
  nameOverride: 'm-name',
  fullnameOverride: 'm-fullname',
  serviceAccount: { create: false, name: 'm-other-account' },
  masterkeySecretName: 'm-master-secret',
  databaseSecretName: '',
  db: {
    useExisting: true,
    endpoint: 'm-endpoint',
    database: 'm-db-name',
    url: 'm-url',
    secret: { name: 'm-db-secret', usernameKey: 'm-user', passwordKey: 'm-pass' },
  },
  lifecycle: { preStop: { a: 'm-lifecycle' } },
  persistence: {
    enabled: true,
    size: '7102Gi',
    storageClass: 'm-storage',
    accessModes: ['m-mode'],
    annotations: { a: 'm-claim' },
  },
  proxyConfigMap: { create: false, name: 'm-map', key: 'm-map-key' },
  proxy_config: null,
  keda: {
    enabled: true,
    minReplicas: 7103,
    maxReplicas: 7104,
    pollingInterval: 7105,
    cooldownPeriod: 7106,
    fallback: { failureThreshold: 7107 },
    scaledObject: { annotations: { a: 'm-keda' } },
    triggers: [{ type: 'm-trigger' }],
    behavior: { a: 'm-keda-behavior' },
  },
  pdb: { enabled: true, maxUnavailable: '7108' },
  podMonitor: {
    enabled: true,
    labels: { a: 'm-pm-label' },
    annotations: { a: 'm-pm-annotation' },
    interval: '7109s',
    scrapeTimeout: '7110s',
    relabelings: [{ action: 'm-pm-relabel' }],
    tlsConfig: { serverName: 'm-pm-tls' },
  },
  scheme: 'https',
  httpRoute: { enabled: true, gatewayName: 'g', rules: [{ matches: [{ a: 'm-route-rule' }] }] },
  istio: {
    enabled: true,
    hosts: ['h'],
    virtualService: { enabled: true, gateways: ['g'], http: [{ a: 'm-vs-http' }] },
  },
};

/** Small sets for switches, words, and what stands alone: the value, and the values that it needs to show. */
const SINGLE: readonly (readonly [path: string, value: unknown, needs?: Values])[] = [
  ['kind', 'StatefulSet'],
  ['replicaCount', 5],
  ['image.pullPolicy', 'Always'],
  ['serviceAccount.create', false],
  ['serviceAccount.automount', true],
  ['restartOnConfigChange', true],
  ['dashboards.enabled', true],
  ['defaultTopologySpread', false],
  ['helmTest.enabled', false],
  ['keda.restoreToOriginalReplicaCount', true, { keda: { enabled: true, triggers: [{ type: 'cpu' }] } }],
  ['db.secret.endpointKey', 'host', { db: { useExisting: true } }],
  ['persistence.existingClaim', 'mine', { persistence: { enabled: true } }],
  [
    'istio.gateway.tls.httpsRedirect',
    false,
    {
      istio: {
        enabled: true,
        hosts: ['h'],
        gateway: { enabled: true, tls: { enabled: true, credentialName: 'c' } },
      },
    },
  ],
];

/** Shown only with files of the chart that tests of their own bring (refusals.test.ts), or only in other values above. */
const ELSEWHERE = new Set([
  'prometheusRule.alertLabels',
  'prometheusRule.alerts',
  'dashboards.namespace',
  'dashboards.labels',
  'dashboards.annotations',
  'dashboards.enabled',
]);

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Paths of all values; what is empty or of another's shape is one. */
function leaves(value: unknown, path: Path = []): string[] {
  if (!isMap(value) || Object.keys(value).length === 0) return [path.join('.')];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

/** Values of ours that are one value to the chart: a free map or list. */
const FREE =
  /^(podSecurityContext|securityContext|proxy_config|ingress\.annotations|istio\.gateway\.selector|istio\.virtualService\.retries|autoscaling\.behavior|dashboards\.labels|helmTest\.resources)\..*/;

function render(t: { testdir(): string }, values: Values): string {
  const path = join(t.testdir(), 'values.yaml');
  writeFileSync(path, JSON.stringify(values));
  const run = helm('template', 'r', CHART, '-n', 'oh', '--kube-version', '1.31.0', '-f', path);
  if (!run.ok) throw new Error(run.err);
  return run.out.replace(/^ {2}masterkey: .*$/gm, '');
}

/** The marks below a value: texts and numbers, as they must be found. */
function marks(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(marks);
  if (isMap(value)) return Object.values(value).flatMap(marks);
  if (typeof value === 'string') return value.length > 2 ? [value] : [];
  return typeof value === 'number' ? [String(value)] : [];
}

t.test('a list or a map may be null, as Helm has it who takes a default away', { skip: NO_HELM }, (t) => {
  const nulls: Values = {};
  const empty = leaves(DEFAULTS).filter((path) => {
    const value = path
      .split('.')
      .reduce<unknown>((here, key) => (isMap(here) ? here[key] : undefined), DEFAULTS);
    return typeof value === 'object' && !path.startsWith('proxy_config');
  });
  t.ok(empty.length > 60);
  const taken = empty.reduce(
    (all, path) =>
      joined(all, path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), null) as Values),
    nulls,
  );
  // The words of `serviceMonitor` and alike matter only when they are on.
  const on = {
    serviceMonitor: { enabled: true },
    podMonitor: { enabled: false },
    prometheusRule: { enabled: true },
    networkPolicy: { enabled: true, egress: { enabled: true } },
    pdb: { enabled: true },
    dashboards: { enabled: true },
  };
  t.match(render(t, joined(taken, on)), /^kind: Deployment$/m);
  t.match(render(t, joined(taken, { ...on, persistence: { enabled: true } })), /^kind: StatefulSet$/m);
  t.match(
    render(t, { ...taken, proxy_config: null, keda: { enabled: true, triggers: [{}] } }),
    /^kind: ScaledObject$/m,
  );
  t.end();
});

t.test('every value is rendered', { skip: NO_HELM }, (t) => {
  const shown = new Set<string>();
  for (const values of [DEPLOYMENT, STATEFULSET]) {
    const text = render(t, values);
    for (const path of leaves(values)) {
      const value = path
        .split('.')
        .reduce<unknown>((here, key) => (isMap(here) ? here[key] : undefined), values);
      const isMasterkey = path === 'masterkey';
      const all = isMasterkey ? [Buffer.from('m-masterkey').toString('base64')] : marks(value);
      for (const mark of all) t.ok(text.includes(mark), `${path}: ${mark}`);
      const known = path.replace(FREE, '$1');
      if (all.length > 0 || typeof value === 'boolean') for (const part of prefixes(known)) shown.add(part);
    }
  }
  const bare = render(t, {});
  for (const [path, value, needs = {}] of SINGLE) {
    const before = Object.keys(needs).length === 0 ? bare : render(t, needs);
    const after = render(
      t,
      joined(
        needs,
        path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Values,
      ),
    );
    if (!ELSEWHERE.has(path)) t.not(after, before, path);
    shown.add(path);
  }
  const all = [...new Set(leaves(DEFAULTS).map((path) => path.replace(FREE, '$1')))];
  t.same(
    all.filter((path) => !shown.has(path) && !ELSEWHERE.has(path)),
    [],
    'no value is left out',
  );
  t.end();
});

/** a.b.c: a, a.b and a.b.c. */
function prefixes(path: string): string[] {
  return path.split('.').map((_, index, all) => all.slice(0, index + 1).join('.'));
}

function joined(one: Values, other: Values): Values {
  const out: Values = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const here = out[key];
    out[key] = isMap(here) && isMap(value) ? joined(here, value) : value;
  }
  return out;
}
