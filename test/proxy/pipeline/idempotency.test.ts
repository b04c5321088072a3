// What a key says of a call: that it is the first, that it was made before, or that it cannot be answered. On real
// exchanges; the calls themselves are ended by the test.
import t from 'tap';
import type { Test } from 'tap';
import type { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { IdempotencyCache } from '../../../proxy/active-config/idempotency-cache.ts';
import { parseRequest } from '../../../proxy/pipeline/parse-request.ts';
import { readBody } from '../../../proxy/pipeline/read-body.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { ManualClock } from '../../support/clock.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import type { AuthenticatedCaller } from '../../../proxy/access/caller.ts';
import { claimIdempotencyKey, replayResponse } from '../../../proxy/pipeline/idempotency.ts';
import { sendJson } from '../../../proxy/pipeline/respond.ts';
import { exchangeOf, liveOf, type Sent, servicesOf } from '../../support/services.ts';

const CHAT = ENDPOINTS[0] as Endpoint;
const CALLER: AuthenticatedCaller = { role: 'inference', keyHash: 'hash' };
const RECORD = settleOf(beginOf('id'));

async function serving(t: Test, settings = '{}') {
  const clock = new ManualClock();
  const yaml = `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k } }
general_settings: { idempotency: ${settings} }
`;
  const house = { ...(await servicesOf(t)), clock, idempotency: new IdempotencyCache(clock.mono) };
  return { clock, active: liveOf(t, yaml, house) };
}

const BODY = { model: 'm', messages: [] };
const keyed = (key: string | string[], body: object = BODY, path = '/v1/chat/completions'): Sent => ({
  path,
  headers: { 'idempotency-key': key },
  body: JSON.stringify(body),
});

/** A call comes as far as its claim. */
async function arrive(t: Test, active: ActiveConfig, sent: Sent, caller = CALLER) {
  const { x, answer, leave } = await exchangeOf(t, active, sent);
  const request = await parseRequest(x, CHAT, await readBody(x), null);
  const { idempotency } = active.snapshot;
  const claim =
    idempotency === null ? Promise.resolve(null) : claimIdempotencyKey(x, caller, request, idempotency);
  return { x, answer, leave, claim };
}

/** The first call of a key, and its end. */
async function first(t: Test, active: ActiveConfig, sent: Sent) {
  const { x, claim } = await arrive(t, active, sent);
  const claimed = await claim;
  if (claimed?.kind !== 'first') throw new Error('it is not the first');
  return {
    x,
    end: (record: SpendRecord | null): void => {
      if (record !== null) sendJson(x, { text: 'the answer' });
      claimed.settle(record);
    },
  };
}

t.test('without a key, or where keys are not looked at, nothing is claimed', async (t) => {
  const { active } = await serving(t);
  t.equal(await (await arrive(t, active, { body: JSON.stringify(BODY) })).claim, null);
  const { active: off } = await serving(t, 'null');
  t.equal(await (await arrive(t, off, keyed('k'))).claim, null);
});

t.test('a call that has ended is told again, under its own id', async (t) => {
  const { active } = await serving(t);
  const one = await first(t, active, keyed('k'));
  one.end(RECORD);
  const two = await arrive(t, active, keyed('k'));
  const repeated = await two.claim;
  if (repeated?.kind !== 'repeated') throw new Error('it was not repeated');
  t.equal(repeated.id, one.x.id);
  replayResponse(two.x, repeated, ['x-litellm-session-id', 's-2']);
  t.match(await two.answer, {
    status: 200,
    text: '{"text":"the answer"}',
    headers: {
      'content-type': 'application/json',
      'x-litellm-call-id': two.x.id,
      'x-litellm-session-id': 's-2',
      'x-litellm-original-call-id': one.x.id,
      'x-litellm-response-cost': '0',
      'idempotent-replayed': 'true',
    },
  });
});

t.test('a call that runs is joined: the second waits for its answer', async (t) => {
  const { active } = await serving(t);
  const one = await first(t, active, keyed('k'));
  const two = await arrive(t, active, keyed('k'));
  t.not(two.x.res.watcher, null, 'it waits');
  one.end(RECORD);
  t.match(await two.claim, { kind: 'repeated', id: one.x.id });
});

t.test('when the first one cost nothing, the one that waited takes its place', async (t) => {
  const { active } = await serving(t);
  const failed: SpendRecord = { ...RECORD, status: 'failure', endReason: 'upstream_broken', spendPico: 0 };
  for (const record of [null, failed]) {
    const one = await first(t, active, keyed('k'));
    const two = await arrive(t, active, keyed('k'));
    one.end(record);
    const claim = await two.claim;
    t.equal(claim?.kind, 'first');
    if (claim?.kind === 'first') claim.settle(null);
  }
});

t.test('a client that leaves while it waits waits no longer, and the first call goes on', async (t) => {
  const { active } = await serving(t);
  const one = await first(t, active, keyed('k'));
  const two = await arrive(t, active, keyed('k'));
  two.leave();
  await t.rejects(two.claim, { code: 'client_gone' });
  one.end(RECORD);
  t.match(await (await arrive(t, active, keyed('k'))).claim, { kind: 'repeated' });
});

t.test('a failure that has cost something is told again, not paid twice', async (t) => {
  const { active } = await serving(t);
  const one = await first(t, active, keyed('k'));
  one.end({ ...RECORD, status: 'failure', endReason: 'truncated', spendPico: 5 });
  t.match(await (await arrive(t, active, keyed('k'))).claim, { kind: 'repeated', id: one.x.id });
});

t.test('an end without an answer that could be told is refused, and SDKs do not try again', async (t) => {
  const { active } = await serving(t);
  for (const [key, httpStatus, says] of [
    ['gone', null, 'without a status'],
    ['large', 200, 'with status 200'],
  ] as const) {
    const one = await first(t, active, keyed(key));
    settleBare(active, key, { ...RECORD, endReason: 'client_gone', httpStatus });
    await t.rejects((await arrive(t, active, keyed(key))).claim, {
      code: 'idempotency_conflict',
      message: `The call with this Idempotency-Key, ${one.x.id}, has ended (client_gone, ${says}), and its answer was not kept.`,
      headers: [
        ['x-litellm-original-call-id', one.x.id],
        ['x-should-retry', 'false'],
      ],
    });
  }
});

/** Ends a call whose answer never came together. */
function settleBare(active: ActiveConfig, key: string, record: SpendRecord): void {
  const { idempotency } = active.services;
  const { endReason: reason, httpStatus } = record;
  const limits = active.snapshot.idempotency;
  if (limits === null) throw new Error('keys are looked at');
  idempotency.settle(`${CALLER.keyHash} ${key}`, { reason, httpStatus, response: null }, limits);
}

t.test('a stream that runs cannot be joined', async (t) => {
  const { active } = await serving(t);
  const stream = { ...BODY, stream: true };
  const one = await first(t, active, keyed('k', stream));
  t.notOk(one.x.res.keeps);
  await t.rejects((await arrive(t, active, keyed('k', stream))).claim, {
    code: 'idempotency_conflict',
    message: /is still running, and it is a stream/,
  });
});

t.test('a key stands for one request of one caller', async (t) => {
  const { active } = await serving(t);
  const one = await first(t, active, keyed('k'));
  one.end(RECORD);
  for (const other of [
    keyed('k', { ...BODY, n: 2 }),
    keyed('k', BODY, '/chat/completions'),
    keyed('k', BODY, '/v1/chat/completions?a=1'),
  ])
    await t.rejects((await arrive(t, active, other)).claim, {
      code: 'idempotency_mismatch',
      headers: [['x-litellm-original-call-id', one.x.id]],
    });
  const stranger = await arrive(t, active, keyed('k'), { role: 'inference', keyHash: 'another' });
  t.match(await stranger.claim, { kind: 'first' });
});

t.test('a key is sent once, in visible characters', async (t) => {
  const { active } = await serving(t);
  for (const key of [['a', 'b'], '', 'a b', 'k'.repeat(256)])
    await t.rejects((await arrive(t, active, keyed(key))).claim, {
      code: 'invalid_header',
      param: 'idempotency-key',
    });
  t.match(await (await arrive(t, active, keyed('k'.repeat(255)))).claim, { kind: 'first' });
});

t.test('what no further call can be remembered for is refused', async (t) => {
  const { active } = await serving(t, '{ max_entries: 1 }');
  await first(t, active, keyed('one'));
  await t.rejects((await arrive(t, active, keyed('two'))).claim, {
    code: 'overloaded',
    headers: [['retry-after', '1']],
  });
});

t.test('a key is known as long as is configured', async (t) => {
  const { active, clock } = await serving(t, '{ window_seconds: 60 }');
  (await first(t, active, keyed('k'))).end(RECORD);
  clock.advance(59_999);
  t.match(await (await arrive(t, active, keyed('k'))).claim, { kind: 'repeated' });
  clock.advance(1);
  t.match(await (await arrive(t, active, keyed('k'))).claim, { kind: 'first' });
});
