// `continue_over_fallbacks` and `continue_by_repeat`: a stream that broke off goes on in another group, or where the same
// request gives the same text again. What the client has read is never contradicted, and no end is made up.
import t from 'tap';
import type { Test } from 'tap';
import { startManualUpstream, type PendingCall } from '../support/manual-upstream.ts';
import { KEY, rowOf, send, startRig, type Answer, type Row } from '../support/rig.ts';

const MESSAGES = [{ role: 'user', content: 'count' }];

async function start(t: Test, router: string, ofF = '') {
  const upstream = await startManualUpstream(t);
  const entry = (group: string, model: string, more = ''): string =>
    `  - { model_name: ${group}, litellm_params: { model: litellm_proxy/${model}, api_base: "${upstream.url}", input_cost_per_token: 1e-6, output_cost_per_token: 1e-6${more} }, model_info: { id: id-${model} } }`;
  const rig = await startRig(t, {
    config: () => `
model_list:
${entry('m', 'a')}
${entry('f', 'b', ofF)}
${entry('g', 'c')}
general_settings: { master_key: ${KEY} }
router_settings: { fallbacks: [{ m: [f, g] }]${router} }
`,
  });
  const ask = (): Promise<Answer> =>
    send(rig.url, 'POST', '/v1/chat/completions', { model: 'm', messages: MESSAGES, stream: true });
  return { rig, upstream, ask };
}

const PREFILL = ', assistant_prefill: true';
const BOTH = ', continue_over_fallbacks: true, continue_by_repeat: true';
const textIn = ({ text }: Answer): string =>
  [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join('');
const logOf = (row: Row): readonly Row[] => row['attempt_log'] as readonly Row[];

function breakOff(call: PendingCall): void {
  call.say({ role: 'assistant', content: '' }, { content: 'one ' }, { content: 'two ' });
  call.cut();
}

t.test('a fallback with prefill goes on', async (t) => {
  const { rig, upstream, ask } = await start(t, ', continue_over_fallbacks: true', PREFILL);
  const answer = ask();
  breakOff(await upstream.next('a'));
  const b = await upstream.next('b');
  t.same((b.body['messages'] as unknown[]).at(-1), { role: 'assistant', content: 'one two', prefix: true });
  b.say({ content: ' three' });
  b.finish();
  const got = await answer;
  t.equal(textIn(got), 'one two three');
  t.notOk(got.broken);
  const row = await rowOf(rig, got);
  t.match(row, { status: 'success', model: 'b', attempts: 2 });
  t.match(logOf(row), [{ model: 'a', continued: true }, { model: 'b' }]);
});

t.test('an entry that states several answers is passed over', async (t) => {
  const { upstream, ask } = await start(t, BOTH, `${PREFILL}, n: 2`);
  const answer = ask();
  breakOff(await upstream.next('a'));
  const c = await upstream.next('c');
  c.say({ role: 'assistant', content: '' }, { content: 'one two three' });
  c.finish();
  t.equal(textIn(await answer), 'one two three');
});

t.test('one without prefill is asked anew, and what the client has is left out', async (t) => {
  const { rig, upstream, ask } = await start(t, BOTH);
  const answer = ask();
  breakOff(await upstream.next('a'));
  const b = await upstream.next('b');
  t.same(b.body['messages'], MESSAGES, 'the same request');
  b.say({ role: 'assistant', content: '' }, { content: 'one two' }, { content: ' three' });
  b.finish();
  const got = await answer;
  t.equal(textIn(got), 'one two three');
  t.notOk(got.broken);
  t.equal(got.text.match(/\[DONE\]/g)?.length, 1);
  t.equal(got.text.match(/"role"/g)?.length, 1);
  t.match(got.text, /: continued by id-b\n\n/);
  const row = await rowOf(rig, got);
  t.match(row, { status: 'success', end_reason: 'complete', model: 'b' });
  t.match(logOf(row), [
    { model: 'a', continued: true, error: 'stream_broken' },
    { model: 'b', error: null },
  ]);
});

t.test(
  'another text is dropped: the next one is asked, and then the stream ends with its error',
  async (t) => {
    const { rig, upstream, ask } = await start(t, BOTH);
    for (const [said, text] of [
      [['one two'], 'one two '],
      [['one ', 'too'], null],
    ] as const) {
      const answer = ask();
      breakOff(await upstream.next('a'));
      const b = await upstream.next('b');
      b.say({ content: 'one 2 ' });
      await b.closed;
      const c = await upstream.next('c');
      c.say(...said.map((content) => ({ content })));
      if (text !== null) c.say({ content: ' ' }, { content: 'three' });
      if (text !== null) c.finish();
      const got = await answer;
      t.notMatch(textIn(got), /too|2/);
      if (text === null) {
        t.equal(textIn(got), 'one two ');
        t.ok(got.broken);
        t.match(got.text, /"code":"stream_broken"/);
        t.notMatch(got.text, /DONE|finish_reason":"/);
      } else t.equal(textIn(got), 'one two three');
      const row = await rowOf(rig, got);
      t.match(
        logOf(row).filter(({ model }) => model === 'b'),
        [{ error: 'diverged' }],
      );
    }
    const { text: metrics } = await send(rig.url, 'GET', '/metrics');
    t.notMatch(metrics, /throughline_cooldowns_total\{[^}]*\} [1-9]/, 'another text is no failure');
  },
);

t.test('a repetition that ends before the seam is no end', async (t) => {
  const { upstream, ask } = await start(t, `${BOTH}, max_fallbacks: 1`);
  const answer = ask();
  breakOff(await upstream.next('a'));
  const b = await upstream.next('b');
  b.say({ content: 'one ' });
  b.finish();
  const got = await answer;
  t.ok(got.broken);
  t.match(got.text, /"code":"stream_broken"/);
  t.notMatch(got.text, /DONE|finish_reason":"/);
});

t.test('neither happens unless it is asked for', async (t) => {
  for (const [router, prefill] of [
    ['', PREFILL],
    [', continue_over_fallbacks: true', ''],
    [', continue_by_repeat: true', ''],
  ] as const) {
    const { upstream, ask } = await start(t, router, prefill);
    const answer = ask();
    breakOff(await upstream.next('a'));
    const got = await answer;
    t.ok(got.broken);
    t.match(got.text, /"code":"stream_broken"/);
    t.same(upstream.models, ['a']);
  }
});
