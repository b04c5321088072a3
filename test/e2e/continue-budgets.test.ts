// A stream that another deployment goes on with pays for its prompt twice: what the call has reserved of its budgets pays for both
// parts, so no budget is exceeded, and nobody goes on with what it does not pay for.
import t, { type Test } from 'tap';
import { startManualUpstream, type ManualUpstream } from '../support/manual-upstream.ts';
import { KEY, rowOf, send, startRig, type Rig } from '../support/rig.ts';

const TOKEN = 1e-6; // USD, of the prompt as of the answer
const LONGEST = 100;

/** @param tokens what the budget of the key pays for */
async function start(t: Test, tokens: number, isContinued = true) {
  const upstream = await startManualUpstream(t);
  const more = isContinued ? ', assistant_prefill: true' : '';
  const entry = (model: string, order: number): string =>
    `  - { model_name: m, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", order: ${order}, input_cost_per_token: ${TOKEN}, output_cost_per_token: ${TOKEN}${more} } }`;
  const rig = await startRig(t, {
    config: () => `
model_list:
${entry('a', 1)}
${entry('b', 2)}
${entry('c', 3)}
general_settings: { master_key: ${KEY} }
router_settings: { disable_cooldowns: true, default_litellm_params: { idle_timeout: 600 } }
`,
  });
  const made = await send(rig.url, 'POST', '/key/generate', { max_budget: tokens * TOKEN });
  const { key } = JSON.parse(made.text) as { key: string };
  const ask = (maxTokens = LONGEST): ReturnType<typeof send> =>
    send(
      rig.url,
      'POST',
      '/v1/chat/completions',
      {
        model: 'm',
        stream: true,
        max_tokens: maxTokens,
        messages: [{ role: 'user', content: 'one two three' }],
      },
      { authorization: `Bearer ${key}` },
    );
  return { rig, upstream, key, ask };
}

/** Of the key, tokens. */
async function spent(rig: Rig, key: string): Promise<number> {
  const { text } = await send(rig.url, 'GET', `/key/info?key=${key}`);
  return Math.round((JSON.parse(text) as { info: { spend: number } }).info.spend / TOKEN);
}

async function cutAfter(upstream: ManualUpstream, model: string, content: string): Promise<void> {
  const call = await upstream.next(model);
  call.say({ role: 'assistant', content });
  call.cut();
}

t.test('what both parts may cost is reserved, and a caller is told what fits', async (t) => {
  const { rig, upstream, key, ask } = await start(t, 200);
  const refused = await ask();
  t.equal(refused.status, 422, 'once it would fit, twice it does not');
  const fits = Number(/Lower max_tokens to (\d+)/.exec(refused.text)?.[1]);
  t.ok(fits > 0 && fits < LONGEST, refused.text);
  t.equal((await ask(fits + 1)).status, 422);
  const answer = ask(fits);
  await cutAfter(upstream, 'a', 'so ');
  const b = await upstream.next('b');
  b.say({ content: 'far' });
  b.finish({ prompt_tokens: 20, completion_tokens: fits, total_tokens: 20 + fits });
  const got = await answer;
  t.match(got.text, /\[DONE\]/);
  t.match(await rowOf(rig, got), { attempt_log: [{ continued: true }, { error: null }] });
  const all = await spent(rig, key);
  t.ok(all > 20 + fits && all <= 200, `${all} tokens of 200`);
});

t.test('a second break is not gone on with: nothing is left that pays for it', async (t) => {
  const { rig, upstream, key, ask } = await start(t, 500);
  const answer = ask();
  await cutAfter(upstream, 'a', 'so ');
  await cutAfter(upstream, 'b', 'far');
  const got = await answer;
  t.match(got.text, /so .*far.*stream_broken/s);
  t.notMatch(got.text, /\[DONE\]/);
  t.same(upstream.models, ['a', 'b']);
  t.match(await rowOf(rig, got), { end_reason: 'truncated', attempt_log: [{ continued: true }, {}] });
  t.ok((await spent(rig, key)) <= 500);
});

t.test('where nobody could go on, one part is reserved', async (t) => {
  const { upstream, ask } = await start(t, 200, false);
  const answer = ask();
  const a = await upstream.next('a');
  a.say({ role: 'assistant', content: 'so' });
  a.finish();
  t.equal((await answer).status, 200);
});
