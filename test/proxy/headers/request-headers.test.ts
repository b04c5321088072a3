import fc from 'fast-check';
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { HeaderRules } from '../../../proxy/headers/header-rules.ts';
import {
  carriesCredential,
  readHeaders,
  type RequestHeaders,
} from '../../../proxy/headers/request-headers.ts';
import { runs } from '../../support/runs.ts';

const RULES = new HeaderRules(
  dialectOf(DEFAULT_WORDS),
  { forwardAll: true, forwardPrefixes: ['x-', 'anthropic-', 'openai-beta'], deny: [], allow: [] },
  { tagHeaders: ['x-team', 'x-project'], userHeader: 'x-user-id' },
);
const read = (...raw: string[]): RequestHeaders => readHeaders(RULES, raw);
t.test('nothing sent, nothing found', async (t) => {
  t.same(read(), {
    raw: [],
    rules: [],
    nominated: null,
    hostCount: 0,
    host: null,
    contentType: null,
    contentLength: null,
    contentEncoding: null,
    transferEncoding: null,
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
    streamTimeout: null,
    endUser: null,
    traceparent: null,
    tracestate: null,
  });
});

t.test('a session header without a vendor counts where none names a vendor', async (t) => {
  t.match(read('X-Session-Id', 'bare').vendorSession, { name: 'x-session-id', value: 'bare' });
  for (const raw of [
    ['x-session-id', 'bare', 'x-acme-session-id', 'v'],
    ['x-acme-session-id', 'v', 'x-session-id', 'bare'],
  ])
    t.match(read(...raw).vendorSession, { name: 'x-acme-session-id', value: 'v' });
});

t.test("Codex's session-id counts where there is no other name of a session", async (t) => {
  t.match(read('Session-Id', 'codex').vendorSession, { name: 'session-id', value: 'codex' });
  t.match(read('session-id', 'first', 'session-id', 'last').vendorSession, { value: 'last' });
  for (const other of ['x-session-id', 'x-acme-session-id'])
    for (const raw of [
      ['session-id', 'codex', other, 'v'],
      [other, 'v', 'session-id', 'codex'],
    ])
      t.match(read(...raw).vendorSession, { name: other, value: 'v' });
});

t.test("Pi's session_id counts as the last of them", async (t) => {
  t.match(read('session_id', 'pi').vendorSession, { name: 'session_id', value: 'pi' });
  for (const other of ['session-id', 'x-session-id', 'x-acme-session-id'])
    for (const raw of [
      ['session_id', 'pi', other, 'v'],
      [other, 'v', 'session_id', 'pi'],
    ])
      t.match(read(...raw).vendorSession, { name: other, value: 'v' });
  t.equal(read('x_session_id', 'v').vendorSession, null, 'no other name is read with underscores');
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
    host: 'a',
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
      read('authorization', 'Bearer k1', 'Authorization', 'Bearer k2').credential,
      'k1',
      'of two in one place the first',
    );
    t.equal(
      read('x-litellm-api-key', '', 'authorization', 'Bearer k1').credential,
      'k1',
      'an empty one is none',
    );
  },
);

t.test('names that Connection lists are hop-by-hop for this request', async (t) => {
  t.same(
    read('Connection', 'keep-alive, X-B', 'connection', 'x-c').nominated,
    new Set(['keep-alive', 'x-b', 'x-c']),
  );
  t.equal(read('X-A', '1', 'Connection', 'Keep-Alive').nominated, null);
  t.equal(read('Connection', 'close').nominated, null);
});

t.test('codings of two lines are one list: no body is taken for one that is inflated already', async (t) => {
  t.equal(read('Content-Encoding', 'gzip', 'content-encoding', 'identity').contentEncoding, 'gzip,identity');
});

t.test('each header is read into its place, of several the last', async (t) => {
  const rules = new HeaderRules(
    dialectOf(DEFAULT_WORDS),
    { forwardAll: true, forwardPrefixes: ['x-'], deny: [], allow: [] },
    { isTraced: true },
  );
  const names = {
    contentType: 'Content-Type',
    contentLength: 'Content-Length',
    userAgent: 'User-Agent',
    session: 'X-LiteLLM-Session-Id',
    trace: 'X-LiteLLM-Trace-Id',
    spendMetadata: 'X-LiteLLM-Spend-Logs-Metadata',
    callId: 'X-LiteLLM-Call-Id',
    timeout: 'X-LiteLLM-Timeout',
    endUser: 'X-LiteLLM-Customer-Id',
  };
  const joined = { traceparent: 'Traceparent', tracestate: 'Tracestate', tags: 'X-LiteLLM-Tags' };
  const nothing = readHeaders(rules, []);
  const pairs = Object.entries({
    ...names,
    ...joined,
    connection: 'Connection',
    host: 'Host',
    key: 'Api-Key',
  });
  for (const order of [pairs, pairs.toReversed()]) {
    const found = readHeaders(
      rules,
      order.flatMap(([member, name]) => [name, `the ${member}`]),
    );
    for (const member of Object.keys({ ...names, ...joined }))
      t.equal(
        Object.entries(found).find(([one]) => one === member)?.[1],
        `the ${member}`,
        'beside all others',
      );
  }
  for (const [member, name] of Object.entries(names)) {
    const found = readHeaders(rules, [name, 'one', name.toLowerCase(), 'two']);
    t.same({ ...found, raw: [], rules: [] }, { ...nothing, [member]: 'two' }, name);
  }
  for (const [member, name] of Object.entries(joined)) {
    const found = readHeaders(rules, [name, 'one', name.toLowerCase(), 'two']);
    t.same({ ...found, raw: [], rules: [] }, { ...nothing, [member]: 'one,two' }, name);
  }
});

t.test('a value holds a key that is long enough to be one', async (t) => {
  t.ok(carriesCredential('say sk-12345', ['', 'sk-12345']));
  t.ok(carriesCredential('12345678', ['12345678']));
  t.notOk(carriesCredential('1234567', ['1234567']), 'shorter than 8 characters');
  t.notOk(carriesCredential('sk-1234', ['sk-12345']));
  t.notOk(carriesCredential('anything', []));
});

t.test('whatever comes, each header has its rule, in order, and nothing is invented', async (t) => {
  const name = fc.oneof(
    fc.constantFrom('x-a', 'X-Request-Id', 'cookie', 'Authorization', 'x-api-key', 'te', 'Connection'),
    fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.stringMatching(/^[ -~]{0,20}$/)), { maxLength: 30 }), (pairs) => {
      const headers = readHeaders(RULES, pairs.flat());
      return (
        headers.rules.length === pairs.length &&
        pairs.every(([one], n) => headers.rules[n]?.name === one.toLowerCase())
      );
    }),
    { numRuns: runs(250) },
  );
  t.pass('all header lists');
});
