// TLS of the proxy's own ports in the chart: whatever asks a pod speaks it, wherever the values switch it on.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { list, show, valuesFile, type Shown } from '../support/chart.ts';
import { at, CHART, helm, NO_HELM, objectsOf } from '../support/helm.ts';

const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const;

/** The schemes by which the objects have the pods asked. */
function schemes({ get, container }: Shown): readonly unknown[] {
  const url = list(at(get('Pod'), 'spec', 'containers', 0, 'args')).find((one) =>
    /^https?:/.test(String(one)),
  );
  return [
    ...PROBES.map((probe) => at(container, probe, 'httpGet', 'scheme') ?? 'HTTP'),
    at(get('ServiceMonitor'), 'spec', 'endpoints', 0, 'scheme') ?? 'http',
    new URL(String(url)).protocol,
    at(get('Service'), 'spec', 'ports', 0, 'appProtocol') ?? 'http',
    at(get('Ingress'), 'metadata', 'annotations', 'nginx.ingress.kubernetes.io/backend-protocol') ?? 'HTTP',
  ];
}

const ON = ['--set', 'serviceMonitor.enabled=true,ingress.enabled=true'];
const PLAIN = ['HTTP', 'HTTP', 'HTTP', 'http', 'http:', 'http', 'HTTP'];
const SECURE = ['HTTPS', 'HTTPS', 'HTTPS', 'https', 'https:', 'https', 'HTTPS'];

t.test('probes, scrapes, the test and an Ingress speak what the ports speak', { skip: NO_HELM }, (t) => {
  t.same(schemes(show(...ON)), PLAIN);
  t.same(schemes(show(...ON, '--set', 'envVars.SSL_CERTFILE_PATH=')), PLAIN);
  const files = 'proxy_config.general_settings.tls';
  for (const set of [
    `${files}.cert_file=/a.pem,${files}.key_file=/a.key`,
    'envVars.SSL_CERTFILE_PATH=/a.pem,envVars.SSL_KEYFILE_PATH=/a.key',
    'extraEnvVars[0].name=SSL_CERTFILE_PATH,extraEnvVars[0].value=/a.pem',
    'scheme=https,proxyConfigMap.create=false,proxyConfigMap.name=mine',
  ])
    t.same(schemes(show(...ON, '--set', set)), SECURE, set);
  t.same(schemes(show('-f', valuesFile('tls'), ...ON, '--set', 'scheme=http')), PLAIN);
  t.end();
});

t.test('how scrapes check the certificate is stated', { skip: NO_HELM }, (t) => {
  const tlsConfig = { serverName: 'llm.example.com', ca: { secret: { name: 'llm-tls', key: 'ca.crt' } } };
  t.match(at(show('-f', valuesFile('tls')).get('ServiceMonitor'), 'spec', 'endpoints', 0), {
    port: 'admin',
    scheme: 'https',
    tlsConfig,
  });
  const sets = (...all: readonly string[]): readonly string[] => all.flatMap((one) => ['--set', one]);
  const pods = sets(
    'scheme=https',
    'podMonitor.enabled=true',
    'podMonitor.tlsConfig.insecureSkipVerify=true',
  );
  t.match(at(show(...pods).get('PodMonitor'), 'spec', 'podMetricsEndpoints', 0), {
    scheme: 'https',
    tlsConfig: { insecureSkipVerify: true },
  });
  t.end();
});

t.test('the test knows the authority of the certificate', { skip: NO_HELM }, (t) => {
  const pod = show('-f', valuesFile('tls')).get('Pod');
  t.match(at(pod, 'spec', 'containers', 0, 'env'), [
    {},
    {},
    { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/throughline-ca/ca.crt' },
  ]);
  t.match(at(pod, 'spec', 'volumes', 2), { name: 'ca', secret: { secretName: 'llm-tls' } });
  t.end();
});

/** The notes, which `helm template` leaves out, as a text of an object. */
function notes(folder: string, ...args: readonly string[]): string {
  const chart = join(folder, 'chart');
  cpSync(CHART, chart, { recursive: true });
  const text = readFileSync(join(CHART, 'templates/NOTES.txt'), 'utf8');
  const object = '{{ include "notes" . | quote }}';
  writeFileSync(
    join(chart, 'templates/notes.yaml'),
    `{{- define "notes" -}}${text}{{- end -}}\nkind: Notes\nmetadata: { name: notes }\ntext: ${object}\n`,
  );
  const run = helm('template', 'openhands', chart, '-n', 'oh', '--kube-version', '1.31.0', ...args);
  if (!run.ok) throw new Error(run.err);
  return String(at(objectsOf(run.out).get('Notes/notes'), 'text'));
}

t.test('the notes name what a certificate needs', { skip: NO_HELM }, (t) => {
  const bare = notes(t.testdir(), '--set', 'scheme=https,serviceMonitor.enabled=true,adminPort=4002');
  t.match(bare, /serves on\n\n {2}https:\/\/openhands-litellm\.oh/);
  t.match(bare, /administration on\n\n {2}https:\/\/openhands-litellm\.oh/);
  t.match(bare, /asks pods by their addresses: .*\nserviceMonitor\.tlsConfig, for/);
  t.match(bare, /asks https:\/\/openhands-litellm:4000, .* helmTest\.caSecret names its authority/);
  t.notMatch(bare, /http:/);
  const told = notes(t.testdir(), '-f', valuesFile('tls'));
  t.notMatch(told, /tlsConfig|caSecret/);
  t.match(notes(t.testdir()), "fetch('http://127.0.0.1:4000/v1/models'");
  t.end();
});
