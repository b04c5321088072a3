// The log as an operator reads it at night: each kind of failure, driven from outside, says its level, the side at fault, a
// reason and a sentence; and docs/operating.md names each member of a line.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { readableLog } from '../../proxy/observability/readable-log.ts';
import { chat, defaultConfig, KEY, raw, send, startRig, type Rig } from '../support/rig.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const UNREACHABLE = `  - model_name: gone
    litellm_params: { model: litellm_proxy/x, api_base: "http://127.0.0.1:1", api_key: k }
  - model_name: exact-404
    litellm_params: { model: litellm_proxy/demo-404, api_base: "URL", api_key: k }
general_settings:`;

type Line = Readonly<Record<string, unknown>>;

const start = (t: Test): Promise<Rig> =>
  startRig(t, {
    config: (demo) =>
      defaultConfig(demo, 'litellm_settings: { request_timeout: 1 }').replace(
        'general_settings:',
        UNREACHABLE.replace('URL', demo.url),
      ),
  });

/** The line that an act leaves. */
async function lineOf(rig: Rig, msg: 'request' | 'rejected', act: () => Promise<unknown>): Promise<Line> {
  const before = rig.log.length;
  await act();
  return rig.logged((line) => line['msg'] === msg && rig.log.indexOf(line) >= before);
}

const INFO = 30;
const WARN = 40;

/** Model, streamed or both, level, side, reason, and a part of the sentence. */
const KINDS = [
  ['demo-refuse-401', 'both', WARN, 'upstream', 'upstream_401', /does not accept the key/],
  ['demo-refuse-400', 'both', INFO, 'client', 'upstream_400', /as the client made it/],
  ['demo-context', 'both', INFO, 'client', 'upstream_400', /as the client made it/],
  ['demo-404', 'both', INFO, 'client', 'upstream_404', /model that the client asked for/],
  ['exact-404', 'both', WARN, 'upstream', 'upstream_404', /api_base/],
  ['demo-429', 'both', WARN, 'upstream', 'upstream_429', /limits the requests/],
  ['demo-500', 'both', WARN, 'upstream', 'upstream_500', /failed/],
  ['demo-502-html', 'both', WARN, 'upstream', 'upstream_502', /status 502/],
  ['demo-503', 'both', WARN, 'upstream', 'upstream_503', /out of service/],
  ['demo-redirect', 'both', WARN, 'upstream', 'upstream_redirect', /redirect/],
  ['demo-drop', 'both', WARN, 'upstream', 'upstream_broken', /closed the connection/],
  ['demo-cut', 'stream', WARN, 'upstream', 'stream_broken', /broke off/],
  ['demo-cut', 'whole', WARN, 'upstream', 'upstream_broken', /closed the connection/],
  ['demo-cut-clean', 'stream', WARN, 'upstream', 'stream_truncated', /without its terminal event/],
  ['demo-cut-clean', 'whole', WARN, 'upstream', 'upstream_truncated', /before it was complete/],
  ['demo-error-event', 'stream', WARN, 'upstream', 'upstream_error_in_body', /status 200/],
  ['demo-silent', 'both', WARN, 'upstream', 'first_byte_timeout', /1000 ms/],
  ['gone', 'both', WARN, 'upstream', 'upstream_unreachable', /connection refused/],
  ['nobody-serves-this', 'both', INFO, 'client', 'model_not_found', /No deployment/],
] as const;

t.test('each kind of failed call says its level, whose fault it is, and why', async (t) => {
  const rig = await start(t);
  for (const [model, how, level, fault, error, why] of KINDS) {
    for (const stream of how === 'both' ? [false, true] : [how === 'stream']) {
      const line = await lineOf(rig, 'request', () => chat(rig, model, { stream }));
      t.match(line, { level, fault, error, why, model }, `${model}${stream ? ', streamed' : ''}`);
    }
  }
  const metrics = (await send(rig.url, 'GET', '/metrics')).text;
  const host = new URL(rig.demo.url).host;
  t.match(
    metrics,
    `throughline_faults_total{model="demo-*",gateway="${host}",side="upstream",reason="upstream_401"} 2`,
    'the metrics tell the same',
  );
  t.match(metrics, 'throughline_faults_total{model="",gateway="",side="client",reason="model_not_found"} 2');
  t.notMatch(metrics, /nobody-serves-this/, 'a name that a client made up is no label');
});

t.test('a call that went well has the same members, and says nothing of a fault', async (t) => {
  const rig = await start(t);
  const good = await lineOf(rig, 'request', () => chat(rig, 'demo'));
  t.match(good, {
    level: INFO,
    status: 200,
    fault: null,
    error: null,
    why: null,
    attempts: 1,
    tokens: Number,
  });
  const bad = await lineOf(rig, 'request', () => chat(rig, 'demo-refuse-401'));
  const gone = await lineOf(rig, 'request', () => chat(rig, 'gone'));
  t.same(Object.keys(bad), Object.keys(good));
  t.same(Object.keys(gone), Object.keys(good));
  t.notMatch(JSON.stringify(rig.log), /sk-upstream-secret/);
});

t.test('a client that leaves is no warning', async (t) => {
  const rig = await start(t);
  const body = JSON.stringify({ model: 'demo-hold', messages: [] });
  const line = await lineOf(rig, 'request', async () => {
    const socket = connect(rig.port, '127.0.0.1');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${KEY}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await rig.demo.waitFor(1);
    socket.destroy();
  });
  t.match(line, { level: INFO, fault: 'client', error: 'client_gone', why: /left/ });
});

t.test('what is refused without a row says why, and nothing of the client', async (t) => {
  const rig = await start(t);
  const wrongKey = await lineOf(rig, 'rejected', () =>
    send(rig.url, 'GET', '/v1/models', undefined, { authorization: 'Bearer sk-secret-words' }),
  );
  t.match(wrongKey, {
    level: INFO,
    status: 401,
    fault: 'client',
    error: 'invalid_api_key',
    why: /not one that/,
  });
  const scanner = await lineOf(rig, 'rejected', () => send(rig.url, 'GET', '/wp-login.php'));
  t.match(scanner, {
    level: INFO,
    status: 404,
    fault: 'client',
    error: 'route_not_found',
    why: /no such path/,
  });
  const bytes = await lineOf(rig, 'rejected', () => raw(rig.port, 'hello?\r\n\r\n'));
  t.match(bytes, { level: INFO, status: 400, fault: 'client', error: 'malformed_request' });
  t.notMatch(JSON.stringify(rig.log), /secret-words/);
  t.notMatch((await send(rig.url, 'GET', '/metrics')).text, /wp-login/, 'a path is no label');
});

t.test('the readable form says the same in one line', async (t) => {
  const rig = await start(t);
  const line = await lineOf(rig, 'request', () => chat(rig, 'demo-refuse-401'));
  let text = '';
  readableLog((part) => void (text += part), false).write(JSON.stringify(line));
  t.match(
    text,
    /^\d\d:\d\d:\d\d warn {2}401 {2}demo-refuse-401 -> http:\S+ .* upstream_error {2}upstream: upstream_401: The gateway does not accept the key/,
  );
  t.equal(text.indexOf('\n'), text.length - 1);
});

t.test('docs/operating.md names each member of a line, in its order, and no other', async (t) => {
  const rig = await start(t);
  const line = await lineOf(rig, 'request', () => chat(rig, 'demo'));
  const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
  const section = /### Members of a request's line\n([^]*?)\n## /.exec(page)?.[1] ?? '';
  const named = [...section.matchAll(/^\| `([a-z_]+)` /gm)].map(([, name]) => name);
  const always = named.filter((name) => !['chaos', 'trace_id', 'worker', 'err'].includes(String(name)));
  t.same(always, Object.keys(line));
  const example = /```json\n(\{\n {2}"level": 30,[^]*?\n\})/.exec(page)?.[1] ?? '{}';
  t.same(Object.keys(JSON.parse(example) as object), Object.keys(line), 'the example has them too');
});
