// Begin and settle entries of a recorder on a real journal: one settle for each call, and every column that was learnt.
import t from 'tap';
import type { Test } from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import { AttemptLog } from '../../../proxy/pipeline/attempt-log.ts';
import { NO_BILLABLE_UNITS } from '../../../proxy/pipeline/billable-units.ts';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import { SpendRecorder, type AnsweredCall } from '../../../proxy/pipeline/spend-recorder.ts';
import { exchangeOf, firstOf, servicesOf, liveOf } from '../../support/services.ts';
import type { Ledger } from '../../../proxy/spend/ledger.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { NOTHING_READ } from '../../../proxy/relay/tap.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';

const CONFIG = `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k }, model_info: { id: id-m } }
  - { model_name: n, litellm_params: { model: litellm_proxy/other, api_base: "http://127.0.0.1:1", api_key: k }, model_info: { id: id-n } }
`;
const CHAT = ENDPOINTS[0] as Endpoint;

const ANSWERED: AnsweredCall = {
  outcome: {
    end: 'complete',
    status: 200,
    fault: null,
    firstByteAt: null,
    upstreamMs: 1,
    responseBytes: 10,
    readOn: null,
    reading: { ...NOTHING_READ, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
    upstreamCallId: null,
    upstreamCost: null,
    retryAfter: null,
    isStream: false,
    contentEncoding: null,
    unsent: null,
    finish: () => undefined,
  },
  call: { body: null, protocol: CHAT.protocol },
  billable: NO_BILLABLE_UNITS,
  head: { overheadMs: () => 0.5 },
};

interface Recording {
  /** Of a call whose body has not come. */
  readonly recorder: SpendRecorder;
  readonly read: () => void;
  /** The call is read, and begins at the first entry of `m`. */
  readonly begin: () => Promise<void>;
  readonly log: AttemptLog;
  readonly ledger: Ledger;
  /** An attempt at the first entry of a name begins. */
  readonly send: (model: string, retries?: number) => ReturnType<typeof begunAt>;
}

const begunAt = (log: AttemptLog, selected: ReturnType<typeof firstOf>, retries: number) => {
  const start = { selected, sentAt: retries, sentMs: 0, firstByteMs: 0, retries, fallbacks: 0 };
  log.begun(start);
  return start;
};

async function recording(t: Test): Promise<Recording> {
  const active = liveOf(t, CONFIG, await servicesOf(t));
  const { x } = await exchangeOf(t, active, { headers: { 'x-litellm-session-id': 'of-header' } });
  const log = new AttemptLog();
  const recorder = new SpendRecorder(x, { keyHash: 'hash' }, CHAT, log, 'of-path');
  const send = (model: string, retries = 0) => begunAt(log, firstOf(active, model), retries);
  const read = (): void => {
    recorder.received(7);
    recorder.read({ model: 'm', stream: true, isBackground: false }, identityOf(x, { keyHash: 'hash' }));
  };
  const begin = (): Promise<void> => {
    read();
    return recorder.begin(firstOf(active, 'm'));
  };
  return { recorder, read, begin, log, ledger: active.services.ledger, send };
}

t.test('a call that ends before its body was read has the identity of its headers', async (t) => {
  const { recorder, ledger } = await recording(t);
  t.equal(recorder.record, null);
  const fault = await recorder.fail(new Fault('body_too_large', 'too large'));
  t.equal(fault.code, 'body_too_large');
  t.match(recorder.record, {
    sessionId: 'of-header',
    modelGroup: 'of-path',
    attempts: 0,
    spendPico: 0,
    endReason: 'refused',
  });
  t.match(ledger.status, { written: 1, open: 0 });
});

t.test('a call that ends before it goes upstream states what was known by then', async (t) => {
  const known = { requestBytes: 7, modelGroup: 'm', stream: true, modelId: null, spendPico: 0 };
  const answer = { pico: 4n, inputPico: () => 1n, output: 1, reason: '' };
  const reservations = [
    { whole: { ...answer, pico: 9n }, reservedPico: 9, warnings: [] },
    {
      whole: { ...answer, pico: 0n, reason: 'no price' },
      reservedPico: 0,
      warnings: ['its budgets reserved nothing for it: no price'],
    },
  ];
  for (const { whole, reservedPico, warnings } of reservations) {
    const { recorder, read, ledger } = await recording(t);
    read();
    recorder.reserved({ whole, answer, continuations: 0 });
    await recorder.fail(new Fault('overloaded', 'full'));
    t.match(recorder.record, { ...known, reservedPico });
    t.same(recorder.record?.warnings, warnings);
    t.match(ledger.status, { written: 1, open: 0 });
  }
});

t.test('an answered call: one begin, one settle', async (t) => {
  const { recorder, ledger, send, begin } = await recording(t);
  await begin();
  t.match(ledger.status, { written: 0, open: 1 });
  send('m');
  const record = await recorder.settle(ANSWERED);
  t.match(record, { status: 'success', modelGroup: 'm', stream: true, requestBytes: 7, attempts: 1 });
  t.equal(recorder.record, record);
  t.match(ledger.status, { written: 1, open: 0 });
});

t.test('what fails after the end is not written a second time', async (t) => {
  const { recorder, ledger, send, begin } = await recording(t);
  await begin();
  send('m');
  const record = await recorder.settle(ANSWERED);
  t.match(await recorder.fail(new Error('a bug')), { code: 'internal_error' });
  await t.rejects(recorder.settle(ANSWERED), /settled once/);
  t.equal(recorder.record, record);
  t.match(ledger.status, { written: 1, open: 0 });
});

t.test('a bug while an answer is settled still leaves one row', async (t) => {
  const { recorder, ledger, send, begin } = await recording(t);
  await begin();
  send('m');
  const broken = {
    ...ANSWERED,
    head: {
      overheadMs: () => {
        throw new Error('a bug');
      },
    },
  };
  await t.rejects(recorder.settle(broken), /a bug/);
  await recorder.fail(new Error('a bug'));
  t.match(recorder.record, { status: 'failure', endReason: 'proxy_error', attempts: 1, spendPico: null });
  t.match(ledger.status, { written: 1, open: 0 });
});

t.test('a fault before anything was sent costs nothing, also behind the begin entry', async (t) => {
  const { recorder, ledger, begin } = await recording(t);
  await begin();
  await recorder.fail(new Fault('invalid_header', 'no number'));
  t.match(recorder.record, { attempts: 0, spendPico: 0, costReason: '' });
  t.match(ledger.status, { written: 1, open: 0 });
});

t.test('the row is at the deployment that answered, with the attempts before it', async (t) => {
  const { recorder, log, send, begin } = await recording(t);
  await begin();
  const first = send('m');
  const failed = { modelId: 'id-m', model: 'up', apiBase: 'b', startMs: 0, durationMs: 1 };
  log.replaced(first, { ...failed, status: null, error: 'timeout', usage: null, spendPico: 0 });
  send('n', 1);
  const record = await recorder.settle(ANSWERED);
  t.match(record, { modelId: 'id-n', model: 'other', attempts: 2 });
  t.same(
    record.attemptLog.map(({ modelId, error }) => [modelId, error]),
    [
      ['id-m', 'timeout'],
      ['id-n', null],
    ],
  );
});

t.test('a call that ends between two attempts has those before, and costs what they did', async (t) => {
  const { recorder, log, send, begin } = await recording(t);
  await begin();
  const failed = { modelId: 'id-m', model: 'up', apiBase: 'b', startMs: 0, durationMs: 1 };
  log.replaced(send('m'), { ...failed, status: 500, error: 'server', usage: null, spendPico: 0 });
  const other = { ...failed, modelId: 'id-n', model: 'other' };
  log.replaced(send('n', 1), { ...other, status: 200, error: 'server', usage: null, spendPico: 7 });
  await recorder.fail(new Fault('client_gone', 'It left.'));
  t.match(recorder.record, { endReason: 'client_gone', modelId: 'id-n', model: 'other', attempts: 2 });
  t.match(recorder.record, { spendPico: 7, costReason: '' });
  t.same(
    recorder.record?.attemptLog.map(({ modelId, spendPico }) => [modelId, spendPico]),
    [
      ['id-m', 0],
      ['id-n', 7],
    ],
  );
});

t.test('an answer that is given again is a row of its own without a begin', async (t) => {
  const { recorder, read, ledger } = await recording(t);
  read();
  const answer = { status: 200, headers: [], body: Buffer.from('{}') };
  const record = await recorder.settleRepeated('call-0', answer);
  t.match(record, { endReason: 'replayed', attempts: 0, responseBytes: 2, spendPico: 0 });
  t.match(record.warnings, ['the answer of call call-0 was given again']);
  t.match(ledger.status, { written: 1, open: 0 });
});
