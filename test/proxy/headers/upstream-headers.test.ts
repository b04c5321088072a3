import fc from 'fast-check';
import t from 'tap';
import type { Test } from 'tap';
import type { Deployment } from '../../../config/snapshot.ts';
import { HeaderRules } from '../../../proxy/headers/header-rules.ts';
import { readHeaders } from '../../../proxy/headers/request-headers.ts';
import { Secret } from '../../../config/secret.ts';
import {
  deploymentHeaders,
  upstreamHeaders,
  type CallHeaders,
  type HeaderDecision,
} from '../../../proxy/headers/upstream-headers.ts';
import { snapshotOf } from '../../support/services.ts';
import { runs } from '../../support/runs.ts';

const SESSION = { name: 'x-litellm-session-id', id: 'the-session' };
const CALL: CallHeaders = {
  forwards: true,
  keyHeaders: null,
  identity: { sessionId: SESSION.id, endUser: null, tags: [], metadata: null },
  trace: [],
  hasBody: false,
};

interface Case {
  readonly headers: string[];
  readonly decisions: HeaderDecision[];
}

interface Given {
  /** Further members of `litellm_params`. */
  readonly extra?: string;
  readonly general?: string;
  readonly client: readonly string[];
  readonly call?: Partial<CallHeaders>;
  /** Forwarding of the entry itself; default: as the call's. */
  readonly entryForwards?: boolean;
}

function caseOf(t: Test, { extra = '', general = '', client, call = {}, entryForwards }: Given): Case {
  const forwards = call.forwards ?? true;
  const snapshot = snapshotOf(
    t,
    `
model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/m, api_base: "http://127.0.0.1:1", ${extra} }
general_settings: { forward_client_headers_to_llm_api: ${entryForwards ?? forwards} ${general} }
`,
  );
  const deployment = snapshot.deployments[0] as Deployment;
  const rules = new HeaderRules(snapshot.dialect, snapshot.headers, snapshot);
  const decisions: HeaderDecision[] = [];
  const headers = upstreamHeaders(
    rules,
    readHeaders(rules, client),
    deploymentHeaders(deployment, 'throughline/test'),
    { ...CALL, ...call },
    (one) => decisions.push(one),
  );
  return { headers, decisions };
}

const decided = ({ decisions }: Case, name: string): string[] =>
  decisions.filter((one) => one.name === name).map(({ action, rule }) => `${action}: ${rule}`);
const valuesOf = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === name);

t.test('precedence is reserved, then the operator, then the client; nothing stands twice', async (t) => {
  const { headers } = caseOf(t, {
    extra:
      'api_key: up, extra_headers: { X-Team: operator, X-LiteLLM-Session-Id: forged, Authorization: Bearer other }',
    client: [
      ...['Host', 'h', 'X-Team', 'client', 'X-Other', 'client', 'x-litellm-session-id', 'mine'],
      ...['Content-Type', 'application/json', 'Accept', 'text/event-stream', 'User-Agent', 'curl'],
    ],
  });
  t.same(headers, [
    ...['authorization', 'Bearer up', 'x-team', 'operator', 'user-agent', 'throughline/test'],
    ...['x-other', 'client', 'content-type', 'application/json', 'accept', 'text/event-stream'],
    ...['x-litellm-session-id', 'the-session'],
  ]);
});

t.test(
  'headers of the key stand below the operator, above the client, and bring the stamp along',
  async (t) => {
    const brought = Object.entries({
      'x-team': 'key',
      'x-project': 'key',
      accept: 'key',
      'x-litellm-session-id': 'forged',
      authorization: 'forged',
      connection: 'x-team',
    }).map(([name, value]) => [name, new Secret(value)] as const);
    const client = [
      'Host',
      'h',
      'X-Team',
      'client',
      'X-Project',
      'client',
      'X-Other',
      'client',
      'Accept',
      'client',
    ];
    const extra = 'api_key: up, extra_headers: { X-Team: operator }';
    const fixed = ['authorization', 'Bearer up', 'x-team', 'operator', 'user-agent', 'throughline/test'];
    const own = [...fixed, 'x-project', 'key', 'accept', 'key'];
    const stamp = ['x-litellm-session-id', 'the-session'];
    const both = caseOf(t, { extra, client, call: { keyHeaders: brought } });
    t.same(both.headers, [...own, 'x-other', 'client', ...stamp]);
    t.same(decided(both, 'x-project'), ['set: a header of the key', 'replaced: the headers of the key win']);
    t.same(decided(both, 'connection'), ['dropped: hop-by-hop']);
    t.same(caseOf(t, { extra, client, call: { forwards: false, keyHeaders: brought } }).headers, [
      ...own,
      ...stamp,
    ]);
    t.same(
      caseOf(t, { extra, client, call: { forwards: false, keyHeaders: [] } }).headers,
      [...fixed, 'accept', 'client', ...stamp],
      'a key without headers is stamped too',
    );
  },
);

t.test('without forwarding nothing of the client goes on and nothing is stamped', async (t) => {
  const client = [
    'X-Other',
    'client',
    'x-litellm-session-id',
    'mine',
    'anthropic-beta',
    'b',
    'accept',
    'a/b',
  ];
  const { headers } = caseOf(t, { extra: 'api_key: up', client, call: { forwards: false } });
  t.same(headers, ['authorization', 'Bearer up', 'user-agent', 'throughline/test', 'accept', 'a/b']);
  const fixed = caseOf(t, {
    extra: 'extra_headers: { x-litellm-session-id: fixed }',
    client,
    call: { forwards: false },
  }).headers;
  t.same(
    valuesOf(fixed, 'x-litellm-session-id'),
    ['fixed'],
    "then an operator's id is the only one there is",
  );
});

t.test("an entry without a key sends the operator's authorization, never the caller's", async (t) => {
  const own = caseOf(t, {
    extra: 'extra_headers: { Authorization: Basic abc }',
    client: ['Authorization', 'Bearer sk-caller-key'],
  });
  t.same(valuesOf(own.headers, 'authorization'), ['Basic abc']);
  const none = caseOf(t, { client: ['Authorization', 'Bearer sk-caller-key'] });
  t.same(valuesOf(none.headers, 'authorization'), []);
});

t.test("an operator's content type and accept replace the client's", async (t) => {
  const { headers } = caseOf(t, {
    extra: 'extra_headers: { Accept: a/a }',
    client: ['accept', 'b/b', 'Content-Type', 'c/c'],
  });
  t.same([valuesOf(headers, 'accept'), valuesOf(headers, 'content-type')], [['a/a'], ['c/c']]);
});

t.test('a key that was copied into another header does not slip through', async (t) => {
  const { headers, decisions } = caseOf(t, {
    client: ['x-api-key', 'sk-caller-key', 'X-Copy', 'Bearer sk-caller-key', 'X-Fine', 'sk-other'],
  });
  t.notMatch(headers.join('\n'), /sk-caller-key/);
  t.same(valuesOf(headers, 'x-fine'), ['sk-other']);
  t.ok(
    decisions.some(({ name, action, rule }) => name === 'x-copy' && action === 'dropped' && /key/.test(rule)),
  );
});

t.test('every decision is told once, and no secret is in it', async (t) => {
  const { decisions } = caseOf(t, {
    extra: 'api_key: sk-up-secret, extra_headers: { X-Team: sk-static-secret }',
    client: [
      ...[
        'Host',
        'h',
        'X-Team',
        'client',
        'X-A',
        '1',
        'X-B',
        '2',
        'Connection',
        'x-b',
        'x-litellm-session-id',
        's',
      ],
      ...['Authorization', 'Bearer sk-caller-key', 'content-type', 'application/json', 'x-stainless-os', 'L'],
    ],
  });
  t.same(
    decisions.map(({ name, action }) => `${name} ${action}`),
    [
      'authorization set',
      'x-team set',
      'user-agent set',
      'host dropped',
      'x-team replaced',
      'x-a forwarded',
      'x-b dropped',
      'connection dropped',
      'x-litellm-session-id replaced',
      'authorization dropped',
      'content-type forwarded',
      'x-stainless-os dropped',
      'x-litellm-session-id stamped',
    ],
  );
  t.notMatch(JSON.stringify(decisions), /sk-/);
});

t.test('whatever a client sends, no credential leaves and the session is stamped exactly once', async (t) => {
  const snapshot = snapshotOf(
    t,
    `
model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/m, api_base: "http://127.0.0.1:1", api_key: sk-upstream }
general_settings: { forward_client_headers_to_llm_api: true }
`,
  );
  const deployment = snapshot.deployments[0] as Deployment;
  const rules = new HeaderRules(snapshot.dialect, snapshot.headers);
  const own = deploymentHeaders(deployment, 'throughline/test');
  const key = 'sk-caller-0123456789';
  const credential = fc
    .constantFrom(
      'Authorization',
      'x-litellm-api-key',
      'api-key',
      'X-Api-Key',
      'x-goog-api-key',
      'cookie',
      'x_api_key',
    )
    .map((name): [string, string] => [name, name === 'Authorization' ? `Bearer ${key}` : key]);
  const other = fc.tuple(
    fc.constantFrom(
      'x-a',
      'X-LiteLLM-Session-Id',
      'x_litellm_session_id',
      'connection',
      'te',
      'Trailer',
      'x-b',
    ),
    fc.constantFrom('1', 'x-a', 'close', `say ${key}`),
  );
  // One recognised credential is always there: the value to look for is known from it.
  const sure = fc.constant<[string, string]>(['x-api-key', key]);
  fc.assert(
    fc.property(
      fc.array(fc.oneof(credential, other), { maxLength: 12 }),
      sure,
      fc.nat(12),
      (pairs, one, at) => {
        const raw = pairs.toSpliced(at, 0, one).flat();
        const headers = upstreamHeaders(rules, readHeaders(rules, raw), own, CALL);
        const names = headers.filter((_, i) => i % 2 === 0);
        return (
          !headers.some((text) => text.includes(key)) &&
          valuesOf(headers, SESSION.name).join() === SESSION.id &&
          !names.some((name) => /^(?:connection|te|trailer|cookie|x_)/.test(name)) &&
          names.every((name) => name === name.toLowerCase())
        );
      },
    ),
    { numRuns: runs(250) },
  );
  t.pass('all header lists');
});

t.test(
  'a prefix that covers the headers of the body repeats none and names no coding that is gone',
  async (t) => {
    const of = caseOf(t, {
      general: ', forward_header_prefixes: [x-, content-]',
      client: [
        'Content-Type',
        'a/a',
        'Content-Encoding',
        'gzip',
        'content-type',
        'b/b',
        'Content-Language',
        'de',
      ],
      call: { hasBody: true },
    });
    t.same(valuesOf(of.headers, 'content-type'), ['b/b']);
    t.same(decided(of, 'content-type'), [
      'dropped: may stand once only: the last one counts',
      'forwarded: describes the body or the answer',
    ]);
    t.same(valuesOf(of.headers, 'content-encoding'), []);
    t.same(decided(of, 'content-encoding'), ['dropped: the body goes uncompressed and may be changed']);
    t.same(valuesOf(of.headers, 'content-language'), ['de']);
  },
);

t.test('a body without a type that can go is JSON; a call without a body has none', async (t) => {
  const none = caseOf(t, { client: ['x-a', '1'], call: { hasBody: true, forwards: false } });
  t.same(valuesOf(none.headers, 'content-type'), ['application/json']);
  t.same(decided(none, 'content-type'), ['set: the client sent none that can go']);
  const leaking = ['x-api-key', 'sk-caller-key', 'content-type', 'a/a; k=sk-caller-key'];
  t.same(valuesOf(caseOf(t, { client: leaking, call: { hasBody: true } }).headers, 'content-type'), [
    'application/json',
  ]);
  t.same(valuesOf(caseOf(t, { client: ['x-a', '1'] }).headers, 'content-type'), []);
});

t.test('Connection takes away what it names, but for the type of the body and what is ours', async (t) => {
  const of = caseOf(t, {
    client: [
      ...['Connection', 'X-A, accept, content-type, x-litellm-session-id', 'x-a', '1', 'Accept', 'a/a'],
      ...['content-type', 'a/a', 'x-b', '2'],
    ],
  });
  t.same(decided(of, 'x-a'), ['dropped: listed in Connection']);
  t.same(decided(of, 'accept'), ['dropped: listed in Connection']);
  t.same(valuesOf(of.headers, 'content-type'), ['a/a']);
  t.same(valuesOf(of.headers, SESSION.name), [SESSION.id]);
  t.same(valuesOf(of.headers, 'x-b'), ['2']);
});

t.test(
  'lists may stand on several lines; what has one value goes once, and it is the one that was read',
  async (t) => {
    const of = caseOf(t, {
      extra: 'gateway: plain',
      client: [
        ...['accept', 'a/a', 'Accept', 'b/b', 'x-litellm-trace-id', SESSION.id],
        ...['x-litellm-end-user-id', 'ann', 'X-LITELLM-End-User-Id', 'bob', 'x-list', 'a', 'X-List', 'b'],
      ],
    });
    t.same(valuesOf(of.headers, 'accept'), ['a/a', 'b/b']);
    t.same(valuesOf(of.headers, 'x-list'), ['a', 'b']);
    t.same(valuesOf(of.headers, 'x-litellm-end-user-id'), ['bob']);
  },
);

t.test('nobody but the proxy tells the gateway whose call it is', async (t) => {
  const client = [
    'X-LiteLLM-Tags',
    'mine',
    'x-litellm-customer-id',
    'eve',
    'X-LiteLLM-End-User-Id',
    'mallory',
  ];
  const known = { sessionId: 's', endUser: 'ann', tags: ['a', 'b'], metadata: { run: 1 } };
  const told = caseOf(t, { client, call: { identity: known } });
  t.same(valuesOf(told.headers, 'x-litellm-tags'), ['a,b']);
  t.same(valuesOf(told.headers, 'x-litellm-end-user-id'), ['ann']);
  t.same(valuesOf(told.headers, 'x-litellm-customer-id'), []);
  t.same(decided(told, 'x-litellm-tags'), [
    'replaced: written anew for the gateway',
    'stamped: tags of the request and of the entry',
  ]);
  t.same(decided(told, 'x-litellm-customer-id'), [
    'dropped: only the proxy tells the gateway whose call it is',
  ]);
  const silent = caseOf(t, { client });
  t.same(
    silent.headers.filter((_, i) => i % 2 === 0),
    ['user-agent', SESSION.name],
  );
  const operator = caseOf(t, {
    extra: 'extra_headers: { x-litellm-tags: fixed }',
    client,
    call: { identity: known },
  });
  t.same(valuesOf(operator.headers, 'x-litellm-tags'), ['fixed'], 'an operator may');
  t.same(decided(operator, 'x-litellm-tags'), [
    'set: extra_headers of the operator',
    'replaced: extra_headers of the operator win',
  ]);
  const brought = [
    ['x-litellm-tags', new Secret('key')] as const,
    ['content-type', new Secret('b/b')] as const,
  ];
  const key = caseOf(t, { client: [], call: { identity: known, keyHeaders: brought } });
  t.same(valuesOf(key.headers, 'x-litellm-tags'), ['a,b']);
  t.same(valuesOf(key.headers, 'content-type'), []);
  t.same(decided(key, 'content-type'), ['dropped: describes the body']);
});

t.test('a client may add dimensions to those that are written for it, never replace one', async (t) => {
  const of = caseOf(t, {
    extra: 'gateway: bifrost',
    client: [
      'x-bf-dim-team',
      'mine',
      'X-BF-Dim-Other',
      'mine',
      'x-bf-session-id',
      'mine',
      'x-bf-lh-user',
      'eve',
    ],
    call: { identity: { sessionId: 's', endUser: null, tags: ['team:blue'], metadata: null } },
  });
  t.same(valuesOf(of.headers, 'x-bf-dim-team'), ['blue']);
  t.same(valuesOf(of.headers, 'x-bf-dim-other'), ['mine']);
  t.same(valuesOf(of.headers, 'x-bf-session-id'), ['s']);
  t.same(valuesOf(of.headers, 'x-bf-lh-user'), []);
});

t.test('the underscore twin of a header of ours or of the operator does not go beside it', async (t) => {
  const of = caseOf(t, {
    extra: 'extra_headers: { x-team-name: operator, x_plain: operator }',
    client: ['x-team_name', 'client', 'x-plain', 'client', 'x-litellm-tags_', 'a', 'x-fine_name', '1'],
  });
  t.same(valuesOf(of.headers, 'x-team_name'), []);
  t.same(valuesOf(of.headers, 'x-plain'), []);
  t.same(valuesOf(of.headers, 'x-fine_name'), ['1']);
});

t.test('a key does not go upstream as identity or trace either', async (t) => {
  const of = caseOf(t, {
    client: ['x-api-key', 'sk-caller-key'],
    call: {
      identity: {
        sessionId: 's',
        endUser: 'sk-caller-key',
        tags: ['a:sk-caller-key'],
        metadata: { a: 'sk-caller-key' },
      },
      trace: ['traceparent', '00-1', 'tracestate', 'a=sk-caller-key'],
    },
  });
  t.notMatch(of.headers.join(), /sk-caller-key/);
  t.same(valuesOf(of.headers, 'traceparent'), ['00-1']);
  t.same(decided(of, 'traceparent'), ['stamped: trace context of the request']);
  for (const name of [
    'tracestate',
    'x-litellm-tags',
    'x-litellm-end-user-id',
    'x-litellm-spend-logs-metadata',
  ])
    t.same(decided(of, name), ['dropped: its value holds the key of the caller'], name);
});

t.test("an operator's trace context wins; a trace goes where nothing else is forwarded", async (t) => {
  const trace = ['traceparent', 'ours', 'tracestate', 'ours'];
  const call = { trace, forwards: false };
  const of = caseOf(t, { extra: 'extra_headers: { traceparent: fixed }', client: [], call });
  t.same(valuesOf(of.headers, 'traceparent'), ['fixed']);
  t.same(valuesOf(of.headers, 'tracestate'), ['ours']);
});

t.test(
  'under a wildcard, the fixed session of an entry that does not forward gives way to the stamp',
  async (t) => {
    const given = {
      extra: 'extra_headers: { x-litellm-session-id: fixed, x-a: 1 }',
      client: ['x-litellm-session-id', 'mine'],
    };
    const on = caseOf(t, { ...given, entryForwards: false });
    t.same(on.headers, ['x-a', '1', 'user-agent', 'throughline/test', SESSION.name, SESSION.id]);
    t.same(decided(on, SESSION.name), [
      'replaced: reserved: stamped below',
      'stamped: session id of the request',
    ]);
    const off = caseOf(t, { ...given, entryForwards: false, call: { forwards: false } });
    t.same(off.headers, ['x-a', '1', SESSION.name, 'fixed', 'user-agent', 'throughline/test']);
    t.same(decided(off, SESSION.name), ['set: extra_headers of the operator', 'dropped: forwarding is off']);
  },
);

t.test('what cannot be written is left out, and noted', async (t) => {
  const of = caseOf(t, { client: [], call: { identity: { ...CALL.identity, endUser: 'é' } } });
  t.same(decided(of, 'x-litellm-end-user-id'), [
    'dropped: the end user has characters that no header carries',
  ]);
});

t.test('what is noted is what is in the list, whatever comes', async (t) => {
  const snapshot = snapshotOf(
    t,
    `
model_list:
${['litellm', 'bifrost', 'portkey', 'plain', 'none']
  .map(
    (name) => `  - model_name: ${name}
    litellm_params: { model: litellm_proxy/m, api_base: "http://127.0.0.1:1", api_key: up, gateway: ${name}, extra_headers: { x-team: red, x_under: red, x-bf-dim-run: red } }
`,
  )
  .join('')}
general_settings: { forward_client_headers_to_llm_api: true }
`,
  );
  const entries = snapshot.deployments.map((deployment) => deploymentHeaders(deployment, 'throughline/test'));
  const names = [
    ...[
      'x-a',
      'x-team',
      'x_team',
      'x-under',
      'content-type',
      'content-encoding',
      'accept',
      'connection',
      'te',
      'from',
    ],
    ...[
      'x-litellm-session-id',
      'x-litellm-tags',
      'x-litellm-end-user-id',
      'x-litellm-customer-id',
      'traceparent',
    ],
    ...[
      'x-bf-dim-team',
      'x-bf-dim-run',
      'x-bf-dim-tags',
      'x-bf-lh-user',
      'x-portkey-metadata',
      'user-agent',
      'x-api-key',
    ],
  ];
  const anyName = fc.constantFrom(...names).chain((name) => fc.constantFrom(name, name.toUpperCase()));
  const value = fc.constantFrom('1', 'x-a', 'accept, x-team', 'sk-caller-key');
  const word = fc.constantFrom('blue', 'team:blue', 'run=1', 'é', 'sk-caller-key', 'a,b');
  const call = fc.record({
    forwards: fc.boolean(),
    keyHeaders: fc.option(
      fc
        .uniqueArray(fc.tuple(fc.constantFrom(...names), value), { maxLength: 5, selector: ([name]) => name })
        .map((pairs) => pairs.map(([name, one]) => [name, new Secret(one)] as const)),
    ),
    identity: fc.record({
      sessionId: fc.constant('s'),
      endUser: fc.option(word),
      tags: fc.array(word, { maxLength: 3 }),
      metadata: fc.option(fc.dictionary(fc.constantFrom('run', 'team', 'Tags'), word)),
    }),
    trace: fc.constantFrom([], ['traceparent', 'ours', 'tracestate', 'ours']),
    hasBody: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...entries),
      fc.array(fc.tuple(anyName, value), { maxLength: 10 }),
      fc.subarray(['x-', 'c', 'a', 'f', 'u']),
      call,
      (deployment, pairs, forwardPrefixes, given) => {
        // As in service: rules that know of tracing come with a trace to send.
        const traced = given.trace.length > 0;
        const policy = { forwardAll: true, forwardPrefixes, deny: [], allow: [] };
        const rules = new HeaderRules(snapshot.dialect, policy, { isTraced: traced });
        const client = readHeaders(rules, pairs.flat());
        const noted: string[] = [];
        const list = upstreamHeaders(rules, client, deployment, given, ({ name, action }) => {
          if (action === 'set' || action === 'forwarded' || action === 'stamped') noted.push(name);
        });
        const sent = list.filter((_, i) => i % 2 === 0);
        const quiet = upstreamHeaders(rules, client, deployment, given);
        const repeatable = new Set([
          'accept',
          'x-a',
          'x-bf-dim-team',
          'x-bf-dim-tags',
          'x-litellm-tags',
          ...names,
        ]);
        for (const name of [
          ...deployment.names,
          ...deployment.identityNames,
          'content-type',
          'from',
          'traceparent',
        ])
          repeatable.delete(name);
        t.strictSame(noted.toSorted(), sent.toSorted());
        t.strictSame(quiet, list, 'being listened to changes nothing');
        t.strictSame(
          sent.filter((name, at) => sent.indexOf(name) !== at && !repeatable.has(name)),
          [],
        );
        t.notOk(sent.some((name) => /^(?:te|connection|content-encoding|x-api-key)$/.test(name)));
        t.equal(given.hasBody && !sent.includes('content-type'), false);
      },
    ),
    { numRuns: runs(125) },
  );
});

t.test('a token of a sign-in at Anthropic goes as a bearer, with its beta beside others', async (t) => {
  const headersOf = (key: string, extra: string, client: readonly string[]): string[] => {
    const snapshot = snapshotOf(
      t,
      `
model_list:
  - model_name: m
    litellm_params: { model: anthropic/m, api_key: ${key} ${extra} }
`,
    );
    const rules = new HeaderRules(snapshot.dialect, snapshot.headers, snapshot);
    const fixed = deploymentHeaders(snapshot.deployments[0] as Deployment, 'throughline/test');
    return upstreamHeaders(rules, readHeaders(rules, [...client]), fixed, { ...CALL, forwards: false });
  };
  const of = (list: string[], name: string): string[] =>
    list.filter((_, at) => at % 2 === 1 && list[at - 1] === name);
  const beta = ['anthropic-beta', 'feature-a'];
  const own = ', extra_headers: { anthropic-beta: mine }';
  for (const [extra, client, betas] of [
    ['', [], 'oauth-2025-04-20'],
    ['', beta, 'oauth-2025-04-20,feature-a'],
    [own, [], 'mine,oauth-2025-04-20'],
    [own, beta, 'mine,oauth-2025-04-20'],
  ] as const) {
    const list = headersOf('sk-ant-oat01-token', extra, client);
    t.same(of(list, 'authorization'), ['Bearer sk-ant-oat01-token']);
    t.same(of(list, 'x-api-key'), []);
    t.same(of(list, 'anthropic-beta'), [betas]);
  }
  const plain = headersOf('sk-ant-api03-key', '', beta);
  t.same(of(plain, 'x-api-key'), ['sk-ant-api03-key']);
  t.same(of(plain, 'authorization'), []);
  t.same(of(plain, 'anthropic-beta'), ['feature-a']);
});
