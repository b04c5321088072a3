// Calls that one deployment of their name cannot be told: it speaks another API, and may not leave anything out. Wherever a call
// may go (first, beside a slow attempt, after a broken stream, where there is room or money), it is not asked while another one
// can be; and where nobody else can, what runs goes on. Entry `a` is always asked first, `b` is the one that cannot be told.
import t from 'tap';
import type { Test } from 'tap';
import { startManualUpstream, type ManualUpstream } from '../support/manual-upstream.ts';
import { chat, KEY, queued, rowOf, send, startRig, type Answer, type Rig, type Row } from '../support/rig.ts';

interface Setting {
  readonly a?: string;
  readonly b?: string;
  /** null: there is no third one. */
  readonly c?: string | null;
  readonly general?: string;
  readonly router?: string;
}

const PRICES = 'input_cost_per_token: 1e-6, output_cost_per_token: 1e-6';
const UNABLE = ', supported_endpoints: [messages], drop_params: false';

async function start(t: Test, { a = '', b = '', c = '', general = '', router = '' }: Setting) {
  const upstream = await startManualUpstream(t);
  const entry = (model: string, order: number, params: string, name = 'm'): string =>
    `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${order}, ${PRICES}${params} }, model_info: { id: id-${model} } }\n`;
  const rig = await startRig(t, {
    config: () => `
model_list:
${entry('a', 1, a)}${entry('b', 2, UNABLE + b)}${c === null ? '' : entry('c', 3, c)}${entry('later', 1, ', hedge_after: 0.05', 'later')}${entry('beside', 2, '', 'later')}
general_settings: { master_key: ${KEY}${general} }
router_settings: { disable_cooldowns: true${router} }
`,
  });
  return { rig, upstream };
}

/** What `b` cannot be told. */
const ASKED = { logprobs: true };
const call = (rig: Rig, more: object = {}, model = 'm'): Promise<Answer> =>
  chat(rig, model, { ...ASKED, ...more });
const ANSWER = {
  id: 'x',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
};
const logOf = (row: Row): readonly Row[] => row['attempt_log'] as readonly Row[];

/** Answers the next call for a model, unless the call of the test ends before. */
async function serve(upstream: ManualUpstream, model: string, answer: Promise<Answer>): Promise<void> {
  const next = await Promise.race([upstream.next(model), answer]);
  if ('json' in next) next.json(200, ANSWER);
}

/** A call that began later was hedged by now: one that was not will not be. */
async function hedgedLater(rig: Rig, upstream: ManualUpstream): Promise<void> {
  const answer = chat(rig, 'later');
  (await upstream.next('beside')).json(200, ANSWER);
  t.equal((await answer).status, 200);
}

t.test(
  'one that cannot be told is no hedge: another one is, or the first attempt goes on alone',
  async (t) => {
    const { rig, upstream } = await start(t, { a: ', hedge_after: 0.05' });
    const hedged = call(rig);
    const a = await upstream.next('a');
    await serve(upstream, 'c', hedged);
    t.match(await hedged, { status: 200, headers: { 'x-litellm-model-id': 'id-c' } });
    if ((await hedged).status === 200) await a.closed;

    const few = await start(t, { a: ', hedge_after: 0.05, max_parallel_requests: 1', c: null });
    const alone = call(few.rig);
    const only = await few.upstream.next('a');
    await hedgedLater(few.rig, few.upstream);
    only.json(200, ANSWER);
    await only.closed;
    t.match(await alone, { status: 200, headers: { 'x-litellm-attempted-retries': '0' } });
    t.match(await rowOf(few.rig, await alone), { attempts: 1, attempt_log: [] });
    const { text } = await send(few.rig.url, 'GET', '/health');
    t.notMatch(text, /"in_flight":[^0]/, 'no slot stays taken');
  },
);

t.test('a broken stream goes on at one that can be told, or ends with its error', async (t) => {
  const prefill = ', assistant_prefill: true';
  const { rig, upstream } = await start(t, { b: prefill, c: prefill });
  const continued = call(rig, { stream: true });
  const a = await upstream.next('a');
  a.say({ role: 'assistant', content: 'Once ' });
  a.cut();
  const c = await Promise.race([upstream.next('c'), continued]);
  if ('say' in c) {
    c.say({ content: 'more' });
    c.finish();
  }
  t.match((await continued).text, /Once [^]*continued by id-c[^]*more[^]*\[DONE\]/);
  t.match(logOf(await rowOf(rig, await continued)), [{ model: 'a' }, { model: 'c', error: null }]);

  const few = await start(t, { b: prefill, c: null });
  const broken = call(few.rig, { stream: true });
  const only = await few.upstream.next('a');
  only.say({ role: 'assistant', content: 'Once ' });
  only.cut();
  t.match((await broken).text, /Once [^]*stream_broken/);
  t.match(await rowOf(few.rig, await broken), { end_reason: 'truncated', model_id: 'id-a', attempts: 1 });
});

t.test('whoever has no budget left, the call goes to one that can be told', async (t) => {
  const paid = (model: string): string => `model_info: { id: id-${model}, tags: [paid] }`;
  const upstream = await startManualUpstream(t);
  const entry = (model: string, order: number, params: string, info: string): string =>
    `  - { model_name: m, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${order}, ${PRICES}${params} }, ${info} }\n`;
  const plain = (model: string): string => `model_info: { id: id-${model} }`;
  for (const isAlone of [false, true]) {
    const rig = await startRig(t, {
      config: () => `
model_list:
${entry('a', isAlone ? 1 : 2, '', paid('a'))}${entry('b', isAlone ? 2 : 1, UNABLE, plain('b'))}${isAlone ? '' : entry('c', 3, '', plain('c'))}
general_settings: { master_key: ${KEY} }
`,
    });
    const made = await send(rig.url, 'POST', '/tag/new', { name: 'paid', max_budget: 1e-6 });
    t.equal(made.status, 200, made.text);
    const answer = call(rig, { max_tokens: 10 });
    if (isAlone)
      t.match(await answer, { status: 422, text: /budget_exceeded/ }, 'that is why it is not served');
    else {
      await serve(upstream, 'c', answer);
      t.match(await answer, { status: 200, headers: { 'x-litellm-model-id': 'id-c' } });
    }
  }
});

t.test('a full deployment is waited for where the one with room cannot be told', async (t) => {
  for (const c of [null, '']) {
    const { rig, upstream } = await start(t, {
      a: ', max_parallel_requests: 1',
      c,
      general: ', global_max_parallel_requests: 2',
    });
    const before = [chat(rig, 'later'), chat(rig, 'later')];
    const running = [await upstream.next('later'), await upstream.next('later')];
    const first = call(rig);
    await queued(rig, 1);
    const second = call(rig);
    await queued(rig, 2); // both may have a, which has room for one
    for (const one of running) one.json(200, ANSWER);
    await Promise.all(before);
    const a = await upstream.next('a');
    if (c === null) a.json(200, ANSWER);
    await serve(upstream, c === null ? 'a' : 'c', second);
    if (c !== null) a.json(200, ANSWER);
    const servedBy = c === null ? 'id-a' : 'id-c';
    t.match(await second, { status: 200, headers: { 'x-litellm-model-id': servedBy } });
    t.match(await first, { status: 200, headers: { 'x-litellm-model-id': 'id-a' } });
  }
});

t.test('what is passed over after a failure costs no retry and nothing of the retry budget', async (t) => {
  const { rig, upstream } = await start(t, { router: ', num_retries: 1, retry_budget: 1' });
  const answer = call(rig);
  (await upstream.next('a')).json(503, { error: { message: 'busy' } });
  await serve(upstream, 'c', answer);
  t.match(await answer, {
    status: 200,
    headers: { 'x-litellm-model-id': 'id-c', 'x-litellm-attempted-retries': '1' },
  });
});

t.test(
  'a gateway without the endpoint whose slot is taken meanwhile leaves the call to another one',
  async (t) => {
    const upstream = await startManualUpstream(t);
    const entry = (model: string, order: number, params: string): string =>
      `  - { model_name: m, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${order}, ${PRICES}${params} }, model_info: { id: id-${model} } }\n`;
    const rig = await startRig(t, {
      config: () => `
model_list:
${entry('a', 1, ', max_parallel_requests: 1')}${entry('c', 2, '')}
general_settings: { master_key: ${KEY} }
`,
    });
    const messages = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'one' }] };
    const first = send(rig.url, 'POST', '/v1/messages', messages);
    const a = await upstream.next('a');
    const second = call(rig, {}, 'id-a'); // this one alone may have it
    await queued(rig, 1);
    a.json(404, { detail: 'Not Found' });
    const taken = await upstream.next('a');
    const c = await Promise.race([upstream.next('c'), upstream.next('a')]);
    t.equal(c.model, 'c', 'a has no more calls than it takes');
    c.json(200, {
      type: 'message',
      role: 'assistant',
      content: [],
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    taken.json(200, ANSWER);
    t.match(await first, { status: 200, headers: { 'x-litellm-model-id': 'id-c' } });
    t.match(await rowOf(rig, await first), { model: 'c', model_id: 'id-c' });
    t.match(await second, { status: 200, headers: { 'x-litellm-model-id': 'id-a' } });
  },
);
