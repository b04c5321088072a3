// GET /doctor and POST /doctor: who may, how often gateways are asked, and what costs money.
import t from 'tap';
import type { Report } from '../../../proxy/doctor/report.ts';
import { send, startRig, type Rig } from '../../support/rig.ts';

const AGENT = 'sk-an-agents-key-1';

const startDoctored = (t: { teardown(act: () => unknown): unknown }, model = 'demo-tools'): Promise<Rig> =>
  startRig(t, {
    config: (demo) => `
model_list:
  - model_name: tools
    litellm_params: { model: litellm_proxy/${model}, api_base: "${demo.url}", api_key: sk-upstream-secret }
general_settings:
  master_key: sk-test-master-key
  inference_keys: [{ key: ${AGENT} }]
`,
  });

const listsAsked = ({ demo }: Rig): number => demo.seen.filter(({ path }) => path === '/v1/models').length;
const callsMade = ({ demo }: Rig): number =>
  demo.seen.filter(({ method, body }) => method === 'POST' && !body.toString().includes('demo-echo')).length;

t.test('for administrators alone', async (t) => {
  const rig = await startDoctored(t);
  t.equal(
    (await send(rig.url, 'GET', '/doctor', undefined, { authorization: `Bearer ${AGENT}` })).status,
    403,
  );
  t.equal((await send(rig.url, 'GET', '/doctor', undefined, { authorization: '' })).status, 401);
  t.equal(
    (await send(rig.url, 'POST', '/doctor', { send: true }, { authorization: `Bearer ${AGENT}` })).status,
    403,
  );
  t.equal(rig.demo.seen.length, 0, 'nobody was asked');
});

t.test('gateways are asked once, however many ask the doctor', async (t) => {
  const rig = await startDoctored(t);
  const answers = await Promise.all([1, 2, 3].map(() => send(rig.url, 'GET', '/doctor')));
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  await send(rig.url, 'POST', '/doctor', {});
  t.equal(listsAsked(rig), 1);
  t.equal(callsMade(rig), 0);
  const report = JSON.parse(answers[0]?.text ?? '') as Report;
  t.equal(report.schema, 'throughline-doctor/1');
  t.equal(report.verdict, 'warnings', 'the keys of this file are text');
  t.notMatch(answers[0]?.text, /sk-upstream|sk-test|sk-an/);
});

t.test('calls need a POST that says so, go through the proxy, and have tagged rows', async (t) => {
  const rig = await startDoctored(t);
  const { status, text } = await send(rig.url, 'POST', '/doctor', { send: true });
  t.equal(status, 200);
  // On a busy machine the answer may come late and at once, which the doctor takes for collected: it asks for a longer one.
  const made = callsMade(rig);
  t.ok(made === 1 || made === 2, `one call, or a second one of a longer text: ${made}`);
  const report = JSON.parse(text) as Report;
  t.match(report.passed.find(({ check }) => check === 'tool call')?.seen, /^through the proxy/);
  const rows = await rig.rows();
  t.equal(rows.length, made);
  t.match(JSON.stringify(rows[0]?.['request_tags']), /doctor/);
  t.equal((await send(rig.url, 'POST', '/doctor', { send: 'yes' })).status, 200);
  t.equal(callsMade(rig), made, 'only true is yes');
});

t.test('one run with calls at a time', async (t) => {
  const rig = await startDoctored(t, 'demo-tools-hold');
  const first = send(rig.url, 'POST', '/doctor', { send: true });
  await rig.demo.waitFor(4); // the list, the model, the echo, the call
  const second = await send(rig.url, 'POST', '/doctor', { send: true });
  t.equal(second.status, 409);
  t.match(JSON.parse(second.text), { error: { code: 'doctor_running' } });
  t.equal(callsMade(rig), 1, 'while it is held: a late answer is taken for collected, and asked for again');
  rig.demo.release();
  t.equal((await first).status, 200);
});

t.test('/doctor/stream: events for whoever has a key', async (t) => {
  const rig = await startDoctored(t);
  t.equal((await send(rig.url, 'GET', '/doctor/stream', undefined, { authorization: '' })).status, 401);
  const { status, headers, text } = await send(rig.url, 'GET', '/doctor/stream', undefined, {
    authorization: `Bearer ${AGENT}`,
  });
  t.equal(status, 200);
  t.match(headers, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  t.equal(text.match(/"sent_ms"/g)?.length, 5);
  t.match(text, /data: \[DONE\]\n\n$/);
  const silent = await send(rig.url, 'GET', '/doctor/stream?silence=0.01');
  t.equal(silent.text.match(/"of":2/g)?.length, 2);
  for (const silence of ['0', '-1', '601', '0x10', '1e2', 'x', '٣'])
    t.match(await send(rig.url, 'GET', `/doctor/stream?silence=${encodeURIComponent(silence)}`), {
      status: 400,
      text: /silence must be a number of seconds above 0, at most 600/,
    });
});
