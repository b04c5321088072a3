import fc from 'fast-check';
import t from 'tap';
import { HOP_BY_HOP } from '../../../config/header-names.ts';
import { readResponseHead } from '../../../proxy/headers/response-headers.ts';
import { runs } from '../../support/runs.ts';

const OURS = 'x-litellm-';
const read = (...raw: string[]): ReturnType<typeof readResponseHead> =>
  readResponseHead(
    raw,
    { cost: ['x-litellm-response-cost'], callId: ['x-litellm-call-id', 'x-request-id'] },
    OURS,
  );

t.test('codings of two lines are one list', async (t) => {
  t.equal(read('Content-Encoding', 'gzip', 'content-encoding', 'br').contentEncoding, 'gzip,br');
});

t.test("the upstream's headers pass in their order, names in lower case, values as they are", async (t) => {
  const { pass } = read(
    ...['Content-Type', 'text/plain; charset=UTF-8', 'X-Ratelimit-Remaining', '5', 'X-Note', 'a=1'],
    ...['x-note', 'b=2', 'Retry-After', '7', 'X-Odd', 'h\xe9'],
  );
  t.same(pass, [
    ...['content-type', 'text/plain; charset=UTF-8', 'x-ratelimit-remaining', '5', 'x-note', 'a=1'],
    ...['x-note', 'b=2', 'retry-after', '7', 'x-odd', 'h\xe9'],
  ]);
});

t.test('what the relay needs is read beside', async (t) => {
  t.match(
    read(
      ...['content-type', 'application/json', 'Content-Length', '12', 'content-encoding', 'gzip'],
      ...['x-litellm-response-cost', '0.5', 'x-request-id', 'r', 'x-litellm-call-id', 'c'],
    ),
    {
      contentType: 'application/json',
      contentLength: '12',
      contentEncoding: 'gzip',
      cost: '0.5',
      callId: 'c',
    },
  );
  t.equal(read('x-request-id', 'r').callId, 'r');
  t.equal(read('x-litellm-call-id', 'c', 'x-request-id', 'r').callId, 'c', 'the best of them, in any order');
  t.match(read('x-a', '1'), { callId: null, cost: null });
  t.match(read(), {
    pass: [],
    contentType: '',
    contentLength: null,
    contentEncoding: null,
    cost: null,
    callId: null,
  });
});

t.test('what the gateway says of itself is handed on as llm_provider-<name>', async (t) => {
  t.same(
    read('X-LiteLLM-Call-Id', 'theirs', 'x-litellm-key-spend', '3', 'x-a', '1', 'Idempotent-Replayed', 'true')
      .pass,
    [
      ...['x-a', '1', 'llm_provider-x-litellm-call-id', 'theirs', 'llm_provider-x-litellm-key-spend', '3'],
      ...['llm_provider-idempotent-replayed', 'true'],
    ],
  );
});

t.test(
  'such a header comes once: the last, an underscore twin is the same, and the nearest gateway wins',
  async (t) => {
    const name = 'llm_provider-x-litellm-key-spend';
    const of = (...raw: string[]): readonly string[] => read(...raw).pass;
    t.same(of('x-litellm-key-spend', '1', 'X-LiteLLM-Key-Spend', '2'), [name, '2']);
    t.same(of('x-litellm-key-spend', '1', 'X_LiteLLM_Key-Spend', '2'), [name, '2']);
    t.same(of(name, 'far', 'x-litellm-key-spend', 'near'), [name, 'near']);
    t.same(of('x-litellm-key-spend', 'near', name, 'far'), [name, 'near']);
    t.same(of(name, 'far', 'llm_provider-x-ratelimit', '5'), [name, 'far', 'llm_provider-x-ratelimit', '5']);
  },
);

t.test("a provider's retry-after behind LiteLLM stands in for one of the gateway's own", async (t) => {
  const name = 'llm_provider-retry-after';
  t.match(read('X-A', '1', 'LLM_Provider-Retry-After', '7'), {
    retryAfter: '7',
    pass: ['x-a', '1', name, '7', 'retry-after', '7'],
  });
  for (const raw of [
    [name, '7', 'Retry-After', '3'],
    ['retry-after', '3', name, '7'],
  ]) {
    const { pass, retryAfter } = read(...raw);
    t.equal(retryAfter, '3');
    t.equal(pass.filter((one) => one === 'retry-after').length, 1);
  }
  t.match(read(name, '7', 'connection', name), { retryAfter: null, pass: [] });
  t.match(read('llm_provider-retry-after-x', '7'), { retryAfter: null });
});

t.test('names that Connection lists stay behind; the length is counted anew', async (t) => {
  t.same(
    read('X-A', '1', 'Connection', 'close, X-A', 'X-B', '2', 'Content-Length', '5', 'Alt-Svc', 'h2').pass,
    [...['x-b', '2']],
  );
  t.same(read('X-A', '1', 'Connection', 'Keep-Alive').pass, ['x-a', '1']);
  t.equal(read('Content-Length', '5', 'Connection', 'close').contentLength, '5');
  t.equal(read('Connection', 'close').contentLength, null);
});

t.test('which origins may read an answer is not for the upstream to say', async (t) => {
  t.same(
    read('Access-Control-Allow-Origin', '*', 'access-control-expose-headers', '*', 'vary', 'origin').pass,
    [...['vary', 'origin']],
  );
});

t.test('no hop-by-hop name passes, in any case and any company', async (t) => {
  const name = fc.oneof(
    fc.constantFrom(...HOP_BY_HOP).chain((one) => fc.mixedCase(fc.constant(one))),
    fc.stringMatching(/^[A-Za-z-]{1,12}$/),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.stringMatching(/^[!-~]{0,12}$/)), { maxLength: 20 }), (pairs) => {
      const { pass } = read(...pairs.flat());
      const names = pass.filter((_, i) => i % 2 === 0);
      return pass.length % 2 === 0 && !names.some((one) => HOP_BY_HOP.has(one) || one === 'content-length');
    }),
    { numRuns: runs(250) },
  );
  t.pass('all header lists');
});
