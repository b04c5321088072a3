import fc from 'fast-check';
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import {
  mergedTags,
  resolveIdentity,
  type Identity,
  type IdentityMembers,
  type IdentitySources,
} from '../../../proxy/pipeline/identity.ts';
import { HeaderRules } from '../../../proxy/headers/header-rules.ts';
import { readHeaders, type RequestHeaders } from '../../../proxy/headers/request-headers.ts';
import type { CallerIdentity } from '../../../proxy/access/callers.ts';
import { Secret } from '../../../config/secret.ts';
import { runs } from '../../support/runs.ts';

const RULES = new HeaderRules(
  dialectOf(DEFAULT_WORDS),
  { forwardAll: true, forwardPrefixes: ['x-'], deny: [], allow: [] },
  { tagHeaders: ['x-team'] },
);
const NOTHING: IdentityMembers = {
  user: undefined,
  safetyIdentifier: undefined,
  brandSession: undefined,
  brandTrace: undefined,
  metadata: undefined,
  brandMetadata: undefined,
  tags: undefined,
};
const headers = (...raw: string[]): RequestHeaders => readHeaders(RULES, raw);
const sources = (from: RequestHeaders, key: CallerIdentity | null = null): IdentitySources => ({
  headers: from,
  key,
  rules: RULES,
  dialect: dialectOf(DEFAULT_WORDS),
  callId: 'call-1',
});
const of = (members: Partial<IdentityMembers>, ...raw: string[]): Identity =>
  resolveIdentity(sources(headers(...raw)), { ...NOTHING, ...members });

t.test('the session id is taken from the first of its places that has one', async (t) => {
  const places: readonly (readonly [
    source: string,
    members: Partial<IdentityMembers>,
    raw: readonly string[],
  ])[] = [
    ['x-litellm-session-id', {}, ['X-LiteLLM-Session-Id', 'from-1']],
    ['body.litellm_session_id', { brandSession: 'from-2' }, []],
    ['body.metadata.session_id', { metadata: { session_id: 'from-3' } }, []],
    ['x-litellm-trace-id', {}, ['x-litellm-trace-id', 'from-4']],
    ['body.litellm_trace_id', { brandTrace: 'from-5' }, []],
    ['x-acme-session-id', {}, ['X-Acme-Session-Id', 'from-6']],
  ];
  for (let n = 0; n < places.length; n++) {
    const rest = places.slice(n);
    const members = Object.assign({}, ...rest.map(([, some]) => some)) as Partial<IdentityMembers>;
    const found = of(members, ...rest.flatMap(([, , raw]) => raw));
    t.match(found, { sessionId: `from-${n + 1}`, sessionSource: places[n]?.[0], warnings: [] });
  }
  t.equal(of({ brandMetadata: { session_id: 'b' } }).sessionId, 'b');
  t.equal(of({ brandSession: 12 }).sessionId, '12');
});

t.test('a call without one gets a session of its own', async (t) => {
  t.match(of({}), { sessionSource: 'generated', sessionId: 'call-1' });
  t.match(resolveIdentity(sources(headers('x-litellm-session-id', 's'))), {
    sessionId: 's',
    endUser: null,
    tags: [],
  });
});

t.test('an id that fits no header is passed over with a warning, and the next place counts', async (t) => {
  for (const bad of ['line\nbreak', 'blank inside', 'ü', 'x'.repeat(257), { a: 1 }, true]) {
    const found = of({ brandSession: bad, metadata: { session_id: 'fine' } });
    t.equal(found.sessionId, 'fine');
    t.match(found.warnings, [/body\.litellm_session_id is not 1 to 256 printable ASCII characters/]);
  }
  t.same(of({ brandSession: '', metadata: { session_id: null } }).sessionSource, 'generated');
  t.same(of({ brandSession: '', metadata: { session_id: null } }).warnings, []);
  t.equal(of({ brandSession: '  padded  ' }).sessionId, 'padded');
});

t.test('whatever the members hold, the session id can stand in a header and nothing is thrown', async (t) => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.string(), (one, two, text) => {
      const found = of({
        brandSession: one,
        metadata: two,
        user: one,
        tags: two,
        brandTrace: text,
        brandMetadata: one,
      });
      return (
        /^[\x21-\x7e]{1,256}$/.test(found.sessionId) &&
        found.tags.every((tag) => tag !== '' && tag.length <= 256) &&
        (found.endUser === null || (found.endUser !== '' && found.endUser.length <= 256))
      );
    }),
    { numRuns: runs(250) },
  );
  t.pass('all bodies');
});

t.test('the end user is taken from the first of its places that has one', async (t) => {
  const places: readonly Partial<IdentityMembers>[] = [
    { user: 'user-1' },
    { brandMetadata: { user: 'user-2' } },
    { metadata: { trace_user_id: 'user-3' } },
    { metadata: { user_id: 'user-4' } },
    { safetyIdentifier: 'user-5' },
  ];
  places.forEach((_, n) => {
    t.equal(
      of(Object.assign({}, ...places.slice(n).toReversed()) as Partial<IdentityMembers>).endUser,
      `user-${n + 1}`,
    );
  });
  t.equal(of({ user: 'body' }, 'x-litellm-customer-id', 'header').endUser, 'header');
  t.equal(of({ user: 42 }).endUser, '42');
  t.equal(of({ user: '  ', safetyIdentifier: { a: 1 } }).endUser, null);
  t.equal(of({ user: 'x'.repeat(300) }).endUser?.length, 256);
});

t.test('tags of body and headers are merged, trimmed and kept once', async (t) => {
  const found = of(
    { metadata: { tags: ['a', ' b ', 7, '', null, { c: 1 }] }, brandMetadata: { tags: 'b,d' }, tags: ['e'] },
    ...['x-litellm-tags', 'a, f,,', 'X-Team', 'blue'],
  );
  t.same(found.tags, ['a', 'b', '7', 'd', 'e', 'f', 'x-team: blue']);
  const many = of({ tags: Array.from({ length: 130 }, (_, n) => `tag-${n}`) });
  t.equal(many.tags.length, 100);
  t.match(many.warnings, ['30 tags over the limit of 100 were left out']);
});

t.test(
  'spend metadata is an object as text in a header, else in the metadata; anything else is a warning',
  async (t) => {
    const name = 'x-litellm-spend-logs-metadata';
    t.strictSame(of({}, name, '{"team":{"n":[1,"ü"]}}').spendLogsMetadata, { team: { n: [1, 'ü'] } });
    t.strictSame(of({ metadata: { spend_logs_metadata: { a: 1 } } }).spendLogsMetadata, { a: 1 });
    t.strictSame(of({ metadata: { spend_logs_metadata: { a: 1 } } }, name, '{"b":2}').spendLogsMetadata, {
      b: 2,
    });
    for (const bad of ['{broken', '[1]', '"text"', 'null', '3', '']) {
      const found = of({}, name, bad);
      t.equal(found.spendLogsMetadata, null, bad);
      t.same(
        found.warnings,
        ['the header x-litellm-spend-logs-metadata is not a JSON object; it was not stored'],
        bad,
      );
    }
  },
);

t.test('metadata as text, as forms carry it, is read; what is no object is a warning', async (t) => {
  t.equal(of({ metadata: '{"session_id":"s"}' }).sessionId, 's');
  for (const bad of ['text', '[1]', 3, ['a']]) {
    t.same(of({ metadata: bad }).warnings, ['metadata is not an object; it was not read']);
  }
  t.same(of({ metadata: null, brandMetadata: 'x' }).warnings, [
    'litellm_metadata is not an object; it was not read',
  ]);
});

t.test(
  'the key of the caller is no session, no end user and no tag: it would be stored and sent on',
  async (t) => {
    const key = 'sk-caller-key';
    const found = of(
      { user: key, tags: ['a', `b:${key}`], metadata: { session_id: 'next', tags: key } },
      ...['Authorization', `Bearer ${key}`, 'X-LiteLLM-Session-Id', key, 'X-Team', key],
    );
    t.match(found, { sessionId: 'next', endUser: null, tags: ['a'] });
    t.same(found.warnings, [
      'the session id of x-litellm-session-id holds the key of the caller; it was passed over',
      'the end user holds the key of the caller; it was left out',
      '3 tags hold the key of the caller; they were left out',
    ]);
  },
);

t.test('what the key stands for comes before the words of the request', async (t) => {
  const key: CallerIdentity = { sessionId: 'of-key', endUser: 'key-user', tags: ['k', 'a'], headers: [] };
  const raw = headers('x-litellm-session-id', 'of-header', 'x-litellm-tags', 'a,b');
  const found = resolveIdentity(sources(raw, key), { ...NOTHING, metadata: { session_id: 'of-body' } });
  t.match(found, { sessionId: 'of-key', sessionSource: 'key', endUser: 'key-user', keyHeaders: key.headers });
  t.same(found.tags, ['k', 'a', 'b']);
  const named = resolveIdentity(sources(raw, key), { ...NOTHING, user: 'ann' });
  t.equal(named.endUser, 'ann', 'an end user that the request names is the end user');
  t.match(resolveIdentity(sources(raw, { ...key, endUser: null })), { endUser: null, sessionId: 'of-key' });
});

t.test('headers of the key state identity as those of a client do, and before them', async (t) => {
  const keyOf = (...pairs: readonly (readonly [string, string])[]): CallerIdentity => ({
    sessionId: 'of-key',
    endUser: 'owner',
    tags: ['k'],
    headers: pairs.map(([name, value]) => [name, new Secret(value)]),
  });
  const client = headers(
    ...['x-litellm-tags', 'b,c', 'x-litellm-customer-id', 'ann', 'x-team', 'red'],
    ...['x-litellm-spend-logs-metadata', '{"a":1}', 'authorization', 'Bearer sk-caller-key'],
  );
  const all = keyOf(
    ['x-litellm-tags', 'p,b'],
    ['x-litellm-end-user-id', 'bob'],
    ['x-team', 'blue'],
    ['x-litellm-spend-logs-metadata', '{"p":{"q":1}}'],
    ['x-litellm-session-id', 'of-profile'],
  );
  const found = resolveIdentity(sources(client, all), { ...NOTHING, user: 'cid', tags: ['body'] });
  t.match(found, { sessionId: 'of-key', endUser: 'bob', spendLogsMetadata: { p: { q: 1 } }, warnings: [] });
  t.strictSame(
    found.tags,
    ['k', 'p', 'b', 'body', 'c', 'x-team: blue'],
    "its x-team in place of the client's",
  );
  const blank = keyOf(
    ['x-litellm-tags', ' ,'],
    ['x-litellm-end-user-id', '  '],
    ['x-litellm-spend-logs-metadata', '[1]'],
  );
  const kept = resolveIdentity(sources(client, blank));
  t.match(kept, { endUser: 'ann', spendLogsMetadata: { a: 1 } }, 'what says nothing takes no place');
  t.same(kept.warnings, [
    'the header x-litellm-spend-logs-metadata of the profile is not a JSON object; it was not stored',
  ]);
  const leaking = keyOf(['x-litellm-tags', 'sk-caller-key'], ['x-litellm-end-user-id', 'sk-caller-key']);
  t.match(resolveIdentity(sources(client, leaking)), {
    endUser: 'owner',
    tags: ['k', 'b', 'c', 'x-team: red'],
  });
  const many = keyOf(['x-litellm-tags', Array.from({ length: 200 }, (_, n) => `t${n}`).join(',')]);
  t.equal(resolveIdentity(sources(client, many)).tags.length, 100);
});

t.test("Claude Code's user id holds the session; a header states it before", async (t) => {
  const session = '7d1f2c3b-1111-4222-8333-944455566677';
  const user_id = JSON.stringify({ device_id: 'ab'.repeat(32), account_uuid: '', session_id: session });
  const body = { ...NOTHING, metadata: { user_id } };
  const alone = resolveIdentity(sources(headers()), body);
  t.same(
    [alone.sessionId, alone.sessionSource, alone.endUser, alone.warnings],
    [session, 'body.metadata.user_id', `user_${'ab'.repeat(32)}`, []],
  );
  const other = resolveIdentity(sources(headers('x-litellm-session-id', 'of-a-header')), body);
  t.same([other.sessionId, other.sessionSource], ['of-a-header', 'x-litellm-session-id']);
  const agents = resolveIdentity(sources(headers('x-claude-code-session-id', 'own-session')), body);
  t.equal(agents.sessionId, 'own-session');
  const stated = resolveIdentity(sources(headers('x-litellm-customer-id', 'ann')), body);
  t.equal(stated.endUser, 'ann');
});

t.test('what a call is tagged with by others is never left out for its own tags', async (t) => {
  const many = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${name}${n}`);
  t.same(mergedTags(['a', 'b'], ['b', 'c']), ['a', 'b', 'c']);
  t.same(mergedTags(many('team', 99), many('call', 100)), [...many('team', 99), 'call0']);
  t.same(mergedTags(many('team', 120), ['call', 'team5']), many('team', 120));
});
