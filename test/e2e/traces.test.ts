// Traces as a collector and an upstream see them: whose child a call is, what its span says, what happens to a call
// whose trace nobody wants or takes. The collector is a real one on a socket.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall } from '../support/call.ts';
import { folder, ROOT, runCli, runWithin, serveCli } from '../support/cli.ts';
import { startCollector, type Collector } from '../support/collector.ts';
import {
  chat,
  defaultConfig,
  headerOf,
  KEY,
  lastSeen,
  rowOf,
  send,
  startRig,
  type Rig,
} from '../support/rig.ts';
import { beforeNextLook } from '../support/patience.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const parent = (flags: string): string => `00-${TRACE}-${CALLER}-${flags}`;
const SOON = { OTEL_BSP_SCHEDULE_DELAY: '10' };

const rigWith = (t: Test, collector: Pick<Collector, 'url'>, more = '', env: Record<string, string> = SOON) =>
  startRig(t, {
    config: (demo) =>
      `${defaultConfig(demo)}  otel: { endpoint: "${collector.url}", service_name: proxy-a }\n${more}`,
    env,
    demo: { eventIntervalMs: 5, stallMs: 60_000 },
  });

/** The `traceparent` of the newest call upstream, in its fields. */
function toldUpstream(rig: Rig): string[] {
  return (headerOf(lastSeen(rig).rawHeaders, 'traceparent') ?? '').split('-');
}

t.test('a call is the child of its caller and the parent of what happens upstream', async (t) => {
  const collector = await startCollector(t);
  const rig = await rigWith(t, collector);
  const answer = await chat(
    rig,
    'demo',
    { user: 'mallory@example.com' },
    {
      traceparent: parent('01'),
      tracestate: 'vendor=opaque,other=1',
      'x-litellm-session-id': 'conversation-7',
      'x-litellm-tags': 'blue',
    },
  );
  const [span] = await collector.received(1);
  const row = await rowOf(rig, answer);
  if (span === undefined) throw new Error('no span');
  t.same(toldUpstream(rig), ['00', TRACE, span.spanId, '01']);
  t.equal(headerOf(lastSeen(rig).rawHeaders, 'tracestate'), 'vendor=opaque,other=1');
  t.match(span, { traceId: TRACE, parentId: CALLER, name: 'chat demo', kind: 3, status: 0 });
  t.equal(span.startMs, Date.parse(String(row['startTime'])));
  t.equal(span.endMs, Date.parse(String(row['endTime'])));
  t.match(span.resource, { 'service.name': 'proxy-a' });
  const { port } = new URL(rig.demo.url);
  t.match(span.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': row['custom_llm_provider'],
    'gen_ai.request.model': 'demo',
    'gen_ai.request.stream': false,
    'gen_ai.response.model': (JSON.parse(answer.text) as { model: string }).model,
    'gen_ai.response.id': row['upstream_id'],
    'gen_ai.conversation.id': 'conversation-7',
    'gen_ai.usage.input_tokens': row['prompt_tokens'],
    'gen_ai.usage.output_tokens': row['completion_tokens'],
    'http.response.status_code': 200,
    'server.address': '127.0.0.1',
    'server.port': Number(port),
    'throughline.call_id': row['request_id'],
    'throughline.tags': ['blue'],
    'throughline.end_reason': 'complete',
    'throughline.attempts': 1,
  });
  t.notMatch(JSON.stringify(span), /one two three|mallory|sk-/, 'neither text, nor key, nor end user');
  const line = await rig.logged(({ call_id }) => call_id === row['request_id']);
  t.equal(line['trace_id'], TRACE, 'log and trace are joined');
});

t.test('without a usable traceparent a trace begins here, and its tracestate goes nowhere', async (t) => {
  const collector = await startCollector(t);
  const rig = await rigWith(t, collector);
  const malformed = [
    parent('01').toUpperCase(),
    `00-${'0'.repeat(32)}-${CALLER}-01`,
    `ff-${TRACE}-${CALLER}-01`,
    `${parent('01')}-more`,
    'nonsense',
  ];
  for (const traceparent of malformed) {
    t.equal((await chat(rig, 'demo', {}, { traceparent, tracestate: 'a=b' })).status, 200);
    const [version, traceId, spanId, flags] = toldUpstream(rig);
    t.match([version, flags], ['00', '01'], traceparent);
    t.not(traceId, TRACE);
    const span = (await collector.received(collector.spans.length)).find((one) => one.spanId === spanId);
    t.equal(span?.parentId ?? '', '');
    t.equal(headerOf(lastSeen(rig).rawHeaders, 'tracestate'), undefined);
  }
  await chat(rig, 'demo', {}, { traceparent: `01-${TRACE}-${CALLER}-01-of-a-later-version` });
  t.equal(toldUpstream(rig)[1], TRACE, 'a later version is read as far as it is known');
  const all = await collector.received(malformed.length + 1);
  t.equal(new Set(all.map((one) => one.spanId)).size, all.length);
});

t.test('a caller that does not sample is obeyed, and the trace goes on', async (t) => {
  const collector = await startCollector(t);
  const rig = await rigWith(t, collector);
  await chat(rig, 'demo', {}, { traceparent: parent('00') });
  t.match(toldUpstream(rig), ['00', TRACE, /^[0-9a-f]{16}$/, '00']);
  await chat(rig, 'demo', {}, { traceparent: parent('01') });
  await rig.stop();
  t.equal(collector.spans.length, 1);
});

t.test('a key that a client put into tracestate stays here', async (t) => {
  const rig = await rigWith(t, await startCollector(t));
  await chat(rig, 'demo', {}, { traceparent: parent('01'), tracestate: `a=${KEY}` });
  t.equal(toldUpstream(rig)[1], TRACE);
  t.equal(headerOf(lastSeen(rig).rawHeaders, 'tracestate'), undefined);
});

t.test('each attempt of several is a span below that of the call', async (t) => {
  const collector = await startCollector(t);
  const rig = await rigWith(
    t,
    collector,
    `router_settings: { num_retries: 0, fallbacks: [{ "demo-500": [demo] }] }\n`,
  );
  const answer = await chat(rig, 'demo-500', {}, { traceparent: parent('01') });
  t.equal(answer.status, 200);
  const [call, first, second] = await collector.received(3);
  t.match(call, {
    name: 'chat demo',
    parentId: CALLER,
    status: 0,
    attributes: { 'throughline.attempts': 2, 'throughline.model_group': 'demo-500' },
  });
  t.match(first, {
    name: 'chat demo-500',
    parentId: call?.spanId,
    status: 2,
    attributes: { 'error.type': 'server', 'http.response.status_code': 500, 'throughline.attempt': 1 },
  });
  t.match(second, {
    name: 'chat demo',
    parentId: call?.spanId,
    status: 0,
    attributes: { 'http.response.status_code': 200, 'throughline.attempt': 2 },
  });
  t.notOk(second?.attributes['gen_ai.usage.input_tokens'], 'tokens stand in one span alone');
  t.equal(toldUpstream(rig)[2], call?.spanId);
});

t.test('a stream whose client leaves has a span with what was seen of it', async (t) => {
  const collector = await startCollector(t);
  const rig = await rigWith(t, collector);
  const call = openCall(
    rig.url,
    '/v1/chat/completions',
    { model: 'demo-stall', stream: true, messages: [{ role: 'user', content: 'Hello' }] },
    { traceparent: parent('01') },
  );
  await call.received('data:');
  call.leave();
  const [span] = await collector.received(1);
  t.match(span, {
    status: 2,
    attributes: {
      'error.type': 'client_gone',
      'gen_ai.request.stream': true,
      'throughline.end_reason': 'client_gone',
    },
  });
  const seconds = span?.attributes['gen_ai.response.time_to_first_chunk'];
  t.ok(typeof seconds === 'number' && seconds >= 0 && seconds < 60, `first chunk after ${String(seconds)} s`);
});

t.test('refused calls have a span, and a made-up model name is not part of its name', async (t) => {
  const collector = await startCollector(t);
  const rig = await rigWith(t, collector);
  t.equal((await chat(rig, 'no-such-model')).status, 404);
  const [span] = await collector.received(1);
  t.match(span, {
    name: 'chat',
    status: 2,
    attributes: { 'gen_ai.request.model': 'no-such-model', 'http.response.status_code': 404 },
  });
});

t.test('a collector that is away harms no call: spans are dropped, counted, and told once', async (t) => {
  let status = 400;
  const collector = await startCollector(t, { status: () => status });
  const rig = await rigWith(t, collector, '', { ...SOON, OTEL_BSP_MAX_QUEUE_SIZE: '2' });
  for (let n = 0; n < 4; n += 1) t.equal((await chat(rig, 'demo')).status, 200);
  const warning = await rig.logged(({ msg }) => String(msg).startsWith('spans are dropped'));
  t.match(warning, { level: 40, collector: `${collector.url}/v1/traces` });
  status = 200;
  const dropped = async (): Promise<number> =>
    Number(
      /^throughline_trace_spans_dropped_total (\d+)$/m.exec(
        (await send(rig.url, 'GET', '/metrics')).text,
      )?.[1],
    );
  for (;;) {
    await chat(rig, 'demo');
    if (rig.log.some(({ msg }) => msg === 'spans are exported again')) break;
    await beforeNextLook();
  }
  t.ok((await dropped()) >= 1);
  const said = rig.log.filter(({ msg }) => String(msg).startsWith('spans are dropped'));
  t.equal(said.length, 1, 'one line for an outage');
  await rig.stop();
});

t.test('an end waits for a collector that hangs no longer than it must', async (t) => {
  const rig = await rigWith(t, { url: 'http://127.0.0.1:1' }, '', { OTEL_BSP_SCHEDULE_DELAY: '600000' });
  t.equal((await chat(rig, 'demo')).status, 200);
  await rig.stop();
  t.match(
    rig.log.find(({ msg }) => String(msg).startsWith('spans are dropped')),
    { level: 40 },
  );
});

t.test('the dialect way: callbacks, the environment, a secret header, a share of the traces', async (t) => {
  const collector = await startCollector(t);
  const env = {
    ...SOON,
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20otel-secret',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_SERVICE_NAME: 'from-environment',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  };
  const more = `litellm_settings: { callbacks: ["otel"], forward_traceparent_to_llm_provider: false }\n`;
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo, more), env });
  for (let n = 0; n < 32; n += 1) await chat(rig, 'demo');
  t.equal(headerOf(lastSeen(rig).rawHeaders, 'traceparent'), undefined, 'the trace ends here when told so');
  await collector.received(3);
  await rig.stop();
  t.ok(collector.spans.length < 30, `${collector.spans.length} of 32`);
  t.match(collector.spans[0]?.resource, {
    'service.name': 'from-environment',
    'deployment.environment.name': 'test',
  });
  const [first] = collector.exports;
  t.equal(first?.path, '/base/v1/traces');
  t.match(first?.headers, { authorization: 'Bearer otel-secret', 'content-encoding': 'gzip' });
  t.notMatch(JSON.stringify(rig.log), /otel-secret/);
});

t.test('another collector in the file waits for a restart, and says so', async (t) => {
  const collector = await startCollector(t);
  const rig = await rigWith(t, collector);
  await rig.reconfigure(`${defaultConfig(rig.demo)}  otel: { endpoint: "http://127.0.0.1:1" }\n`);
  await rig.logged(({ msg }) => /^tracing was changed .* after a restart$/.test(String(msg)));
  await chat(rig, 'demo');
  t.equal((await collector.received(1)).length, 1, 'the old one serves on');
});

t.test('without tracing nothing of it is there', async (t) => {
  const rig = await startRig(t);
  await chat(rig, 'demo', {}, { traceparent: parent('01') });
  t.equal(headerOf(lastSeen(rig).rawHeaders, 'traceparent'), undefined);
  t.notMatch((await send(rig.url, 'GET', '/metrics')).text, /throughline_trace_/);
  t.notOk(rig.log.some((line) => 'trace_id' in line));
});

t.test('each of two workers exports its own; their metrics are added up', async (t) => {
  const collector = await startCollector(t);
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, `${defaultConfig(demo)}  otel: { endpoint: "${collector.url}" }\n`);
  const proxy = await serveCli(t, config, join(dir, 'data'), ['--workers', '2'], { env: SOON });
  for (let n = 0; n < 8; n += 1) await chat({ url: proxy.url }, 'demo');
  await collector.received(8);
  const isExported = async (): Promise<boolean> =>
    /^throughline_trace_spans_exported_total 8$/m.test((await send(proxy.url, 'GET', '/metrics')).text);
  while (!(await isExported())) await beforeNextLook();
  t.equal(new Set(collector.spans.map((span) => span.traceId)).size, 8);
});

t.test('what a collector cannot be is refused before the start', async (t) => {
  const dir = folder(t);
  const check = async (otel: string, env: Record<string, string> = {}): Promise<string> => {
    const config = join(dir, 'gateway.yaml');
    writeFileSync(config, `model_list: []\ngeneral_settings: { master_key: ${KEY}, otel: ${otel} }\n`);
    const { code, out, err } = await runWithin(['check', '--config', config], { env });
    t.equal(code, 1);
    return out + err;
  };
  t.match(await check('{ endpoint: "collector:4318" }'), /endpoint is not an http or https URL/);
  t.match(await check('{ endpoint: "http://u:p@c:4318" }'), /contains credentials - put them into headers/);
  t.match(await check('{ sample_ratio: 2 }'), /sample_ratio/);
  t.match(await check('{}', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), /is grpc - .*gRPC is not spoken/);
  t.match(
    await check('{}', { OTEL_TRACES_SAMPLER: 'jaeger_remote' }),
    /jaeger_remote - write one of always_on/,
  );
  const headers = await check('{}', { OTEL_EXPORTER_OTLP_HEADERS: 'sk-a-secret' });
  t.match(headers, /not a list of name=value/);
  t.notMatch(headers, /sk-a-secret/);
});

t.test('a call that died with its process has its span from the next start', async (t) => {
  const collector = await startCollector(t);
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, `${defaultConfig(demo)}  otel: { endpoint: "${collector.url}" }\n`);
  const killed = await serveCli(t, config, join(dir, 'data'), [], { env: SOON });
  const call = openCall(
    killed.url,
    '/v1/chat/completions',
    { model: 'demo-hold', messages: [{ role: 'user', content: 'Hello' }] },
    { traceparent: parent('01') },
  );
  await demo.waitFor(1);
  killed.kill('SIGKILL');
  call.req.on('error', () => undefined); // the connection breaks off
  await killed.ended;
  await startRig(t, { folder: dir, config: () => readFileSync(config, 'utf8'), env: SOON });
  const [span] = await collector.received(1);
  const told = headerOf(demo.seen[0]?.rawHeaders ?? [], 'traceparent');
  t.equal(told, `00-${TRACE}-${span?.spanId}-01`, 'what hangs below it upstream has its parent');
  t.match(span, { parentId: CALLER, status: 2, attributes: { 'error.type': 'interrupted' } });
});

t.test('a missing SDK is told at the start, with the command that installs it', async (t) => {
  const dir = folder(t);
  for (const part of ['config', 'platform', 'proxy', 'schemas', 'package.json'])
    cpSync(join(ROOT, part), join(dir, part), { recursive: true });
  mkdirSync(join(dir, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@opentelemetry' && !name.startsWith('.'))
      symlinkSync(join(ROOT, 'node_modules', name), join(dir, 'node_modules', name));
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, `model_list: []\ngeneral_settings: { master_key: ${KEY}, otel: {} }\n`);
  const args = ['serve', '--config', config, '--port', '0', '--data-dir', join(dir, 'data')] as const;
  const command = [process.execPath, join(dir, 'proxy/main.ts')] as const;
  const { code, err } = await runCli(t, args, { command });
  t.equal(code, 1);
  t.match(err, /the package @opentelemetry\/api is not installed - npm install .*exporter-trace-otlp-proto@/);
});
