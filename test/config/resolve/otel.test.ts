// Where spans go, as the file and OpenTelemetry's environment names say it.
import t from 'tap';
import type { Test } from 'tap';
import type { OtelSettings } from '../../../config/otel-settings.ts';
import { snapshotOf } from '../../support/services.ts';

type Env = Readonly<Record<string, string>>;

const otelOf = (t: Test, section: string, env: Env = {}): OtelSettings | null =>
  snapshotOf(t, `model_list: []\n${section}`, env).otel;

function on(t: Test, env: Env = {}, inner = '{}'): OtelSettings {
  const otel = otelOf(t, `general_settings: { otel: ${inner} }`, env);
  if (otel === null) throw new Error('tracing is off');
  return otel;
}

t.test('tracing is off unless the file turns it on, and the environment can turn it off', async (t) => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
  t.equal(otelOf(t, '', env), null);
  t.equal(otelOf(t, 'litellm_settings: { callbacks: [langfuse] }', env), null);
  for (const callbacks of ['otel', '[otel]', '[prometheus, otel]'])
    t.ok(otelOf(t, `litellm_settings: { callbacks: ${callbacks} }`, env), callbacks);
  t.equal(otelOf(t, 'general_settings: { otel: {} }', { OTEL_SDK_DISABLED: 'true' }), null);
  t.equal(otelOf(t, 'general_settings: { otel: {} }', { OTEL_TRACES_EXPORTER: 'none' }), null);
});

t.test('callbacks without effect are named once, and not together with otel', async (t) => {
  const warnings = (callbacks: string): string[] =>
    snapshotOf(t, `model_list: []\nlitellm_settings: { callbacks: ${callbacks} }`)
      .warnings.filter(({ message }) => message.includes('no effect'))
      .map(({ message }) => message);
  t.same(warnings('[otel]'), []);
  t.same(warnings('langfuse'), ['has no effect here']);
  t.same(warnings('[langfuse, otel]'), ['has, but for otel, no effect here']);
});

t.test(
  'nothing said means a collector on this machine, all traces, and the defaults of the SDKs',
  async (t) => {
    t.match(on(t), {
      endpoint: 'http://localhost:4318/v1/traces',
      headers: [],
      timeoutMs: 10_000,
      compression: 'none',
      resource: [['service.name', 'throughline']],
      sampler: { ratio: 1, followsCaller: true },
      propagates: true,
      delayMs: 5_000,
      queueSpans: 4_096,
    });
  },
);

t.test('the file wins over the environment, and the address of traces over the base', async (t) => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://base:4318/',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20a%2Cb, x-team = blue ',
    OTEL_SERVICE_NAME: 'of-the-environment',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=hidden,k8s.pod.name=pod-1',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  };
  const found = on(t, env);
  t.match(found, {
    endpoint: 'http://base:4318/v1/traces',
    resource: [
      ['service.name', 'of-the-environment'],
      ['k8s.pod.name', 'pod-1'],
    ],
    sampler: { ratio: 0.25, followsCaller: false },
  });
  const revealed = (otel: OtelSettings): unknown =>
    otel.headers.map(([name, value]) => [name, value.reveal()]);
  t.same(revealed(found), [
    ['authorization', 'Bearer a,b'],
    ['x-team', 'blue'],
  ]);
  t.notMatch(JSON.stringify(found), /Bearer/);
  const file = on(
    t,
    env,
    '{ endpoint: "https://other/v1/traces", headers: { X-Team: red }, service_name: mine, sample_ratio: "0.5" }',
  );
  t.match(file, { endpoint: 'https://other/v1/traces', sampler: { ratio: 0.5, followsCaller: true } });
  t.equal(file.resource[0]?.[1], 'mine');
  t.match(revealed(file), [['authorization'], ['x-team', 'red']]);
  const own = { ...env, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces:4318/of/its/own' };
  t.equal(on(t, own).endpoint, 'http://traces:4318/of/its/own', 'taken as it is');
});

t.test("the dialect's older names do where the others are not set", async (t) => {
  const older = {
    OTEL_EXPORTER: 'otlp_http',
    OTEL_ENDPOINT: 'https://api.example.com',
    OTEL_HEADERS: 'Authorization=Bearer <key>',
  };
  const found = on(t, older);
  t.equal(found.endpoint, 'https://api.example.com/v1/traces');
  t.equal(found.headers[0]?.[1].reveal(), 'Bearer <key>');
  t.throws(() => on(t, { ...older, OTEL_EXPORTER: 'otlp_grpc' }), { message: /gRPC is not spoken/ });
  t.equal(on(t, { ...older, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' }).endpoint, 'http://c/v1/traces');
});

t.test('every wrong word of the environment is an error that says what to write', async (t) => {
  const cases: readonly (readonly [name: string, value: string, says: RegExp])[] = [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', /not an http or https URL - for example http:/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://c/?a=b', /query/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz', /not a list of name=value/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=c', /a name that cannot be sent/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'host=c', /a name that cannot be sent/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%0Ab', /headers cannot contain/],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s', /whole number/],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd', /none, gzip/],
    ['OTEL_TRACES_SAMPLER', 'toString', /one of always_on/],
    ['OTEL_TRACES_SAMPLER_ARG', '2', /from 0 to 1/],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0', /whole number/],
  ];
  for (const [name, value, says] of cases) {
    const sampler = name.endsWith('_ARG') ? { OTEL_TRACES_SAMPLER: 'traceidratio' } : {};
    t.throws(() => on(t, { ...sampler, [name]: value }), { message: says }, `${name}=${value}`);
  }
});
