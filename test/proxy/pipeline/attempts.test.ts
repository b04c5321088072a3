// Attempts of one call at upstreams that answer when the test says so: tried again elsewhere, raced, continued, or not.
import t from 'tap';
import type { Test } from 'tap';
import { AdmissionPermit } from '../../../proxy/pipeline/admission-permit.ts';
import { AttemptLog } from '../../../proxy/pipeline/attempt-log.ts';
import { buildUpstreamRequest } from '../../../proxy/pipeline/build-upstream-request.ts';
import { CallAttempts } from '../../../proxy/pipeline/call-attempts.ts';
import { CallHead } from '../../../proxy/pipeline/call-head.ts';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import { parseRequest } from '../../../proxy/pipeline/parse-request.ts';
import { planCall, selectedBy } from '../../../proxy/pipeline/plan.ts';
import { readBody } from '../../../proxy/pipeline/read-body.ts';
import { Translations } from '../../../proxy/pipeline/translations.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { runAttempts } from '../../../proxy/pipeline/attempts.ts';
import { exchangeOf, liveOf, servicesOf } from '../../support/services.ts';
import type { ManualUpstream } from '../../support/manual-upstream.ts';
import { startManualUpstream } from '../../support/manual-upstream.ts';

const CHAT = ENDPOINTS[0] as Endpoint;
const CALLER = { keyHash: 'hash' };
const ANSWER = { id: 'x', choices: [{ message: { role: 'assistant', content: 'hi' } }] };

interface Setting {
  readonly upstream: ManualUpstream;
  /** Of the first entry. */
  readonly a?: string;
  /** Of the second entry. */
  readonly b?: string;
  readonly router?: string;
  readonly stream?: boolean;
  readonly retryBudget?: number;
}

/** A call on its way to entry `a`, then `b`; everything before the attempts has been done. */
async function sent(
  t: Test,
  { upstream, a = '', b = '', router = '', stream = false, retryBudget = 1 }: Setting,
) {
  const entry = (model: string, order: number, more: string): string =>
    `  - { model_name: m, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", api_key: k, order: ${order}${more} }, model_info: { id: id-${model} } }`;
  const yaml = `
model_list:
${entry('a', 1, a)}
${entry('b', 2, b)}
router_settings: { disable_cooldowns: true, retry_budget: ${retryBudget}${router} }
`;
  const active = liveOf(t, yaml, await servicesOf(t));
  const body = JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'one' }] });
  const { x, answer, leave } = await exchangeOf(t, active, { body });
  const request = await parseRequest(x, CHAT, await readBody(x), null);
  const identity = identityOf(x, CALLER, request.identityMembers);
  const plan = planCall(active, 'm', identity);
  const permit = new AdmissionPermit(x);
  const log = new AttemptLog();
  await permit.acquire(plan);
  const selected = selectedBy(plan);
  const built = buildUpstreamRequest(x, request, identity, selected, { replaceable: plan.hasMore });
  const head = new CallHead(x, identity, log, permit);
  const attempts = new CallAttempts(x, request, plan, permit, log);
  const translations = new Translations(x, request, identity);
  const plain = { continuations: Infinity, chaos: null, capsule: null };
  const done = runAttempts(
    { x, request, identity, translations, attempts, head, ...plain },
    { selected, request: built },
  );
  done.catch(() => undefined); // until the test looks at it
  const health = [...active.deployments.values()].map((one) => one.health);
  /** The attempts beside the answer: where, and why they were not it. */
  const others = async (): Promise<unknown[]> =>
    ((await log.others()) ?? []).map(({ modelId, error }) => [modelId, error]);
  return {
    x,
    answer,
    leave,
    log,
    done,
    others,
    underWay: () => health.map(({ inFlight }) => inFlight),
    reserved: () => health.map(({ reserved }) => reserved),
  };
}

t.test('an answer of the first entry is the answer', async (t) => {
  const upstream = await startManualUpstream(t);
  const { log, done, others, answer, underWay } = await sent(t, { upstream });
  (await upstream.next('a')).json(200, ANSWER);
  const { outcome, call } = await done;
  t.match(outcome, { end: 'complete', status: 200 });
  t.match(JSON.parse(call.body?.toString() ?? ''), { model: 'a' });
  outcome.finish([]);
  t.match(await answer, { status: 200, text: JSON.stringify(ANSWER) });
  t.same([log.retries, await others(), underWay()], [0, [], [0, 0]]);
});

t.test('a failure is tried again at the next entry, and is noted', async (t) => {
  const upstream = await startManualUpstream(t);
  const { log, done, others, underWay } = await sent(t, { upstream });
  (await upstream.next('a')).json(503, { error: { message: 'busy' } });
  (await upstream.next('b')).json(200, ANSWER);
  const { outcome, call } = await done;
  t.match(outcome, { end: 'complete', status: 200 });
  t.match(JSON.parse(call.body?.toString() ?? ''), { model: 'b' }, 'what went upstream is the second one’s');
  t.equal(log.answering?.selected.deployment.config.id, 'id-b');
  t.same([log.retries, await others(), underWay()], [1, [['id-a', 'server']], [0, 0]]);
});

t.test('what is the request’s own fault is not tried again', async (t) => {
  const upstream = await startManualUpstream(t);
  const { done, others } = await sent(t, { upstream });
  (await upstream.next('a')).json(404, { error: { message: 'no such thing' } });
  t.match((await done).outcome, { end: 'upstream_error', status: 404 });
  t.same([upstream.models, await others()], [['a'], []]);
});

t.test('the last failure is the answer: its status, or its fault', async (t) => {
  const upstream = await startManualUpstream(t);
  const refused = await sent(t, { upstream });
  (await upstream.next('a')).json(500, {});
  (await upstream.next('b')).json(502, {});
  t.match((await refused.done).outcome, { end: 'upstream_error', status: 502 });
  const broken = await sent(t, { upstream });
  (await upstream.next('a')).cut();
  (await upstream.next('b')).cut();
  await t.rejects(broken.done, { code: 'upstream_broken' });
  t.same([await broken.others(), broken.underWay()], [[['id-a', 'upstream_broken']], [0, 0]]);
});

t.test('where no retries are allowed nothing is tried again', async (t) => {
  const upstream = await startManualUpstream(t);
  const { done } = await sent(t, { upstream, router: ', num_retries: 0' });
  (await upstream.next('a')).json(503, {});
  t.match((await done).outcome, { status: 503 });
  t.same(upstream.models, ['a']);
});

t.test('a client that leaves ends the attempt, and no other is made', async (t) => {
  const upstream = await startManualUpstream(t);
  const { done, leave, underWay } = await sent(t, { upstream });
  const a = await upstream.next('a');
  leave();
  await a.closed;
  t.match((await done).outcome, { end: 'client_gone' });
  t.same([upstream.models, underWay()], [['a'], [0, 0]]);
});

t.test('a hedge that answers first is the answer; the slow one is cancelled', async (t) => {
  const upstream = await startManualUpstream(t);
  const { log, done, others, underWay } = await sent(t, { upstream, a: ', hedge_after: 0.01' });
  const a = await upstream.next('a');
  (await upstream.next('b')).json(200, ANSWER);
  const { outcome, call } = await done;
  await a.closed;
  t.match(outcome, { end: 'complete', status: 200 });
  t.match(JSON.parse(call.body?.toString() ?? ''), { model: 'b' });
  t.equal(log.answering?.selected.deployment.config.id, 'id-b');
  t.same([await others(), underWay()], [[['id-a', 'cancelled']], [0, 0]]);
});

t.test('the first may still win, and a hedge that fails leaves it alone', async (t) => {
  const upstream = await startManualUpstream(t);
  const raced = await sent(t, { upstream, a: ', hedge_after: 0.01' });
  const a = await upstream.next('a');
  const b = await upstream.next('b');
  a.json(200, ANSWER);
  t.match((await raced.done).outcome, { status: 200 });
  await b.closed;
  t.equal(raced.log.answering?.selected.deployment.config.id, 'id-a');
  t.same(await raced.others(), [['id-b', 'cancelled']]);
  const failed = await sent(t, { upstream, a: ', hedge_after: 0.01' });
  const slow = await upstream.next('a');
  (await upstream.next('b')).json(500, {});
  slow.json(200, ANSWER);
  t.match((await failed.done).outcome, { status: 200 });
  t.same([await failed.others(), failed.underWay()], [[['id-b', 'server']], [0, 0]]);
});

t.test('a stream that breaks off goes on at an entry that continues texts', async (t) => {
  const upstream = await startManualUpstream(t);
  const { log, done, others, answer, underWay } = await sent(t, {
    upstream,
    stream: true,
    b: ', assistant_prefill: true',
  });
  const a = await upstream.next('a');
  a.say({ role: 'assistant', content: 'Hello ' }, { content: 'wor' });
  a.cut();
  const b = await upstream.next('b');
  t.match(b.body['messages'], [{ role: 'user' }, { role: 'assistant', content: 'Hello wor', prefix: true }]);
  b.say({ content: 'ld' });
  b.finish();
  const { outcome, call } = await done;
  outcome.finish([]);
  const { text } = await answer;
  t.match(text, /Hello .*wor.*: continued by id-b\n\n.*ld.*\[DONE\]/s);
  t.match(outcome, { end: 'complete', status: 200 });
  t.match(JSON.parse(call.body?.toString() ?? ''), { model: 'b' });
  t.equal(log.answering?.selected.deployment.config.id, 'id-b');
  t.same([await others(), underWay()], [[['id-a', 'stream_broken']], [0, 0]]);
});

t.test('where nobody continues texts the stream ends broken, and is not begun anew', async (t) => {
  const upstream = await startManualUpstream(t);
  const { done, others } = await sent(t, { upstream, stream: true });
  const a = await upstream.next('a');
  a.say({ content: 'Hello ' });
  a.cut();
  const { outcome } = await done;
  t.match(outcome, { end: 'truncated', fault: { code: 'stream_broken' }, unsent: null });
  outcome.finish([]);
  t.same([upstream.models, await others()], [['a'], []]);
});

t.test('one that may not go on with a stream gives the slot back at once', async (t) => {
  const upstream = await startManualUpstream(t);
  const b = ', assistant_prefill: true, max_parallel_requests: 1';
  const { done, reserved } = await sent(t, { upstream, stream: true, b, retryBudget: 0 });
  const a = await upstream.next('a');
  a.say({ content: 'Hello ' });
  a.cut();
  t.match((await done).outcome, { fault: { code: 'stream_broken' } });
  t.same([upstream.models, reserved()], [['a'], [0, 0]]);
});
