// What the values make of the pods: environment, volumes, image, spread, and when they restart.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { ENV, list, loadRendered, show, valuesFile } from '../support/chart.ts';
import { at, NO_HELM } from '../support/helm.ts';

t.test('the server takes what production renders', { skip: NO_HELM }, (t) => {
  const { get, env } = show('-f', valuesFile('production'));
  t.same(at(env.get('REDIS_URL'), 'valueFrom', 'secretKeyRef'), {
    name: 'throughline-valkey',
    key: 'REDIS_URL',
  });
  const snapshot = loadRendered(t, get('ConfigMap'), {
    ...ENV,
    GATEWAY_KEY: 'sk-gateway',
    INFERENCE_KEY_0: 'sk-agents',
    REDIS_URL: 'rediss://valkey:6380/2',
  });
  t.match(snapshot, {
    valkey: { host: 'valkey', port: 6380, tls: {}, database: 2 },
    admin: { port: 4002 },
  });
  t.same(
    snapshot.deployments.map(({ group, origin }) => [group, origin]),
    [
      ['claude-sonnet', 'https://gateway-eu.example.com'],
      ['claude-sonnet', 'https://gateway-us.example.com'],
    ],
  );
  const own = show('-f', valuesFile('production'), '--set', 'proxy_config.router_settings.redis_host=mine');
  t.same(at(parse(String(at(own.get('ConfigMap'), 'data', 'config.yaml'))), 'router_settings'), {
    redis_host: 'mine',
  });
  t.end();
});

t.test('a name that stands twice is merged, the later one wins and stands last', { skip: NO_HELM }, (t) => {
  const path = join(t.testdir(), 'values.yaml');
  const values = {
    envVars: { HOST: '::', A: 'one', LITELLM_LOG: 'DEBUG' },
    extraEnvVars: [
      { name: 'FIRST', value: 'x' },
      { name: 'A', value: '$(FIRST)' },
      { name: 'PROXY_MASTER_KEY', value: 'mine' },
    ],
    volumes: [{ name: 'tmp', emptyDir: { medium: 'Memory' } }],
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp/' },
      { name: 'tmp', mountPath: '/var/lib/throughline' },
    ],
  };
  writeFileSync(path, JSON.stringify(values));
  const { pod, container, env } = show('-f', path);
  const names = list(at(container, 'env')).map((one) => at(one, 'name'));
  t.equal(names.length, env.size);
  t.same(names.slice(-3), ['FIRST', 'A', 'PROXY_MASTER_KEY']);
  t.match([env.get('HOST'), env.get('A')], [{ value: '::' }, { value: '$(FIRST)' }]);
  t.equal(at(env.get('THROUGHLINE_LOG_LEVEL'), 'value'), 'debug');
  t.same(
    list(at(pod, 'volumes')).filter((one) => at(one, 'name') === 'tmp'),
    values.volumes,
  );
  t.same(
    list(at(container, 'volumeMounts')).map((one) => at(one, 'mountPath')),
    ['/etc/litellm', '/tmp/', '/var/lib/throughline'],
  );
  t.end();
});

t.test('numbers of values reach the pod as they were written', { skip: NO_HELM }, (t) => {
  const path = join(t.testdir(), 'values.yaml');
  const envVars = {
    REDIS_TIMEOUT: 1_000_000,
    MANY: 12_345_678,
    SHARE: 0.25,
    BELOW: -2_000_000,
    IS_ON: true,
    NONE: 0,
  };
  writeFileSync(path, JSON.stringify({ envVars }));
  const { env } = show('-f', path);
  for (const [name, value] of Object.entries(envVars))
    t.equal(at(env.get(name), 'value'), String(value), name);
  const set = show('--set', 'envVars.REDIS_TIMEOUT=1000000').env;
  t.equal(at(set.get('REDIS_TIMEOUT'), 'value'), '1000000');
  t.end();
});

t.test('the database of the replaced chart is used as it is stated', { skip: NO_HELM }, (t) => {
  const { env } = show('-f', valuesFile('platform'));
  t.match(env.get('DATABASE_PASSWORD'), {
    valueFrom: { secretKeyRef: { name: 'postgres-password', key: 'password' } },
  });
  t.match(env.get('DATABASE_HOST'), { value: 'oh-main-postgresql' });
  const names = [...env.keys()];
  for (const [, name = ''] of String(at(env.get('DATABASE_URL'), 'value')).matchAll(/\$\((\w+)\)/g))
    t.ok(names.indexOf(name) < names.indexOf('DATABASE_URL'), `$(${name}) is filled in from above`);
  const both = show('-f', valuesFile('platform'), '--set', 'databaseSecretName=pg');
  t.notOk(both.env.has('DATABASE_HOST'));
  t.end();
});

t.test('a stated hook counts in what running requests get', { skip: NO_HELM }, (t) => {
  const drain = (lifecycle: object, more: object = {}): unknown => {
    const path = join(t.testdir(), 'values.yaml');
    writeFileSync(path, JSON.stringify({ terminationGracePeriodSeconds: 300, lifecycle, ...more }));
    const config: unknown = parse(String(at(show('-f', path).get('ConfigMap'), 'data', 'config.yaml')));
    return at(config, 'general_settings', 'drain_seconds');
  };
  const exec = (...command: readonly string[]): object => ({ preStop: { exec: { command } } });
  t.equal(drain({}), 265);
  t.equal(drain(exec('/bin/sh', '-c', 'sleep 60')), 210);
  t.equal(drain(exec('node', '-e', 'setTimeout(() => {}, 30000)')), 240);
  t.equal(drain({ preStop: { sleep: { seconds: 20 } } }), 250);
  t.equal(drain({ postStart: { exec: { command: ['true'] } } }), 270, 'nothing before the signal');
  t.equal(drain(exec('/stop')), 265, 'one that says nothing');
  const stated = { proxy_config: { general_settings: { drain_seconds: 270 } } };
  t.throws(() => drain(exec('sleep', '60'), stated), /lifecycle\.preStop 60 leave 240 s, .* to 360,/);
  t.end();
});

t.test(
  'templates in annotations and containers are filled in, those of others stay',
  { skip: NO_HELM },
  (t) => {
    const path = join(t.testdir(), 'values.yaml');
    const vault = '{{- with secret "kv/llm" -}}export KEY="{{ .Data.data.key }}"{{- end }}';
    writeFileSync(
      path,
      JSON.stringify({
        image: { repository: 'r.example.com/llm', tag: 'v7' },
        podAnnotations: {
          a: '{{ .Values.image.tag }}',
          b: '{{ include "throughline.fullname" . }}',
          c: '{{ "{{" }} x }}',
          vault,
        },
        extraInitContainers: [
          { name: 'before', image: '{{ .Values.image.repository }}:{{ .Values.image.tag }}' },
        ],
        extraContainers: [{ name: 'beside', image: '{{ .Release.Name }}:1' }],
      }),
    );
    const { get, pod } = show('-f', path);
    t.match(at(get('Deployment'), 'spec', 'template', 'metadata', 'annotations'), {
      a: 'v7',
      b: 'openhands-litellm',
      c: '{{ x }}',
      vault,
    });
    t.equal(at(pod, 'initContainers', 0, 'image'), 'r.example.com/llm:v7');
    t.equal(at(pod, 'containers', 1, 'image'), 'openhands:1');
    t.end();
  },
);

t.test('labels of the pods spread them, also by constraints without labels', { skip: NO_HELM }, (t) => {
  const spread = (...args: readonly string[]): readonly unknown[] =>
    list(at(show(...args).pod, 'topologySpreadConstraints'));
  const labels = { 'app.kubernetes.io/name': 'litellm', 'app.kubernetes.io/instance': 'openhands' };
  t.match(spread(), [
    {
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: labels },
    },
    { topologyKey: 'kubernetes.io/hostname', matchLabelKeys: ['pod-template-hash'] },
  ]);
  t.match(spread('-f', valuesFile('exposed')), [{ maxSkew: 1, labelSelector: { matchLabels: labels } }]);
  t.same(at(spread('--kube-version', '1.26.0')[0], 'matchLabelKeys'), undefined);
  t.same(spread('--set', 'defaultTopologySpread=false'), []);
  t.end();
});

t.test('a mirror takes the place of the registry, and a digest pins', { skip: NO_HELM }, (t) => {
  const image = (...sets: readonly string[]): unknown =>
    at(show(...sets.flatMap((one) => ['--set', one])).container, 'image');
  const mirror = 'global.imageRegistry=mirror.example.com:5000/';
  t.equal(image('image.tag=v7'), 'throughline:v7');
  t.equal(image(mirror), 'mirror.example.com:5000/throughline:0.1.0');
  t.equal(image(mirror, 'image.repository=ghcr.io/a/b'), 'mirror.example.com:5000/a/b:0.1.0');
  t.equal(image(mirror, 'image.repository=a/b'), 'mirror.example.com:5000/a/b:0.1.0');
  t.equal(image(`image.digest=sha256:${'0'.repeat(64)}`), `throughline:0.1.0@sha256:${'0'.repeat(64)}`);
  t.end();
});

t.test(
  'what a running process cannot change restarts the pods, and nothing else does',
  { skip: NO_HELM },
  (t) => {
    const sum = (...sets: readonly string[]): unknown =>
      at(
        show(...sets.flatMap((one) => ['--set', one])).get('Deployment'),
        'spec',
        'template',
        'metadata',
        'annotations',
        'checksum/config',
      );
    const bare = sum();
    t.equal(
      sum(
        'proxy_config.litellm_settings.num_retries=5',
        'models.a.litellm_params.model=openai/a',
        'models.a.litellm_params.api_base=http://a/v1',
      ),
      bare,
    );
    const tls = 'proxy_config.general_settings.tls';
    t.equal(sum(`${tls}.cert_file=/a`), sum(`${tls}.cert_file=/b`), 'another certificate is taken over');
    const platform = ['proxy_config.platform.session_api_key=a', 'proxy_config.platform.secret_key=b'];
    t.not(sum(...platform), bare);
    t.equal(sum(...platform, 'proxy_config.platform.public_base_url=http://a'), sum(...platform));
    t.not(sum(...platform, 'proxy_config.platform.sandbox.isolation=none'), sum(...platform));
    for (const set of [
      'general_settings.database_url=a',
      'general_settings.workers=2',
      'router_settings.redis_host=a',
      'litellm_settings.cache_params.host=a',
      'litellm_settings.callbacks[0]=otel',
      'general_settings.otel.service_name=a',
      'general_settings.allow_unauthenticated=true',
      'general_settings.capsules.keep_bodies=false',
      'general_settings.capsules.directory=/a',
      'general_settings.tls.cert_file=/a',
      'router_settings.redis_ssl=true',
    ])
      t.not(sum(`proxy_config.${set}`), bare, set);
    const variables = 'proxy_config.environment_variables';
    for (const [name, ...settings] of [
      ['DATABASE_URL'],
      ['DATABASE_PASSWORD'],
      ['REDIS_HOST'],
      ['OTEL_EXPORTER_OTLP_ENDPOINT'],
      ['SSL_CERTFILE_PATH'],
      ['MINE', 'proxy_config.general_settings.database_url=os.environ/MINE'],
      ['MINE_FILE', 'proxy_config.general_settings.database_url=os.environ/MINE'],
      ['MINE', 'proxy_config.general_settings.otel.headers.authorization=os.environ/MINE'],
    ] as const)
      t.not(
        sum(...settings, `${variables}.${name}=a`),
        sum(...settings, `${variables}.${name}=b`),
        [name, ...settings].join(' '),
      );
    const model = ['models.a.litellm_params.model=openai/a', 'models.a.litellm_params.api_base=http://a/v1'];
    const key = [...model, 'models.a.litellm_params.api_key=os.environ/KEY'];
    t.equal(sum(...key, `${variables}.KEY=a`), sum(...key, `${variables}.KEY=b`), 'a reload takes it over');
    t.not(
      sum('restartOnConfigChange=true', 'proxy_config.litellm_settings.num_retries=5'),
      sum('restartOnConfigChange=true'),
    );
    t.end();
  },
);
