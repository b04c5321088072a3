// What an attempt's end says of the upstream and of the request: by status, by fault, by the first event of a stream.
import t from 'tap';
import type { FaultCode } from '../../../proxy/errors/codes.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import { classify } from '../../../proxy/pipeline/classify.ts';
import type { Outcome } from '../../../proxy/relay/outcome.ts';
import { NOTHING_READ } from '../../../proxy/relay/tap.ts';

const outcome = (more: Partial<Outcome>): { outcome: Outcome } => ({
  outcome: {
    end: 'upstream_error',
    status: 200,
    fault: null,
    firstByteAt: 1,
    upstreamMs: 1,
    responseBytes: 1,
    readOn: null,
    reading: NOTHING_READ,
    upstreamCallId: null,
    upstreamCost: null,
    retryAfter: null,
    isStream: false,
    contentEncoding: null,
    unsent: [],
    finish: () => undefined,
    ...more,
  },
});

/** `failed:server`, `served`, ... */
const said = (more: Partial<Outcome>): string => {
  const { upstream, failure } = classify(outcome(more), 0);
  return failure === null ? upstream : `${upstream}:${failure.kind}`;
};
const body = (value: unknown): readonly Buffer[] => [Buffer.from(JSON.stringify(value))];

t.test('a status is read from the status', async (t) => {
  const cases: readonly (readonly [status: number, want: string])[] = [
    [400, 'served'],
    [401, 'failed'],
    [402, 'served'],
    [403, 'served'],
    [404, 'served'],
    [408, 'failed:timeout'],
    [409, 'served:server'],
    [413, 'served'],
    [422, 'served'],
    [425, 'served:server'],
    [429, 'failed:rate_limit'],
    [499, 'served'],
    [500, 'failed:server'],
    [501, 'served'],
    [502, 'failed:server'],
    [503, 'failed:server'],
    [504, 'failed:timeout'],
    [505, 'served'],
    [529, 'failed:server'],
  ];
  const liar = body({ error: { message: 'Error 429: rate limit, timed out, 503', code: '503' } });
  for (const [status, want] of cases) t.equal(said({ status, unsent: liar }), want, String(status));
});

t.test(
  'of a refusal the reason is read: by its code, else by the sentences that gateways write',
  async (t) => {
    const context = [
      { code: 'context_length_exceeded', message: '' },
      { message: "This model's maximum context length is 8192 tokens." },
      { code: '400', message: 'litellm.ContextWindowExceededError: litellm.BadRequestError: ...' },
      { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
      { message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' },
      {
        code: 400,
        message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      },
      { type: 'request_too_large', message: '' },
    ];
    for (const error of context)
      t.equal(said({ status: 400, unsent: body({ error }) }), 'served:context_window');
    const content = [
      { code: 'content_policy_violation' },
      { code: 'content_filter', message: 'The response was filtered' },
      { code: '400', message: 'litellm.ContentPolicyViolationError: ...' },
    ];
    for (const error of content)
      t.equal(said({ status: 400, unsent: body({ error }) }), 'served:content_policy');
    t.equal(said({ status: 413, unsent: body({ error: context[0] }) }), 'served:context_window');
    t.equal(
      said({ status: 404, unsent: body({ error: context[0] }) }),
      'served',
      'only where the status allows it',
    );
    t.equal(said({ status: 400, unsent: [Buffer.from('<html>')] }), 'served');
    t.equal(said({ status: 400, unsent: body([]) }), 'served');
    t.equal(said({ status: 400, unsent: [Buffer.alloc(70_000, ' ')] }), 'served', 'too large to be an error');
  },
);

t.test('an error event before any token stands for the status that came too early', async (t) => {
  const event = (error: object): Partial<Outcome> => ({
    unsent: [Buffer.from(`: ping\n\nevent: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`)],
  });
  t.equal(said(event({ type: 'overloaded_error', message: 'Overloaded' })), 'failed:server');
  t.equal(said(event({ type: 'rate_limit_error' })), 'failed:rate_limit');
  t.equal(said(event({ code: '429', message: '' })), 'failed:rate_limit');
  t.equal(said(event({ type: 'tokens', code: 'rate_limit_exceeded' })), 'failed:rate_limit');
  t.equal(said(event({ type: 'timeout_error' })), 'failed:timeout');
  t.equal(said(event({ code: 503 })), 'failed:server');
  t.equal(said(event({ code: 400, message: 'wrong' })), 'served');
  t.equal(said(event({ type: 'invalid_request_error', message: 'wrong' })), 'served');
  t.equal(
    said(event({ type: 'invalid_request_error', message: 'prompt is too long' })),
    'served:context_window',
  );
  t.equal(said(event({ type: 'authentication_error' })), 'failed');
  t.equal(said({ unsent: [] }), 'failed:server', 'an event that cannot be read');
});

t.test('what was sent to the client is never replaced, and still counts', async (t) => {
  t.equal(said({ status: 503, unsent: null }), 'failed');
  t.equal(said({ end: 'truncated', unsent: null, fault: new Fault('stream_broken', 'x') }), 'failed');
  t.equal(said({ end: 'timeout', unsent: null }), 'failed');
  t.equal(said({ end: 'truncated', unsent: body({}) }), 'failed:server', 'half a document was not sent');
  const silent = new Fault('idle_timeout', 'x');
  t.equal(said({ end: 'timeout', fault: silent, unsent: [] }), 'failed:timeout', 'nothing was sent yet');
  t.equal(said({ end: 'timeout', fault: new Fault('total_timeout', 'x'), unsent: [] }), 'failed');
  t.equal(said({ end: 'complete', unsent: null }), 'served');
  t.equal(said({ end: 'client_gone', status: null }), 'unknown');
});

t.test('faults: what never reached the upstream, what it did not answer, what it broke off', async (t) => {
  const of = (code: FaultCode): string => {
    const { upstream, failure } = classify({ fault: new Fault(code, 'x') }, 0);
    return failure === null ? upstream : `${upstream}:${failure.kind}`;
  };
  for (const code of ['upstream_unreachable', 'connect_timeout'] as const)
    t.equal(of(code), 'failed:unreached');
  for (const code of ['first_byte_timeout', 'first_token_timeout', 'idle_timeout'] as const)
    t.equal(of(code), 'failed:timeout');
  t.equal(
    of('client_timeout'),
    'unknown:timeout',
    'the client had no more patience: no word about the upstream',
  );
  t.equal(
    of('overloaded'),
    'unknown:unreached',
    'no descriptor here: an attempt beside it may have a connection',
  );
  for (const code of ['upstream_broken', 'stream_broken', 'stream_truncated'] as const)
    t.equal(of(code), 'failed:server');
  t.equal(of('total_timeout'), 'failed');
  for (const code of ['client_gone', 'internal_error', 'journal_unwritable'] as const)
    t.equal(of(code), 'unknown');
});

t.test('Retry-After comes along', async (t) => {
  t.match(classify(outcome({ status: 429, retryAfter: '7' }), 0).failure, {
    kind: 'rate_limit',
    retryAfterMs: 7_000,
  });
  const date = 'Thu, 01 Jan 1970 00:00:05 GMT';
  t.match(classify(outcome({ status: 503, retryAfter: date }), 1_000).failure, {
    kind: 'server',
    retryAfterMs: 4_000,
  });
});
