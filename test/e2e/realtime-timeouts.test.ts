// The opening of a realtime session takes no longer than its total timeout, all attempts together.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { ManualClock } from '../support/clock.ts';
import { openSession, Refused, startRealtimeUpstream } from '../support/realtime-upstream.ts';
import { KEY, rowOf, startRig } from '../support/rig.ts';

const silent = createServer((socket) => void socket.on('error', () => undefined).resume()); // accepts, and never answers
silent.listen(0, '127.0.0.1');
await once(silent, 'listening');
t.teardown(() => silent.close());

const clock = new ManualClock();
const slow = await startRealtimeUpstream(t);
const spare = await startRealtimeUpstream(t);
const rig = await startRig(t, {
  clock,
  config: () => `
model_list:
  - model_name: slow
    litellm_params: { model: openai/a, api_base: "${slow.url}/v1", api_key: k, total_timeout: 5 }
  - model_name: silent
    litellm_params: { model: openai/a, api_base: "http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1", api_key: k, total_timeout: 0.05 }
  - model_name: spare
    litellm_params: { model: openai/b, api_base: "${spare.url}/v1", api_key: k, total_timeout: 5 }
router_settings: { num_retries: 0, fallbacks: [{ slow: [spare] }, { silent: [spare] }] }
general_settings: { master_key: ${KEY} }
`,
});

async function refusalOf(model: string): Promise<Refused> {
  const headers = { authorization: `Bearer ${KEY}` };
  const end = await openSession(`${rig.url}/v1/realtime?model=${model}`, { headers }).catch(
    (error: unknown) => error,
  );
  if (end instanceof Refused) return end;
  throw end instanceof Error ? end : new Error('it was opened');
}

t.test('when the time is used up no other upstream is asked', async (t) => {
  slow.refuse = { status: 503, body: '{"error":{"message":"busy"}}' };
  spare.refuse = { status: 502, body: '{}' };
  slow.onHandshake = () => clock.advance(4_000);
  t.equal((await refusalOf('slow')).status, 502, 'a second is left');
  t.equal(spare.asked.length, 1);
  slow.onHandshake = () => clock.advance(5_000);
  const { status, body } = await refusalOf('slow');
  t.match({ status, body }, { status: 503, body: /busy/ }, 'the last refusal is passed on');
  t.equal(spare.asked.length, 1);
});

t.test('an upstream that does not answer has that much time', async (t) => {
  const end = await refusalOf('silent');
  t.match({ status: end.status, body: end.body }, { status: 504, body: /"total_timeout"/ });
  t.match(await rowOf(rig, end), { status: 'failure', end_reason: 'timeout' });
});
