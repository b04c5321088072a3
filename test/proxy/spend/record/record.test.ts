// The row of a call whose process ended in the middle of it.
import t from 'tap';
import { interrupted } from '../../../../proxy/spend/record/record.ts';
import { NO_TOKENS } from '../../../../proxy/protocols/usage.ts';
import { beginOf } from './fixture/records.ts';

t.test('an interrupted call keeps all that its begin said, and claims to know nothing else', async (t) => {
  const begin = beginOf('id');
  t.same(interrupted(begin, begin.startMs + 9), {
    ...begin,
    endMs: begin.startMs + 9,
    firstByteMs: null,
    status: 'failure',
    endReason: 'interrupted',
    httpStatus: null,
    errorCode: 'interrupted',
    errorText: null,
    errorSource: 'proxy',
    attempts: 1,
    attemptLog: [],
    responseBytes: 0,
    upstreamId: null,
    upstreamCallId: null,
    usage: null,
    usageSource: 'none',
    tokens: NO_TOKENS,
    estimatedBy: null,
    units: null,
    serviceTier: null,
    spendPico: null,
    costSource: 'none',
    costReason: 'the process ended before the answer was complete',
    costs: {},
    priceVersion: null,
  });
});
