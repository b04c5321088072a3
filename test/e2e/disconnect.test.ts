// Clients that leave in the middle where the entry says `on_disconnect: drain`: the answer is read on, within bounds, and
// the row has what it cost. Aborting, the default, is tested with the relay and the spend records.
import t from 'tap';
import type { Test } from 'tap';
import { openCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { KEY, rowOfSession, send, startRig, type Rig, type Row } from '../support/rig.ts';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';

const CHAT = { messages: [{ role: 'user', content: 'one two three four five six' }] };

const configOf =
  (params = '', general = '') =>
  ({ url }: { url: string }): string => `
model_list:
  - model_name: "*"
    litellm_params: { model: "litellm_proxy/*", api_base: "${url}" }
router_settings: { default_litellm_params: { on_disconnect: drain${params} } }
general_settings: { master_key: ${KEY}${general} }
`;

/** Calls, leaves once `part` has come (null: before there is an answer), and has the row once it is written. */
async function left(rig: Rig, model: string, part: string | null, session: string): Promise<void> {
  const before = rig.demo.seen.length;
  const call = openCall(
    rig.url,
    '/v1/chat/completions',
    { ...CHAT, model, stream: part !== null },
    { 'x-litellm-session-id': session },
  );
  await rig.demo.waitFor(before + 1);
  if (part !== null) await call.received(part);
  call.leave();
}

const GONE = { status: 'failure', end_reason: 'client_gone', error_source: 'client' };
const start = (t: Test, params?: string, general?: string, clock?: ManualClock): Promise<Rig> =>
  startRig(t, {
    config: configOf(params, general),
    demo: { eventIntervalMs: 5, stallMs: 3_600_000 },
    ...(clock === undefined ? {} : { clock }),
  });

t.test('an answer is read to its end for its usage, streamed or not, begun or not', async (t) => {
  const rig = await start(t);
  const whole = await send(rig.url, 'POST', '/v1/chat/completions', { ...CHAT, model: 'demo' });
  const { usage } = JSON.parse(whole.text) as { usage: Row };
  await left(rig, 'demo-interval', 'data:', 'stream');
  await left(rig, 'demo-hold', null, 'silent');
  await rig.logged((line) => line['session'] === 'stream');
  rig.demo.release();
  for (const session of ['stream', 'silent']) {
    const row = await rowOfSession(rig, session);
    t.match(row, { ...GONE, usage_source: 'upstream', http_status: 200 }, session);
    t.match(row, { metadata: { warnings: ['the client left; the answer was read on to its end'] } });
    t.match(row, usage);
  }
  t.same(await Promise.all(rig.demo.seen.map(({ finished }) => finished)), [
    'complete',
    'complete',
    'complete',
  ]);
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, 'throughline_detached_streams_total{model="*",end="whole"} 2');
});

t.test('a client that was slow does not hold up what is read on without it', async (t) => {
  const rig = await start(t);
  const call = openCall(
    rig.url,
    '/v1/chat/completions',
    { ...CHAT, model: 'demo-huge', stream: true },
    { 'x-litellm-session-id': 'slow' },
  );
  (await call.head).pause();
  call.leave();
  t.match(await rowOfSession(rig, 'slow'), { ...GONE, usage_source: 'upstream' });
  t.equal(await rig.demo.seen[0]?.finished, 'complete');
});

t.test(
  'reading on is bounded in time; what breaks meanwhile is said, and nothing is tried again',
  async (t) => {
    const clock = new ManualClock();
    const rig = await start(t, ', on_disconnect_seconds: 0.1, num_retries: 2', '', clock);
    await left(rig, 'demo-stall', 'data:', 'stalls');
    t.match(await clock.during(rowOfSession(rig, 'stalls')), {
      ...GONE,
      metadata: { warnings: [/read on for as long as allowed/] },
    });
    t.equal(await rig.demo.seen[0]?.finished, 'aborted');
    await left(rig, 'demo-interval-cut', 'data:', 'breaks');
    t.match(await rowOfSession(rig, 'breaks'), {
      ...GONE,
      metadata: { warnings: [/read on until it broke off/] },
      attempts: 1,
    });
    t.equal(rig.demo.seen.length, 2);
  },
);

t.test('reading on is bounded in number: the next one is aborted', async (t) => {
  const rig = await start(t, '', ', max_disconnected_answers: 1');
  await left(rig, 'demo-hold', null, 'first');
  await left(rig, 'demo-hold', null, 'second');
  t.match(await rowOfSession(rig, 'second'), { ...GONE, metadata: { warnings: [] }, spend: null });
  t.equal(await rig.demo.seen[1]?.finished, 'aborted');
  rig.demo.release();
  t.match(await rowOfSession(rig, 'first'), { ...GONE, usage_source: 'upstream' });
});

t.test('a stop waits for what is read on no longer than for clients, and the rows are there', async (t) => {
  const folder = tempDir(t);
  const config = configOf();
  const rig = await startRig(t, { folder, config, demo: { stallMs: 60_000 } });
  await left(rig, 'demo-stall', 'data:', 'stopped');
  await left(rig, 'demo-hold', null, 'drained');
  await send(rig.url, 'GET', '/health/liveness'); // both have left by now
  const stopped = rig.gateway.stop({ maxMs: 600_000 });
  rig.demo.release();
  await rig.logged((line) => line['session'] === 'drained');
  void rig.gateway.stop();
  await stopped;
  const rows = await (await startRig(t, { folder, config })).rows();
  const of = (session: string): unknown => rows.find((row) => row['session_id'] === session);
  t.match(of('drained'), { metadata: { warnings: [/to its end/] } });
  t.match(of('stopped'), { metadata: { warnings: [/had not ended/] } });
});
