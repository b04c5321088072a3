import fc from 'fast-check';
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { HeaderRules } from '../../../proxy/wire/header-rules.ts';
import { readHeaders, type RequestHeaders } from '../../../proxy/wire/request-headers.ts';

const RULES = new HeaderRules(
  dialectOf(DEFAULT_WORDS),
  { forwardAll: true, forwardPrefixes: ['x-', 'anthropic-', 'openai-beta'], deny: [] },
  ['x-team', 'x-project'],
  'x-user-id',
);
const read = (...raw: string[]): RequestHeaders => readHeaders(RULES, raw);
const forwarded = (headers: RequestHeaders): string[] =>
  headers.forwardable.map((i) => headers.raw[i] as string);

t.test('nothing sent, nothing found', async (t) => {
  t.same(read(), {
    raw: [],
    hostCount: 0,
    contentType: null,
    contentLength: null,
    contentEncoding: null,
    transferEncoding: null,
    accept: null,
    userAgent: null,
    credential: null,
    credentials: [],
    session: null,
    trace: null,
    vendorSession: null,
    tags: null,
    headerTags: [],
    spendMetadata: null,
    callId: null,
    timeout: null,
    endUser: null,
    traceparent: null,
    tracestate: null,
    forwardable: [],
  });
});

t.test('of several session ids the last one wins; lists are joined; tag headers are named', async (t) => {
  const headers = read(
    ...['X-LiteLLM-Session-Id', 'first', 'x-litellm-session-id', 'last'],
    ...['x-litellm-tags', 'a,b', 'X-LiteLLM-Tags', 'c'],
    ...['X-Team', 'blue', 'X-Project', 'one'],
    ...['X-User-Id', 'ann', 'X-Acme-Session-Id', 'vendor'],
    ...['Host', 'a', 'host', 'b', 'Transfer-Encoding', '', 'transfer-encoding', 'chunked'],
  );
  t.match(headers, {
    session: 'last',
    tags: 'a,b,c',
    headerTags: ['x-team: blue', 'x-project: one'],
    endUser: 'ann',
    vendorSession: { name: 'x-acme-session-id', value: 'vendor' },
    hostCount: 2,
    transferEncoding: ',chunked',
  });
});

t.test(
  'the key is found in each of its places, the first of the order wins, and all are remembered',
  async (t) => {
    t.equal(read('Authorization', 'Bearer k1').credential, 'k1');
    t.equal(read('authorization', 'bearer k1').credential, 'k1');
    t.equal(read('Authorization', 'Basic k1').credential, 'k1', 'as the dialect has it');
    t.equal(read('Authorization', 'k1').credential, '', 'no scheme, no key');
    t.equal(read('Authorization', 'Digest k1').credential, '');
    for (const name of [
      'x-litellm-api-key',
      'api-key',
      'x-api-key',
      'x-goog-api-key',
      'Ocp-Apim-Subscription-Key',
    ]) {
      t.equal(read(name, 'k2').credential, 'k2', name);
      t.equal(read(name, 'Bearer k2').credential, 'k2', `${name} with a scheme`);
    }
    const many = read('x-api-key', 'k3', 'authorization', 'Bearer k1', 'X-LiteLLM-Api-Key', 'k0');
    t.equal(many.credential, 'k0');
    t.same(many.credentials, ['k3', 'k1', 'k0']);
    t.equal(
      read('x-litellm-api-key', '', 'authorization', 'Bearer k1').credential,
      'k1',
      'an empty one is none',
    );
  },
);

t.test('names that Connection lists are hop-by-hop for this request', async (t) => {
  const headers = read(
    ...['X-A', '1', 'X-B', '2', 'X-C', '3', 'anthropic-version', '4'],
    ...['Connection', 'keep-alive, X-B', 'connection', 'x-c'],
  );
  t.same(forwarded(headers), ['X-A', 'anthropic-version']);
  t.same(forwarded(read('X-A', '1', 'Connection', 'Keep-Alive')), ['X-A']);
});

t.test(
  'whatever comes, only forwardable names are forwarded, in their order, and nothing is invented',
  async (t) => {
    const name = fc.oneof(
      fc.constantFrom(
        'x-a',
        'X-Request-Id',
        'cookie',
        'Authorization',
        'x-api-key',
        'te',
        'Connection',
        'x_api_key',
      ),
      fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, fc.stringMatching(/^[ -~]{0,20}$/)), { maxLength: 30 }),
        (pairs) => {
          const raw = pairs.flat();
          const { forwardable } = readHeaders(RULES, raw);
          const listed = pairs
            .filter(([n]) => n.toLowerCase() === 'connection')
            .flatMap(([, value]) => value.split(','))
            .map((token) => token.trim().toLowerCase());
          const sorted = forwardable.every((at, i) => at % 2 === 0 && at > (forwardable[i - 1] ?? -1));
          return (
            sorted &&
            forwardable.every((at) => {
              const one = (raw[at] as string).toLowerCase();
              return RULES.classOf(one).forward && !listed.includes(one);
            })
          );
        },
      ),
      { numRuns: 1_000 },
    );
    t.pass('1,000 header lists');
  },
);
