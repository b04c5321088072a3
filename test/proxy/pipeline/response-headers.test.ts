// What an answer tells of its call, by how far the call got.
import t from 'tap';
import {
  responseHeaderNames,
  type ResponseHeaderNames,
} from '../../../proxy/headers/response-header-names.ts';
import { AttemptLog } from '../../../proxy/pipeline/attempt-log.ts';
import { beginOf, settleRepeated } from '../../../proxy/pipeline/spend-entries.ts';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import { costHeaders, responseHeaders } from '../../../proxy/pipeline/response-headers.ts';
import { exchangeOf, firstOf, servicesOf, liveOf } from '../../support/services.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';

const headerNamesOf = (brand: string): ResponseHeaderNames =>
  responseHeaderNames({ headerPrefix: `x-${brand}-` });

const active = liveOf(
  t,
  'model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k }, model_info: { id: id-m } }]',
  await servicesOf(t),
);
const selected = firstOf(active, 'm');
const identity = { sessionId: 's-1' };

/** Names without values. */
const namesOf = (list: readonly string[]): string[] => list.filter((_, i) => i % 2 === 0);
const valueOf = (list: readonly string[], name: string): string | undefined => list[list.indexOf(name) + 1];

t.test('a call that went nowhere has its session and nothing else', async (t) => {
  const list = responseHeaders(headerNamesOf('acme'), {
    identity,
    selected: null,
    attempts: new AttemptLog(),
  });
  t.same(list, ['x-acme-session-id', 's-1']);
});

t.test('a call that went somewhere tells where, and after how many attempts', async (t) => {
  const attempts = { retries: 2, fallbacks: 1 };
  const list = responseHeaders(headerNamesOf('litellm'), { identity, selected: selected, attempts });
  t.same(namesOf(list), [
    'x-litellm-session-id',
    'x-litellm-model-id',
    'x-litellm-model-api-base',
    'x-litellm-version',
    'x-litellm-max-retries',
    'x-litellm-model-group',
    'x-litellm-attempted-retries',
    'x-litellm-attempted-fallbacks',
  ]);
  t.equal(valueOf(list, 'x-litellm-model-id'), 'id-m');
  t.equal(valueOf(list, 'x-litellm-attempted-retries'), '2');
  t.equal(valueOf(list, 'x-litellm-attempted-fallbacks'), '1');
});

t.test("an upstream's answer has the overhead, and says whose an error is", async (t) => {
  const attempts = new AttemptLog();
  const good = responseHeaders(headerNamesOf('a'), {
    identity,
    selected: selected,
    attempts,
    overheadMs: 1.23456,
    upstreamStatus: 200,
  });
  t.equal(valueOf(good, 'x-a-overhead-duration-ms'), '1.235');
  t.notOk(good.includes('x-a-error-source'));
  for (const upstreamStatus of [400, 429, 503]) {
    const bad = responseHeaders(headerNamesOf('a'), {
      identity,
      selected: selected,
      attempts,
      overheadMs: 0,
      upstreamStatus,
    });
    t.equal(valueOf(bad, 'x-a-error-source'), 'upstream');
  }
});

t.test('the cost is told of calls that served and whose cost is known', async (t) => {
  const { x } = await exchangeOf(t, active);
  const begin = beginOf(x, {
    caller: { keyHash: '' },
    endpoint: ENDPOINTS[0] as Endpoint,
    model: 'm',
    identity: identityOf(x, { keyHash: '' }),
    stream: false,
    requestBytes: 0,
    selected: selected,
  });
  const record = settleRepeated(x, begin, 'id', { status: 200, headers: [], body: Buffer.alloc(0) });
  t.same(costHeaders(headerNamesOf('a'), { ...record, spendPico: 1_500_000 }), [
    'x-a-response-cost',
    '0.0000015',
  ]);
  t.same(costHeaders(headerNamesOf('a'), { ...record, spendPico: 0 }), ['x-a-response-cost', '0']);
  t.same(costHeaders(headerNamesOf('a'), { ...record, spendPico: null }), []);
  t.same(costHeaders(headerNamesOf('a'), { ...record, status: 'failure' }), []);
});
