// The wall clock is set back or forth while a call runs: what a record says of its times stays in order.
import t from 'tap';
import type { Clock } from '../../proxy/base/clock.ts';
import { startUpstream } from '../support/call.ts';
import { KEY, rowOf, send, startRig } from '../support/rig.ts';

t.test('a call ends after it began, whatever the wall clock does meanwhile', async (t) => {
  let [nowMs, monoMs] = [Date.parse('2026-03-29T12:00:00Z'), 1_000];
  const clock: Clock = { now: () => nowMs, mono: () => monoMs };
  let stepMs = 0;
  let isFirst = true;
  const url = await startUpstream(t, ({ res }) => {
    nowMs += stepMs;
    monoMs += 250;
    isFirst = !isFirst;
    res.writeHead(isFirst ? 200 : 500, { 'content-type': 'application/json' });
    res.end(isFirst ? '{"choices":[{"index":0}]}' : '{"error":{"message":"no"}}');
  });
  const rig = await startRig(t, {
    clock,
    config: () => `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}" } }
  - { model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}" } }
general_settings: { master_key: ${KEY} }
`,
  });
  for (const step of [-3_600_000, 0, 3_600_000]) {
    stepMs = step;
    const startMs = nowMs;
    const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
    const row = await rowOf(rig, await send(rig.url, 'POST', '/v1/chat/completions', body));
    const at = (ms: number): string => new Date(startMs + ms).toISOString();
    t.match(row, {
      startTime: at(0),
      completionStartTime: at(500),
      endTime: at(500),
      request_duration_ms: 500,
      attempt_log: [
        { start: at(0), duration_ms: 250 },
        { start: at(250), duration_ms: 250 },
      ],
    });
  }
});
