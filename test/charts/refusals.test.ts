// Values that contradict each other are refused with a sentence that names the value to change, all of them at once, and
// nothing is refused that could work. The faults of one case are told by one run of helm.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { at, CHART, helm, NO_HELM, objectsOf } from '../support/helm.ts';

type Values = Readonly<Record<string, unknown>>;
interface Refused {
  readonly ok: boolean;
  /** One sentence a line. */
  readonly said: readonly string[];
}

function template(folder: string, values: Values, chart = CHART): Refused {
  const path = join(folder, 'values.yaml');
  writeFileSync(path, JSON.stringify(values));
  const { ok, err } = helm('template', chart, '--kube-version', '1.31.0', '-f', path);
  return {
    ok,
    said: err
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => / - (set|lower|leave|choose|remove|state|write|put|move|install)\b/.test(line)),
  };
}

interface Case {
  readonly name: string;
  readonly values: Values;
  /** What is said, and nothing else. */
  readonly says: readonly RegExp[];
}

const ON = { enabled: true };
const SOUND = { requests: { cpu: '1', memory: '1Gi' } };
const CASES: readonly Case[] = [
  {
    name: "what runs LiteLLM's image, or its container as root on another port",
    values: {
      image: { repository: 'ghcr.io/berriai/litellm-database', tag: 'main-latest' },
      securityContext: { runAsUser: 0 },
      command: ['/bin/sh', '-c', 'exec litellm --config /etc/litellm/config.yaml'],
      args: ['--config', '/etc/litellm/config.yaml', '--port', '8000'],
      extraEnvVars: [{ name: 'PORT', value: '8000' }],
    },
    says: [
      /^runAsUser is 0, and podSecurityContext\.runAsNonRoot .* - remove runAsUser/,
      /^image\.repository is "ghcr\.io\/berriai\/litellm-database", the image of LiteLLM, .* - set image\.repository/,
      /^command runs ".* litellm .*", a program of LiteLLM's image, .* - remove command; args may stay\.$/,
      /^args say --port 8000, but the container listens on 4000, .* - remove it, and set service\.port/,
      /^extraEnvVars sets PORT, but the container listens on 4000/,
    ],
  },
  {
    name: 'a hook that takes the grace period',
    values: {
      terminationGracePeriodSeconds: 90,
      lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', 'sleep 85'] } } },
    },
    says: [
      /^lifecycle\.preStop takes 85 s of the 90 s .* raise terminationGracePeriodSeconds to 145 or more\.$/,
    ],
  },
  {
    name: 'a hook for a path of LiteLLM',
    values: { lifecycle: { preStop: { httpGet: { path: '/health/drain', port: 4000 } } } },
    says: [
      /^lifecycle\.preStop asks for \/health\/drain, which this proxy does not have: .* - remove lifecycle;/,
    ],
  },
  {
    name: 'client certificates, which no probe shows',
    values: {
      proxy_config: {
        general_settings: { tls: { cert_file: '/a.pem', key_file: '/a.key', client_ca_file: '/ca.pem' } },
      },
    },
    says: [/client_ca_file .* no pod would ever be ready - remove it/],
  },
  {
    name: 'names and an image that nothing would take',
    values: {
      fullnameOverride: 'LLM_Proxy',
      nameOverride: 'lite llm',
      image: { repository: 'example.com:5000/llm/throughline:1.0', tag: 'v1@sha256:ab' },
    },
    says: [
      /^fullnameOverride is "LLM_Proxy", which is no name of a Service - write .* llm-proxy\.$/,
      /^nameOverride is "lite llm", which is no value of a label/,
      /^image\.tag is "v1@sha256:ab", which is no tag - .* put a digest into image\.digest\.$/,
      /^image\.repository is .* holds a tag or a digest - move it to image\.tag/,
    ],
  },
  {
    name: 'names that begin with a digit, end with a dash, or are too long; an image in capitals',
    values: {
      fullnameOverride: `1${'a'.repeat(60)}-`,
      nameOverride: 'Proxy',
      image: { repository: 'example.com/LLM', tag: '.1' },
    },
    says: [
      /^fullnameOverride is "1a+-", which is no name/,
      /^fullnameOverride has 62 characters, .* - write at most 52/,
      /^image\.tag is "\.1", which is no tag/,
      /^image\.repository is "example\.com\/LLM", which is no name of an image/,
    ],
  },
  {
    name: 'autoscaling without requests, with more fewest pods than most',
    values: { autoscaling: { ...ON, minReplicas: 5, maxReplicas: 3, targetMemoryUtilizationPercentage: 70 } },
    says: [
      /^autoscaling\.minReplicas is 5, more than autoscaling\.maxReplicas \(3\)/,
      /the request for cpu, and the container litellm has none, .* set resources\.requests\.cpu, for example 500m/,
      /the request for memory, and the container litellm has none, .* set resources\.requests\.memory/,
    ],
  },
  {
    name: 'a container beside it without requests',
    values: { autoscaling: ON, resources: SOUND, extraContainers: [{ name: 'beside', image: 'b' }] },
    says: [/the container beside has none, .* its resources\.requests\.cpu in extraContainers/],
  },
  {
    name: 'autoscaling by nothing, beside KEDA without triggers, two monitors, Redis',
    values: {
      autoscaling: { ...ON, targetCPUUtilizationPercentage: 0 },
      keda: { ...ON, minReplicas: 3, maxReplicas: 2 },
      serviceMonitor: ON,
      podMonitor: ON,
      redis: ON,
      prometheusRule: { alerts: { Nonesuch: { enabled: false } } },
      db: { useExisting: true, secret: { name: '' } },
      envVars: { PORT: 8080 },
    },
    says: [
      /^envVars\.PORT is 8080, .* remove it, and set service\.port/,
      /^autoscaling\.enabled has nothing to scale by/,
      /^autoscaling\.enabled and keda\.enabled would both set the number of pods/,
      /^keda\.minReplicas is 3, more than keda\.maxReplicas \(2\)/,
      /^keda\.enabled has nothing to scale by/,
      /^serviceMonitor\.enabled and podMonitor\.enabled would have each pod scraped twice/,
      /^prometheusRule\.alerts changes Nonesuch, which the chart does not have/,
      /^redis\.enabled is true, but this chart brings no Redis .* valkeySecretName/,
      /^db\.useExisting needs the Secret .* set db\.secret\.name/,
    ],
  },
  {
    name: 'scaling by metrics of the replaced proxy',
    values: {
      autoscaling: { ...ON, targetRequestsPerSecond: 50, targetTokensPerSecond: '6M' },
      resources: SOUND,
    },
    says: [
      /^autoscaling\.targetRequestsPerSecond is set, and it names a metric of LiteLLM, .* state autoscaling\.metrics/,
      /^autoscaling\.targetTokensPerSecond is set/,
    ],
  },
  {
    name: 'KEDA by metrics of the replaced proxy',
    values: { keda: { ...ON, triggers: [{ type: 'cpu' }], prometheus: { requestsPerSecond: 50 } } },
    says: [/^keda\.prometheus asks for metrics of LiteLLM, .* in keda\.triggers instead/],
  },
  {
    name: 'a budget that keeps all pods',
    values: { replicaCount: 3, pdb: { ...ON, minAvailable: 3 } },
    says: [/^pdb\.minAvailable is 3 .* 3 pods, .* set pdb\.minAvailable to 2 or less/],
  },
  {
    name: 'the same as text',
    values: { replicaCount: 2, pdb: { ...ON, minAvailable: '2' } },
    says: [/set pdb\.minAvailable to 1 or less/],
  },
  {
    name: 'the same as a share',
    values: { replicaCount: 3, pdb: { ...ON, minAvailable: '67%' } },
    says: [/^pdb\.minAvailable is 67%/],
  },
  {
    name: 'the same of one pod',
    values: { pdb: { ...ON, minAvailable: 1 } },
    says: [/no more than 1 pod, .* set pdb\.minAvailable to null and pdb\.maxUnavailable: 1/],
  },
  {
    name: 'the same by the fewest pods',
    values: { autoscaling: { ...ON, minReplicas: 2 }, resources: SOUND, pdb: { ...ON, minAvailable: 2 } },
    says: [/^pdb\.minAvailable is 2/],
  },
  {
    name: 'a budget of none',
    values: { replicaCount: 3, pdb: { ...ON, maxUnavailable: 0 } },
    says: [/^pdb\.maxUnavailable is 0, .* set pdb\.maxUnavailable: 1/],
  },
  {
    name: 'several pods on one claim, with a rolling update',
    values: {
      replicaCount: 2,
      persistence: { ...ON, existingClaim: 'c' },
      strategy: { type: 'RollingUpdate' },
    },
    says: [
      /^persistence\.existingClaim with persistence needs one pod, and there may be 2: .* set replicaCount: 1/,
      /needs the strategy Recreate/,
    ],
  },
  {
    name: 'a Deployment with persistence may not grow',
    values: { kind: 'Deployment', persistence: ON, autoscaling: ON, resources: SOUND },
    says: [/^kind: Deployment with persistence needs one pod, and there may be 100/],
  },
  {
    name: 'a StatefulSet with the claim and the strategy of a Deployment',
    values: {
      kind: 'StatefulSet',
      persistence: { ...ON, existingClaim: 'c' },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } },
    },
    says: [
      /^persistence\.existingClaim cannot be used by a StatefulSet/,
      /^strategy is one of a Deployment, .* leave strategy empty/,
    ],
  },
  {
    name: 'what one pod would keep from the others',
    values: {
      replicaCount: 2,
      proxy_config: {
        general_settings: { store_model_in_db: true },
        platform: { session_api_key: 'a', secret_key: 'b' },
      },
    },
    says: [
      /^There may be 2 pods and no database, while .*store_model_in_db keeps models, and .*platform keeps conversations and keys, .* set databaseSecretName/,
    ],
  },
  {
    name: 'ports that are taken, and that are not there',
    values: {
      adminPort: 4001,
      proxy_config: { platform: { port: 4001, session_api_key: 'a', secret_key: 'b' } },
      httpRoute: ON,
      istio: { ...ON, gateway: { ...ON, tls: ON }, virtualService: { enabled: false } },
    },
    says: [
      /^adminPort and the port of the platform interface are both 4001/,
      /^httpRoute\.enabled needs the Gateway .* set httpRoute\.gatewayName/,
      /set istio\.hosts/,
      /^istio\.gateway\.tls\.mode SIMPLE needs a certificate/,
    ],
  },
  {
    name: 'ports of the proxy itself, routes to nowhere',
    values: {
      adminPort: 4000,
      proxy_config: { platform: { port: 4000, session_api_key: 'a', secret_key: 'b' } },
      istio: { ...ON, hosts: ['a'], virtualService: ON },
    },
    says: [
      /^adminPort is 4000/,
      /^The port of the platform interface is 4000/,
      /^adminPort and the port .* both 4000/,
      /^istio\.virtualService belongs to no Gateway/,
    ],
  },
  {
    name: 'a path to a port that is not there; Istio with all parts off',
    values: {
      istio: ON,
      ingress: { ...ON, hosts: [{ host: 'a', paths: [{ path: '/api', port: 'platform' }] }] },
    },
    says: [
      /^ingress\.hosts leads \/api to the port platform, which there is not/,
      /^istio\.enabled creates nothing/,
    ],
  },
  {
    name: 'metrics on a port that a policy closes',
    values: { adminPort: 4002, serviceMonitor: ON, networkPolicy: ON },
    says: [
      /^serviceMonitor has Prometheus scrape the admin port, to which the NetworkPolicy lets nobody - set networkPolicy\.adminFrom/,
    ],
  },
  {
    name: 'a ConfigMap of somebody else that is not named, and models that nobody reads',
    values: { proxyConfigMap: { create: false }, models: { a: { litellm_params: { model: 'openai/a' } } } },
    says: [
      /^proxyConfigMap\.create is false and no ConfigMap is named/,
      /^models is set, but proxyConfigMap\.create is false/,
    ],
  },
];

for (const { name, values, says } of CASES) {
  t.test(name, { skip: NO_HELM }, (t) => {
    const { ok, said } = template(t.testdir(), values);
    t.notOk(ok);
    t.equal(said.length, says.length, said.join('\n'));
    says.forEach((sentence, index) => t.match(said[index], sentence));
    t.end();
  });
}

const FINE: readonly Values[] = [
  {
    autoscaling: { ...ON, maxReplicas: 4 },
    resources: { limits: { cpu: '1' } },
    pdb: { ...ON, maxUnavailable: '50%' },
  },
  { autoscaling: { ...ON, targetCPUUtilizationPercentage: 0, metrics: [{ type: 'Pods' }] } },
  {
    replicaCount: 3,
    pdb: { ...ON, minAvailable: '66%' },
    databaseSecretName: 'pg',
    proxy_config: { general_settings: { store_model_in_db: true } },
  },
  {
    replicaCount: 2,
    persistence: ON,
    kind: 'auto',
    redis: { enabled: false },
    db: { useExisting: true },
    proxy_config: { general_settings: { store_model_in_db: true } },
  },
  {
    replicaCount: 2,
    envVars: { DATABASE_HOST: 'pg', DATABASE_NAME: 'spend' },
    proxy_config: { general_settings: { store_model_in_db: true } },
  },
  {
    replicaCount: 2,
    extraEnvVars: [{ name: 'DATABASE_HOST', valueFrom: { secretKeyRef: { name: 'pg', key: 'host' } } }],
    proxy_config: { general_settings: { store_model_in_db: true } },
  },
  { replicaCount: 0, pdb: { ...ON, minAvailable: 1 } },
  {
    nameOverride: 'Lite.LLM',
    fullnameOverride: 'llm-proxy-2',
    image: { repository: 'localhost:5000/a/b__c', tag: 'v1.2_3-x' },
  },
];

t.test('what can work is not refused', { skip: NO_HELM }, (t) => {
  for (const values of FINE) {
    const { ok, said } = template(t.testdir(), values);
    t.ok(ok, `${JSON.stringify(values)} ${said.join(' ')}`);
  }
  t.end();
});

t.test(
  'rules and dashboards of the chart: changed by name, left out, and added to',
  { skip: NO_HELM },
  (t) => {
    const folder = t.testdir();
    const chart = join(folder, 'throughline');
    cpSync(CHART, chart, {
      recursive: true,
      filter: (path) => !/\/(rules|dashboards)(\/|$)/.test(path.slice(CHART.length)),
    });
    for (const part of ['rules', 'dashboards']) mkdirSync(join(chart, part));
    const alert = (name: string): string =>
      `      - alert: ${name}\n        expr: throughline_x{job="a"} > 1\n        for: 1m\n        labels: { severity: critical }\n        annotations: { summary: '{{ $labels.pod }} of {{ $value }}' }\n`;
    writeFileSync(
      join(chart, 'rules/a.yaml'),
      `groups:\n  - name: a\n    interval: 30s\n    rules:\n      - { record: b:c, expr: sum(d) }\n${alert('First')}${alert('Second')}`,
    );
    writeFileSync(join(chart, 'rules/b.yaml'), `groups:\n  - name: b\n    rules:\n${alert('Third')}`);
    writeFileSync(join(chart, 'dashboards/service.json'), '{"uid":"a","legend":"{{model}} `x`"}\n');
    writeFileSync(
      join(folder, 'values.yaml'),
      JSON.stringify({
        prometheusRule: {
          ...ON,
          alertLabels: { team: 'llm' },
          alerts: { First: { for: '9m', labels: { severity: 'info' } }, Third: { enabled: false } },
          extraGroups: [{ name: 'own', rules: [] }],
        },
        dashboards: { ...ON, namespace: 'monitoring', annotations: { grafana_folder: 'LLM' } },
      }),
    );
    const run = helm(
      'template',
      'openhands',
      chart,
      '-n',
      'oh',
      '--kube-version',
      '1.31.0',
      '-f',
      join(folder, 'values.yaml'),
    );
    t.ok(run.ok, run.err);
    const objects = objectsOf(run.out);
    const annotations = { summary: '{{ $labels.pod }} of {{ $value }}' };
    t.same(at(objects.get('PrometheusRule/openhands-litellm'), 'spec', 'groups'), [
      {
        name: 'a',
        interval: '30s',
        rules: [
          { record: 'b:c', expr: 'sum(d)' },
          {
            alert: 'First',
            expr: 'throughline_x{job="a"} > 1',
            for: '9m',
            labels: { severity: 'info', team: 'llm' },
            annotations,
          },
          {
            alert: 'Second',
            expr: 'throughline_x{job="a"} > 1',
            for: '1m',
            labels: { severity: 'critical', team: 'llm' },
            annotations,
          },
        ],
      },
      { name: 'own', rules: [] },
    ]);
    t.match(objects.get('ConfigMap/openhands-litellm-dashboard-service'), {
      metadata: {
        namespace: 'monitoring',
        labels: { grafana_dashboard: '1' },
        annotations: { grafana_folder: 'LLM' },
      },
      data: { 'service.json': '{"uid":"a","legend":"{{model}} `x`"}' },
    });
    const wrong = template(folder, { prometheusRule: { alerts: { Frist: { enabled: false } } } }, chart);
    t.match(wrong.said, [/changes Frist, which the chart does not have - write one of First, Second, Third/]);
    t.end();
  },
);
