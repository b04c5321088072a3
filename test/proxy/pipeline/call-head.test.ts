// What the head of an answer says of the call: where it went, how often it was tried, and what the proxy itself took.
import t from 'tap';
import type { Test } from 'tap';
import { AdmissionPermit } from '../../../proxy/pipeline/admission-permit.ts';
import { AttemptLog, type AttemptStart } from '../../../proxy/pipeline/attempt-log.ts';
import { CallHead } from '../../../proxy/pipeline/call-head.ts';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import type { Outcome } from '../../../proxy/relay/outcome.ts';
import { NOTHING_READ } from '../../../proxy/relay/tap.ts';
import { ManualClock } from '../../support/clock.ts';
import { exchangeOf, firstOf, liveOf, servicesOf } from '../../support/services.ts';

const CONFIG = `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k }, model_info: { id: id-m } }
`;

const outcome = (end: Outcome['end'], upstreamMs: number): Outcome => ({
  end,
  status: 200,
  fault: null,
  firstByteAt: null,
  upstreamMs,
  responseBytes: 10,
  readOn: null,
  reading: NOTHING_READ,
  upstreamCallId: null,
  upstreamCost: null,
  retryAfter: null,
  isStream: false,
  contentEncoding: null,
  unsent: null,
  finish: () => undefined,
});

async function headed(t: Test) {
  const clock = new ManualClock();
  const active = liveOf(t, CONFIG, { ...(await servicesOf(t)), clock });
  const { x } = await exchangeOf(t, active, { headers: { 'x-litellm-session-id': 's-1' } });
  const log = new AttemptLog();
  const begin = (retries = 0, firstByteMs = 0): AttemptStart => {
    const sentAt = clock.mono();
    const start = {
      selected: firstOf(active, 'm'),
      sentAt,
      sentMs: clock.now(),
      firstByteMs,
      retries,
      fallbacks: 0,
    };
    log.begun(start);
    return start;
  };
  const head = new CallHead(x, identityOf(x, { keyHash: 'hash' }), log, new AdmissionPermit(x));
  return { x, clock, head, begin };
}

const mapOf = (list: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    list.flatMap((name, i) => (i % 2 === 0 ? [[name.replace('x-litellm-', ''), list[i + 1] ?? '']] : [])),
  );

t.test('before anything was sent the head names the call and its session alone', async (t) => {
  const { x, head } = await headed(t);
  t.same(mapOf(head.ownHeaders(200, 0)), {
    'call-id': x.id,
    'session-id': 's-1',
    'overhead-duration-ms': '0.000',
    'response-duration-ms': '0.000',
  });
});

t.test('what the upstream took is not the proxy’s, nor what attempts before took', async (t) => {
  const { clock, head, begin } = await headed(t);
  clock.advance(3);
  begin();
  clock.advance(400);
  begin(1);
  clock.advance(50);
  t.match(mapOf(head.ownHeaders(200, 48)), {
    'model-id': 'id-m',
    'attempted-retries': '1',
    'attempted-fallbacks': '0',
    'overhead-duration-ms': '5.000',
  });
  clock.advance(1_000);
  t.equal(head.overheadMs(outcome('complete', 48)), 5, 'it is measured when the head is made, once');
});

t.test('the time for the first byte is that of the attempt that answers', async (t) => {
  const { head, begin } = await headed(t);
  begin(0, 600_000);
  begin(1, 7_500);
  t.match(mapOf(head.ownHeaders(200, 0)), { timeout: '7.5' });
  begin(2);
  t.notOk('timeout' in mapOf(head.ownHeaders(200, 0)), 'it has no limit');
});

t.test('an upstream that says it took longer than the call took leaves no overhead', async (t) => {
  const { clock, head, begin } = await headed(t);
  begin();
  clock.advance(10);
  t.match(mapOf(head.ownHeaders(200, 99)), { 'overhead-duration-ms': '0.000' });
});

t.test('an error of the upstream is said to be its own', async (t) => {
  const { head, begin } = await headed(t);
  begin();
  t.match(mapOf(head.ownHeaders(400, 0)), { 'error-source': 'upstream' });
  t.notOk('error-source' in mapOf(head.ownHeaders(399, 0)));
});

t.test(
  'of a gathered answer it is known before its head is made; of a client that left, never',
  async (t) => {
    const { clock, head, begin } = await headed(t);
    begin();
    clock.advance(30);
    t.equal(head.overheadMs(outcome('complete', 20)), 10);
    t.equal(head.overheadMs(outcome('client_gone', 20)), null);
  },
);
