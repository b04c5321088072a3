// Malformed and odd requests on bare sockets: each gets its stated answer, nothing ambiguous reaches the upstream, and
// the proxy serves the next one. The upstream is a strict byte log, not a lenient server.
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import type { Test } from 'tap';
import { converse, type Conversation } from '../support/converse.ts';
import { KEY, startRig } from '../support/rig.ts';
import { startStrictUpstream } from '../support/strict-upstream.ts';
import { CHAT, CORPUS_KEY, FRAMING, GOOD, LINES, request, TARGETS, type RawCase } from './fixture/corpus.ts';
import { BYTES, CHUNK_LINES, CODINGS, HIDDEN_REQUESTS, LENGTHS } from './fixture/smuggling.ts';
import { BODIES, COMPRESSED, INFLATED_BYTES, LIMIT_BYTES, UPLOADS } from './fixture/odd-bodies.ts';

const MIB = 1024 * 1024;
const upstream = await startStrictUpstream();
t.teardown(() => upstream.close());

const config = (demoUrl: string, more = ''): string => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "${upstream.url}", api_key: sk-upstream-secret }
  - model_name: stream
    litellm_params: { model: litellm_proxy/demo, api_base: "${demoUrl}" }
general_settings:
  master_key: ${KEY}
  forward_client_headers_to_llm_api: true
  max_request_size_mb: ${LIMIT_BYTES / MIB}
${more}`;

const rig = await startRig(t, { config: ({ url }) => config(url) });

const PROBE = request([`Content-Length: ${GOOD.length}`, 'X-Probe: 1'], GOOD);
/** What Node's server would add by itself, or a client brought and this hop must keep. */
const NEVER_UPSTREAM = [
  'transfer-encoding',
  'transfer_encoding',
  'content_length',
  'upgrade',
  'http2-settings',
  'expect',
  'trailer',
  'x-evil',
  'x-listed',
  'content-encoding',
  'te',
];

/** Keeps a sentence for each thing that is not as it should be: 500 cases with ten assertions each are seconds of CPU. */
class Faults {
  readonly all: string[] = [];

  check(isGood: boolean, what: string, found: unknown): void {
    if (!isGood) this.all.push(`${what}: ${JSON.stringify(found)}`);
  }

  equal(found: unknown, wanted: unknown, what: string): void {
    this.check(isDeepStrictEqual(found, wanted), `${what} (wanted ${JSON.stringify(wanted)})`, found);
  }
}

function checkAnswer(faults: Faults, one: RawCase, got: Conversation): void {
  const statuses = got.responses.map(({ status }) => status);
  faults.equal(got.hung, false, 'hang');
  faults.equal(got.rest, '', 'more than whole answers');
  if (one.status === 'closed') {
    faults.check(
      statuses.every((status) => status === 400),
      'neither no answer nor one that says why',
      statuses,
    );
    return;
  }
  faults.equal(statuses, one.statuses ?? [one.status], 'statuses');
  faults.equal(got.interim, one.interim ?? [], 'interim answers');
  const [answer] = got.responses;
  if (answer === undefined || one.status === 200) return;
  const { headers, body } = answer;
  faults.equal(headers['content-type'], 'application/json', 'content-type');
  faults.equal(headers['x-litellm-error-source'], 'client', 'source of the error');
  if (one.allow !== undefined) faults.equal(headers['allow'], one.allow, 'allow');
  if (body === '') return; // HEAD
  const { error } = JSON.parse(body) as { error: Record<string, unknown> };
  faults.equal(error['code'], one.code, 'code');
  faults.check(/^[A-Z`].*\.$/s.test(String(error['message'])), 'message', error);
  faults.check(/^[a-z_]+$/.test(String(error['type'])), 'type', error);
  const words = /\b429\b|rate.?limit|node:|\.ts:|at .*\(/i;
  faults.check(!words.test(body), 'words that SDKs act on, or a stack', body);
  faults.check(!body.includes(CORPUS_KEY) && !body.includes('sk-upstream-secret'), 'a credential', body);
}

async function faultsOf(one: RawCase): Promise<readonly string[]> {
  const faults = new Faults();
  const before = upstream.seen.length;
  const llm = one.status === 200 || one.status === 'closed';
  checkAnswer(faults, one, await converse(rig.port, one.bytes, one));
  const after = await converse(rig.port, PROBE);
  faults.equal(after.responses[0]?.status, 200, 'the proxy serves no more');
  const forwarded = upstream.seen.slice(before, -1);
  const wanted = one.forwarded ?? (llm && one.status === 200 ? 1 : 0);
  if (wanted !== 'any') faults.equal(forwarded.length, wanted, 'what went upstream');
  const probed = upstream.seen.at(-1)?.headers.filter(([name]) => name === 'x-probe');
  faults.equal(probed, [['x-probe', '1']], 'the last one upstream');
  faults.equal(upstream.deviations, [], 'ambiguous');
  for (const { headers, method, target, body } of forwarded) {
    const named = (name: string) => headers.filter(([one]) => one === name);
    faults.equal(method, 'POST', 'method');
    faults.check(/^\/v1\/(chat\/completions|audio\/transcriptions)$/.test(target), 'target', target);
    const never = headers.filter(([name]) => NEVER_UPSTREAM.includes(name));
    faults.equal(never, [], 'never upstream');
    faults.equal(
      named('authorization'),
      [['authorization', 'Bearer sk-upstream-secret']],
      'credential of the upstream',
    );
    faults.equal(named('x-litellm-session-id').length, 1, 'session ids');
    if (one.body !== undefined) faults.equal(body.toString(), one.body, 'body');
  }
  return faults.all;
}

async function run(t: Test, cases: readonly RawCase[]): Promise<void> {
  for (const one of cases) t.same(await faultsOf(one), [], one.title);
}

t.test('framing', (t) => run(t, FRAMING));
t.test('request and header lines', (t) => run(t, LINES));
t.test('targets and methods', (t) => run(t, TARGETS));
t.test('codings', (t) => run(t, CODINGS));
t.test('lengths', (t) => run(t, LENGTHS));
t.test('chunks', (t) => run(t, CHUNK_LINES));
t.test('hidden requests', (t) => run(t, HIDDEN_REQUESTS));
t.test('every byte in every place', (t) => run(t, BYTES));
t.test('bodies', (t) => run(t, BODIES));
t.test('uploads', (t) => run(t, UPLOADS));
t.test('compressed bodies, enabled with a bound', async (t) => {
  await rig.reconfigure(
    config(rig.demo.url, `  accept_compressed_requests: { max_inflated_mb: ${INFLATED_BYTES / MIB} }`),
  );
  await run(t, COMPRESSED);
});

t.test('nonsense behind a stream waits for its end: no second answer stands within the first', async (t) => {
  const body = '{"model":"stream","stream":true,"messages":[{"role":"user","content":"a b c d e f"}]}';
  const models = request([], '', { method: 'GET', target: '/v1/models', type: null });
  const text = await new Promise<string>((resolve) => {
    let all = '';
    let sent = false;
    const socket = connect(rig.port, '127.0.0.1', () =>
      socket.write(models + request([`Content-Length: ${body.length}`], body)),
    );
    socket.setEncoding('latin1').on('data', (part: string) => {
      all += part;
      if (sent || !all.includes('data: ')) return;
      sent = true;
      socket.write('NONSENSE\r\n\r\n');
    });
    socket.on('error', () => undefined); // the proxy may reset
    socket.on('close', () => resolve(all));
  });
  t.same(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
  t.match(text, /data: \[DONE\]\n\n\r\n0\r\n\r\nHTTP\/1\.1 400 /);
  t.equal(await rig.demo.seen[0]?.finished, 'complete');
});

t.test('a body that an answer out of the store did not want keeps no later request waiting', async (t) => {
  const { responses, hung } = await converse(
    rig.port,
    `DELETE /v1/responses/none HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-length: 2\r\n\r\n{}` +
      'GET /health/liveliness HTTP/1.1\r\nhost: localhost\r\n\r\n',
    { responses: 2 },
  );
  t.equal(hung, false);
  t.same(
    responses.map(({ status }) => status),
    [404, 200],
  );
});

t.test('the corpus is as large as it is said to be, and no two cases share a name', (t) => {
  const smuggled = [...CODINGS, ...LENGTHS, ...CHUNK_LINES, ...HIDDEN_REQUESTS, ...BYTES];
  const all = [...FRAMING, ...LINES, ...TARGETS, ...BODIES, ...UPLOADS, ...COMPRESSED, ...smuggled];
  t.ok(all.length >= 400, `${all.length} cases`);
  t.equal(new Set(all.map(({ title }) => title)).size, all.length);
  t.equal(CORPUS_KEY, KEY);
  t.ok(CHAT.startsWith('/v1/'));
  t.end();
});

t.test('no byte of a key of the caller ever reached the upstream', (t) => {
  const log = upstream.log().toString('latin1');
  t.notOk(log.includes(CORPUS_KEY));
  t.notOk(/^transfer-encoding/im.test(log));
  t.end();
});
