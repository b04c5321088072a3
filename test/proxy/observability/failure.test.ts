// What an operator is told of an end: every status of an upstream and every code of ours has a side and a sentence.
import t from 'tap';
import { FAULTS, type FaultCode } from '../../../proxy/errors/codes.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import { failureOf, levelOf } from '../../../proxy/observability/failure.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';

const failed = (more: Partial<SpendRecord>): SpendRecord =>
  settleOf(beginOf('id'), {
    status: 'failure',
    errorCode: null,
    errorText: null,
    errorSource: null,
    ...more,
  });
const refused = (httpStatus: number, byPattern = false) =>
  failureOf(failed({ endReason: 'upstream_error', httpStatus, errorSource: 'upstream' }), byPattern);

t.test('a call that went well has no failure', async (t) => {
  t.equal(failureOf(settleOf(beginOf('id')), false), null);
});

t.test('each status of an upstream has a side, a reason of a closed list, and a sentence', async (t) => {
  const reasons = new Set<string>();
  for (let status = 300; status < 600; status += 1) {
    const failure = refused(status);
    t.match(failure, {
      side: /^(client|upstream)$/,
      reason: /^upstream_[a-z0-9]+$/,
      why: /^[A-Z][^]+[.)]$/,
    });
    t.equal(failure?.level, failure?.side === 'client' ? 30 : 40);
    t.match(failure?.why, String(status), 'the status stands in the sentence');
    reasons.add(failure?.reason ?? '');
  }
  t.ok(reasons.size < 25, `${reasons.size} values of a label`);
});

t.test('what the operator has to mend is a warning; what the caller did is not', async (t) => {
  for (const status of [301, 401, 402, 403, 404, 405, 408, 429, 500, 502, 503, 504, 529, 599])
    t.match(refused(status), { side: 'upstream', level: 40 }, String(status));
  for (const status of [400, 409, 413, 415, 418, 422, 451])
    t.match(refused(status), { side: 'client', level: 30 }, String(status));
  t.match(
    refused(404, true),
    { side: 'client', reason: 'upstream_404', level: 30 },
    'a name that the client made up',
  );
});

t.test('a 200 that is no answer, a torn body, a failure that is given again', async (t) => {
  t.match(refused(200), { side: 'upstream', reason: 'upstream_error_in_body', level: 40 });
  t.match(failureOf(failed({ endReason: 'truncated', httpStatus: 200 }), false), {
    side: 'upstream',
    reason: 'upstream_truncated',
    level: 40,
  });
  t.match(failureOf(failed({ endReason: 'replayed', httpStatus: 500 }), false), {
    side: 'client',
    level: 30,
  });
});

t.test('each code of ours has its side; the words of a client are not repeated', async (t) => {
  for (const code of Object.keys(FAULTS) as FaultCode[]) {
    const { source, means } = FAULTS[code];
    const failure = failureOf(
      failed({ errorCode: code, errorText: 'said words', errorSource: source }),
      false,
    );
    t.match(failure, { side: source, reason: code });
    t.equal(failure?.why, source === 'client' ? means : 'said words');
    const planned = code === 'shutting_down';
    const level = { client: 30, upstream: 40, proxy: planned ? 40 : 50 }[source];
    t.equal(failure?.level, level, code);
    t.equal(levelOf(new Fault(code, 'x')), { 30: 'info', 40: 'warn', 50: 'error' }[level], code);
  }
});
