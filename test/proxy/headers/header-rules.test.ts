import fc from 'fast-check';
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { HOP_BY_HOP } from '../../../config/header-names.ts';
import { HeaderRules } from '../../../proxy/headers/header-rules.ts';
import { runs } from '../../support/runs.ts';

const PREFIXES = ['x-', 'anthropic-', 'openai-beta'];
const rulesOf = (
  deny: readonly string[] = [],
  tagHeaders: readonly string[] = [],
  user: string | null = null,
) =>
  new HeaderRules(
    dialectOf(DEFAULT_WORDS),
    { forwardAll: true, forwardPrefixes: PREFIXES, deny, allow: [] },
    { tagHeaders, userHeader: user },
  );

const forwards = (rules: HeaderRules, name: string): boolean =>
  rules.ruleOf(name).verdict.action === 'forwarded';

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
  'content-encoding',
  'content-digest',
  'repr-digest',
  'digest',
  'content-md5',
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
    allow: [],
  });
  fc.assert(
    fc.property(fc.constantFrom(...NEVER).chain(disguised), (name) => {
      const { verdict, barred } = rules.ruleOf(name);
      return verdict.action === 'dropped' && barred && verdict.rule !== '';
    }),
    { numRuns: runs(500) },
  );
  t.pass('all names');
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
        fc.pre(!NEVER.includes(name) && name !== 'accept' && !name.startsWith('x-stainless'));
        return forwards(rules, name.toUpperCase()) === PREFIXES.some((one) => name.startsWith(one));
      },
    ),
  );
  t.match(rules.ruleOf('X-Request-Id'), {
    name: 'x-request-id',
    verdict: { action: 'forwarded', rule: 'prefix x-' },
  });
  t.match(rules.ruleOf('openai-organization'), {
    verdict: { action: 'dropped', rule: 'matches no forwarded prefix' },
    barred: false,
  });
  t.notOk(forwards(rules, 'traceparent'));
});

t.test('the rule says why a name is kept back', async (t) => {
  const rules = rulesOf(['x-internal-*', 'x-team']);
  const why = (name: string): string => rules.ruleOf(name).verdict.rule;
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
  t.ok(forwards(rules, 'x-teams'));
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
    'x-team': 'none',
    'X-OpenHands-Session-ID': 'vendor-session',
    'x--session-id': 'none',
    'Session-Id': 'vendor-session',
    session_id: 'vendor-session',
    x_session_id: 'none',
    'mcp-session-id': 'none',
    'Content-Type': 'content-type',
    'X-Goog-Api-Key': 'credential',
    'x-litellm-other': 'none',
  };
  for (const [name, role] of Object.entries(roles)) t.equal(rules.ruleOf(name).role, role, name);
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
    inOrder.map((name) => rules.ruleOf(name).credentialRank),
    [0, 1, 2, 3, 4, 5],
  );
  t.equal(rules.ruleOf('x_api_key').credentialRank, -1, 'an underscore twin opens no door');
});

t.test('another brand renames every reserved word at once', async (t) => {
  const rules = new HeaderRules(dialectOf({ brand: 'acme', compat: 'openai', sdk: 'speakeasy' }), {
    forwardAll: true,
    forwardPrefixes: PREFIXES,
    deny: [],
    allow: [],
  });
  t.equal(rules.ruleOf('x-acme-session-id').role, 'session');
  t.equal(rules.ruleOf('x-litellm-session-id').role, 'vendor-session');
  t.equal(rules.ruleOf('x-acme-api-key').credentialRank, 0);
  t.notOk(forwards(rules, 'x-speakeasy-lang'));
  t.ok(forwards(rules, 'x-stainless-lang'));
});

t.test('a flood of names changes no answer, is not kept for ever and keeps no name out', async (t) => {
  const rules = rulesOf();
  const first = rules.ruleOf('x-flood-0');
  t.equal(rules.ruleOf('x-flood-0'), first, 'kept');
  for (let n = 0; n < 5_000; n++) rules.ruleOf(`x-flood-${n}`);
  t.not(rules.ruleOf('x-flood-0'), first, 'given up');
  t.equal(rules.ruleOf('x-late'), rules.ruleOf('x-late'), 'kept: the flood does not hold its place');
  t.match(rules.ruleOf('x-late'), { verdict: { action: 'forwarded' } });
  t.notOk(forwards(rules, 'authorization'));
});

t.test('a long name is judged like any other and not kept', async (t) => {
  const rules = rulesOf();
  const long = `x-${'a'.repeat(60_000)}`;
  t.not(rules.ruleOf(long), rules.ruleOf(long));
  t.match(rules.ruleOf(long), { name: long, verdict: { action: 'forwarded' }, role: 'none' });
  t.equal(rules.ruleOf(`${long}-session-id`).role, 'none', 'no name of a vendor');
  t.equal(rules.ruleOf(`x-${'a'.repeat(100)}-session-id`).role, 'vendor-session');
});

/** What steers a gateway of each kind, and what only describes a call. */
const STEERING: Readonly<Record<string, readonly string[]>> = {
  LiteLLM: [
    ...['x-litellm-timeout', 'x-litellm-stream-timeout', 'x-litellm-num-retries', 'x-litellm-call-id'],
    ...['x-litellm-disable-callbacks', 'x-litellm-enable-message-redaction', 'x-litellm-model'],
    ...['x-litellm-agent-id', 'x-litellm-priority', 'x-litellm-keepalive-seconds', 'x-litellm-new-one'],
    ...[
      'litellm-disable-message-redaction',
      'litellm-changed-by',
      'litellm_user_api_key',
      'langfuse_session_id',
    ],
    ...['x-pass-authorization', 'x-mcp-servers', 'x-a2a-agent-key'],
  ],
  Portkey: [
    ...['x-portkey-custom-host', 'x-portkey-config', 'x-portkey-provider', 'x-portkey-virtual-key'],
    ...['x-portkey-api-key', 'x-portkey-forward-headers', 'x-portkey-aws-secret-access-key'],
    ...['x-portkey-azure-resource-name', 'x-portkey-cache-force-refresh', 'x-portkey-new-one'],
  ],
  Bifrost: [
    'x-bf-vk',
    'x-bf-api-key',
    'x-bf-eh-authorization',
    'x-bf-prom-x-bf-vk',
    'x-bf-cache-key',
    'x-bf-new',
  ],
  Cloudflare: ['cf-aig-authorization', 'cf-aig-skip-cache', 'cf-connecting-ip', 'cf-access-jwt-assertion'],
  Helicone: ['helicone-auth', 'helicone-target-url', 'helicone-fallbacks', 'helicone-model-override'],
  Kong: [
    'x-kong-debug',
    'x-consumer-id',
    'x-consumer-username',
    'x-credential-identifier',
    'x-anonymous-consumer',
  ],
  Envoy: ['x-envoy-upstream-rq-timeout-ms', 'x-envoy-original-path', 'x-ai-eg-model'],
  OpenRouter: ['x-openrouter-cache'],
  'a provider': [
    'x-goog-iap-jwt-assertion',
    'x-amzn-oidc-data',
    'x-ms-client-principal',
    'x-amz-security-token',
  ],
  'an inference server': ['x-data-parallel-rank', 'x-prefiller-host-port'],
  'any server': [
    ...['x-original-url', 'x-original-host', 'x-rewrite-url', 'x-http-method-override', 'x-http-method'],
    ...['x-method-override', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-user', 'forwarded', 'via'],
    ...['x-real-ip', 'x-client-ip', 'true-client-ip', 'remote-user', 'x-remote-user', 'x-user', 'proxy'],
    ...['x-authenticated-user', 'x-auth-request-email'],
  ],
};
const DESCRIBING = [
  ...['x-litellm-tags', 'x-litellm-spend-logs-metadata', 'x-litellm-end-user-id', 'x-litellm-trace-id'],
  ...['x-portkey-trace-id', 'x-portkey-metadata', 'x-portkey-span-id', 'x-bf-dim-team', 'x-bf-lh-note'],
  ...[
    'cf-aig-metadata',
    'helicone-property-team',
    'helicone-session-id',
    'x-openrouter-title',
    'x-amzn-trace-id',
  ],
  ...['x-ms-client-request-id', 'x-request-id', 'x-correlation-id', 'x-title', 'x-user-id', 'x-my-team'],
  ...['anthropic-beta', 'anthropic-version', 'openai-beta', 'x-claude-code-session-id', 'x-session-id'],
];
const withAllow = (...allow: string[]): HeaderRules =>
  new HeaderRules(dialectOf(DEFAULT_WORDS), { forwardAll: true, forwardPrefixes: [''], deny: [], allow });

t.test('no prefix forwards what steers a gateway, whatever its case and dashes', async (t) => {
  const rules = withAllow();
  for (const [kind, names] of Object.entries(STEERING))
    for (const name of names) {
      t.match(rules.ruleOf(name), { barred: true, verdict: { action: 'dropped' } }, name);
      t.match(rules.ruleOf(name).verdict.rule, `steers ${kind} (`, name);
    }
  for (const name of DESCRIBING) t.ok(forwards(rules, name), name);
  fc.assert(
    fc.property(fc.constantFrom(...Object.values(STEERING).flat()).chain(disguised), (name) => {
      const { verdict, barred } = rules.ruleOf(name);
      return verdict.action === 'dropped' && barred;
    }),
    { numRuns: runs(500) },
  );
});

t.test(
  'allow_headers lets exactly the name that it spells pass, and nothing that may never go',
  async (t) => {
    const rules = withAllow(
      'x-portkey-config',
      'x-forwarded-for',
      'authorization',
      'x-litellm-session-id',
      'te',
    );
    t.match(rules.ruleOf('X-Portkey-Config'), {
      barred: false,
      verdict: { action: 'forwarded', rule: 'general_settings.allow_headers' },
    });
    t.ok(forwards(rules, 'x-forwarded-for'));
    for (const name of [
      ...['x-portkey-config-slug', 'x_portkey_config', 'x-portkey-custom-host', 'x-forwarded-host'],
      ...['authorization', 'x-litellm-session-id', 'te'],
    ])
      t.notOk(forwards(rules, name), name);
    const named = new HeaderRules(dialectOf(DEFAULT_WORDS), {
      ...{ forwardAll: true, forwardPrefixes: [], deny: ['x-a*'], allow: ['openai-organization', 'x-ab'] },
    });
    t.ok(forwards(named, 'openai-organization'), 'though it matches no prefix');
    t.match(
      named.ruleOf('x-ab'),
      { verdict: { rule: 'general_settings.deny_headers: x-a*' } },
      'denied wins',
    );
  },
);

t.test(
  'who listens learns of each name that is held back, but of none that has its effect here',
  async (t) => {
    const told: string[] = [];
    const settings = { forwardAll: true, forwardPrefixes: ['x-'], deny: [], allow: [] };
    const rules = new HeaderRules(dialectOf(DEFAULT_WORDS), settings, {
      onHeldBack: ({ kind, pattern }) => told.push(`${kind} ${pattern}`),
    });
    for (const name of ['x-portkey-config', 'x-bf-vk', 'x-litellm-timeout', 'x-a']) rules.ruleOf(name);
    t.same(told, ['Portkey x-portkey-*', 'Bifrost x-bf-*']);
  },
);

t.test(
  'a header that the operator lists as a tag is one beside any other role, unless it is a key',
  async (t) => {
    const rules = rulesOf(
      [],
      ['X-Team', 'user-agent', 'x-litellm-end-user-id', 'x-api-key', 'x-under_score'],
    );
    t.match(rules.ruleOf('x-team'), { isTag: true, role: 'none' });
    t.match(rules.ruleOf('User-Agent'), { isTag: true, role: 'user-agent' });
    t.match(rules.ruleOf('x-litellm-end-user-id'), { isTag: true, role: 'end-user' });
    t.match(rules.ruleOf('x-api-key'), { isTag: false, role: 'credential' });
    t.match(rules.ruleOf('x-other'), { isTag: false });
    t.match(rules.ruleOf('x_team'), { isTag: false, verdict: { rule: 'underscore twin of x-team' } });
    t.match(rules.ruleOf('x-under_score'), { isTag: true, verdict: { action: 'forwarded' } });
  },
);

t.test('a denied name is denied in both spellings, however the operator wrote it', async (t) => {
  const rules = rulesOf(['x_team', 'x-internal_*']);
  for (const name of ['x-team', 'x_team', 'X-Internal-A', 'x_internal_a'])
    t.notOk(forwards(rules, name), name);
  t.equal(rules.ruleOf('x-team').verdict.rule, 'general_settings.deny_headers: x_team');
});

t.test(
  'what describes the body and the answer goes always; the type of a body cannot be denied',
  async (t) => {
    const rules = rulesOf(['content-*', 'accept']);
    t.match(rules.ruleOf('Content-Type'), { always: true, barred: false, verdict: { action: 'forwarded' } });
    t.match(rules.ruleOf('Accept'), { barred: true, verdict: { action: 'dropped' } });
    t.match(rulesOf().ruleOf('Accept'), { always: true, verdict: { action: 'forwarded' } });
    t.match(rulesOf().ruleOf('x-a'), { always: false });
  },
);

t.test('names with one value are known', async (t) => {
  const rules = rulesOf([], [], 'x-user');
  const once = [
    ...['content-type', 'content-length', 'content-location', 'content-range', 'date', 'expires', 'from'],
    ...['if-modified-since', 'if-range', 'if-unmodified-since', 'last-modified', 'location', 'max-forwards'],
    ...['origin', 'referer', 'retry-after', 'traceparent', 'user-agent', 'x-user', 'x-acme-session-id'],
    ...[
      'session-id',
      'trace-id',
      'timeout',
      'call-id',
      'spend-logs-metadata',
      'customer-id',
      'end-user-id',
    ].map((name) => `x-litellm-${name}`),
  ];
  for (const name of once) t.ok(rules.ruleOf(name).once, name);
  for (const name of ['x-forwarded-for', 'accept', 'x-litellm-tags', 'tracestate', 'x-a', ''])
    t.notOk(rules.ruleOf(name).once, name);
});

t.test('the trace of a client stays behind while calls are traced', async (t) => {
  t.equal(rulesOf().ruleOf('traceparent').role, 'none', 'unless told, nothing is traced');
  const settings = { forwardAll: true, forwardPrefixes: ['t', 'x-'], deny: [], allow: [] };
  for (const traced of [true, false]) {
    const rules = new HeaderRules(dialectOf(DEFAULT_WORDS), settings, { isTraced: traced });
    for (const name of ['traceparent', 'Tracestate']) {
      t.equal(forwards(rules, name), !traced);
      t.equal(rules.ruleOf(name).role, traced ? name.toLowerCase() : 'none');
    }
  }
});
