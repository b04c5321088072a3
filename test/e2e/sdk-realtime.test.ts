// The realtime client of OpenAI's SDK, through the proxy, with the demo gateway behind it.
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import t from 'tap';
import { KEY, send, startRig } from '../support/rig.ts';

t.test('a session of the official client', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: rt
    litellm_params: { model: openai/demo-realtime, api_base: "${demo.url}/v1", api_key: sk-upstream-secret }
general_settings: { master_key: ${KEY} }
`,
  });
  const client = new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: KEY });
  const session = new OpenAIRealtimeWS(
    { model: 'rt', onURL: (url: URL) => void (url.protocol = 'ws:') },
    client,
  );
  const text: string[] = [];
  const done = new Promise<unknown>((resolve, reject) => {
    session.on('error', reject);
    session.on('session.created', () => {
      session.send({ type: 'session.update', session: { type: 'realtime', instructions: 'short' } });
      session.send({ type: 'response.create' });
    });
    session.on('response.output_text.delta', ({ delta }) => text.push(delta));
    session.on('response.done', resolve);
  });
  t.match(await done, { response: { status: 'completed', usage: { total_tokens: 16 } } });
  t.equal(text.join(''), 'This is the demo gateway. ');
  session.close();
  const line = await rig.logged(({ call_type: type }) => type === 'realtime');
  const { text: rows } = await send(rig.url, 'GET', `/spend/logs?request_id=${String(line['call_id'])}`);
  t.match(JSON.parse(rows), [
    { call_type: 'realtime', status: 'success', total_tokens: 16, model: 'demo-realtime' },
  ]);
});
