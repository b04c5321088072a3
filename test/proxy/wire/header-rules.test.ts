import fc from 'fast-check';
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { HOP_BY_HOP, HeaderRules } from '../../../proxy/wire/header-rules.ts';

const PREFIXES = ['x-', 'anthropic-', 'openai-beta'];
const rulesOf = (
  deny: readonly string[] = [],
  tagHeaders: readonly string[] = [],
  user: string | null = null,
) =>
  new HeaderRules(
    dialectOf(DEFAULT_WORDS),
    { forwardAll: true, forwardPrefixes: PREFIXES, deny },
    tagHeaders,
    user,
  );

/** What an upstream never gets from a client, in any setting. */
const NEVER = [
  'authorization',
  'api-key',
  'x-api-key',
  'x-goog-api-key',
  'x-litellm-api-key',
  'ocp-apim-subscription-key',
  'cookie',
  'set-cookie',
  'x-session-api-key',
  'x-mcp-auth',
  'host',
  'content-length',
  'expect',
  'accept-encoding',
  'x-litellm-session-id',
  'x-stainless-lang',
  'x-stainless',
  'x-stainlessly',
  ...HOP_BY_HOP,
];

/** A name in any case, each dash maybe an underscore. */
const disguised = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: name.length, maxLength: name.length })
    .map((dice) =>
      [...name]
        .map((char, i) => {
          const [upper = false, under = false] = dice[i] ?? [];
          if (char === '-') return under ? '_' : '-';
          return upper ? char.toUpperCase() : char;
        })
        .join(''),
    );

t.test('no credential, hop-by-hop or reserved name is forwarded, whatever its case and dashes', async (t) => {
  // Every prefix is forwarded here: the bars must hold against the widest configuration.
  const rules = new HeaderRules(dialectOf(DEFAULT_WORDS), {
    forwardAll: true,
    forwardPrefixes: [''],
    deny: [],
  });
  fc.assert(
    fc.property(fc.constantFrom(...NEVER).chain(disguised), (name) => {
      const { forward, rule } = rules.classOf(name);
      return !forward && rule !== '';
    }),
    { numRuns: 2_000 },
  );
  t.pass('2,000 names');
});

t.test('any other name is forwarded exactly when it begins with a forwarded prefix', async (t) => {
  const rules = rulesOf();
  const plain = fc.stringMatching(/^[a-z][a-z0-9]{0,12}$/);
  fc.assert(
    fc.property(
      fc.constantFrom('x-', 'anthropic-', 'openai-beta', 'openai-', 'other-', ''),
      plain,
      (prefix, rest) => {
        const name = `${prefix}${rest}`;
        fc.pre(!NEVER.includes(name) && !name.startsWith('x-stainless'));
        return rules.classOf(name.toUpperCase()).forward === PREFIXES.some((one) => name.startsWith(one));
      },
    ),
  );
  t.match(rules.classOf('X-Request-Id'), { name: 'x-request-id', forward: true, rule: 'prefix x-' });
  t.match(rules.classOf('openai-organization'), { forward: false, rule: 'matches no forwarded prefix' });
  t.match(rules.classOf('traceparent'), { forward: false });
});

t.test('the rule says why a name is kept back', async (t) => {
  const rules = rulesOf(['x-internal-*', 'x-team']);
  const why = (name: string): string => rules.classOf(name).rule;
  t.equal(why('Te'), 'hop-by-hop');
  t.equal(why('Host'), 'belongs to this hop');
  t.equal(why('X-Api-Key'), 'a credential of the caller');
  t.equal(why('X_Api_Key'), 'a credential of the caller');
  t.equal(why('x-litellm-session-id'), 'reserved: stamped by the proxy');
  t.equal(why('x_litellm_session-id'), 'underscore twin of the reserved x-litellm-session-id');
  t.equal(why('x-litellm_tags'), 'underscore twin of x-litellm-tags');
  t.equal(why('X-Stainless-OS'), 'SDK telemetry (x-stainless*)');
  t.equal(why('X-Internal-Name'), 'general_settings.deny_headers: x-internal-*');
  t.equal(why('X_Team'), 'general_settings.deny_headers: x-team');
  t.ok(rules.classOf('x-teams').forward);
});

t.test('names that the proxy acts on have their role, in any case', async (t) => {
  const rules = rulesOf([], ['X-Team'], 'x-user-id');
  const roles: Readonly<Record<string, string>> = {
    'X-LiteLLM-Session-Id': 'session',
    'x-litellm-trace-id': 'trace',
    'x-litellm-tags': 'tags',
    'x-litellm-spend-logs-metadata': 'spend-metadata',
    'x-litellm-call-id': 'call-id',
    'x-litellm-timeout': 'timeout',
    'x-litellm-customer-id': 'end-user',
    'x-litellm-end-user-id': 'end-user',
    'X-User-Id': 'end-user',
    'x-team': 'tag-header',
    'X-OpenHands-Session-ID': 'vendor-session',
    'x--session-id': 'none',
    'Content-Type': 'content-type',
    'X-Goog-Api-Key': 'credential',
    'x-litellm-other': 'none',
  };
  for (const [name, role] of Object.entries(roles)) t.equal(rules.classOf(name).role, role, name);
});

t.test('keys are looked for in the order of the dialect', async (t) => {
  const rules = rulesOf();
  const inOrder = [
    'x-litellm-api-key',
    'authorization',
    'api-key',
    'x-api-key',
    'x-goog-api-key',
    'ocp-apim-subscription-key',
  ];
  t.same(
    inOrder.map((name) => rules.classOf(name).credentialRank),
    [0, 1, 2, 3, 4, 5],
  );
  t.equal(rules.classOf('x_api_key').credentialRank, -1, 'an underscore twin opens no door');
});

t.test('another brand renames every reserved word at once', async (t) => {
  const rules = new HeaderRules(dialectOf({ brand: 'acme', compat: 'openai', sdk: 'speakeasy' }), {
    forwardAll: true,
    forwardPrefixes: PREFIXES,
    deny: [],
  });
  t.equal(rules.classOf('x-acme-session-id').role, 'session');
  t.equal(rules.classOf('x-litellm-session-id').role, 'vendor-session');
  t.equal(rules.classOf('x-acme-api-key').credentialRank, 0);
  t.notOk(rules.classOf('x-speakeasy-lang').forward);
  t.ok(rules.classOf('x-stainless-lang').forward);
});

t.test('a flood of names changes no answer and is not kept for ever', async (t) => {
  const rules = rulesOf();
  for (let n = 0; n < 5_000; n++) rules.classOf(`x-flood-${n}`);
  t.not(rules.classOf('x-late'), rules.classOf('x-late'), 'made anew: the cache is full');
  t.match(rules.classOf('x-late'), { forward: true });
  t.equal(rules.classOf('x-flood-1'), rules.classOf('x-flood-1'), 'kept');
  t.notOk(rules.classOf('authorization').forward);
});
