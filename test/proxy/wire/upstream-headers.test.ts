import fc from 'fast-check';
import t from 'tap';
import type { Test } from 'tap';
import type { Route } from '../../../config/snapshot.ts';
import { HeaderRules } from '../../../proxy/wire/header-rules.ts';
import { readHeaders } from '../../../proxy/wire/request-headers.ts';
import { Secret } from '../../../config/secret.ts';
import {
  routeHeaders,
  upstreamHeaders,
  type HeaderDecision,
  type HeaderPolicy,
} from '../../../proxy/wire/upstream-headers.ts';
import { snapshotOf } from '../../support/house.ts';

const SESSION = { name: 'x-litellm-session-id', id: 'the-session' };
const STAMP = {
  session: SESSION.name,
  headers: [SESSION.name, SESSION.id],
  tellings: [{ name: SESSION.name, sent: true, why: 'session' }],
};

interface Case {
  readonly headers: string[];
  readonly decisions: HeaderDecision[];
}

function caseOf(
  t: Test,
  extra: string,
  client: readonly string[],
  forward = true,
  keyHeaders: HeaderPolicy['keyHeaders'] = null,
): Case {
  const snapshot = snapshotOf(
    t,
    `
model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/m, api_base: "http://127.0.0.1:1", ${extra} }
general_settings: { forward_client_headers_to_llm_api: ${forward} }
`,
  );
  const route = snapshot.routes[0] as Route;
  const rules = new HeaderRules(snapshot.dialect, snapshot.headers);
  const own = routeHeaders(route, 'throughline/test');
  const decisions: HeaderDecision[] = [];
  const headers = upstreamHeaders(
    rules,
    readHeaders(rules, client),
    { ...route, keyHeaders },
    own,
    STAMP,
    (one) => decisions.push(one),
  );
  return { headers, decisions };
}

const valuesOf = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === name);

t.test('precedence is reserved, then the operator, then the client; nothing stands twice', async (t) => {
  const { headers } = caseOf(
    t,
    'api_key: up, extra_headers: { X-Team: operator, X-LiteLLM-Session-Id: forged, Authorization: Bearer other }',
    [
      ...['Host', 'h', 'X-Team', 'client', 'X-Other', 'client', 'x-litellm-session-id', 'mine'],
      ...['Content-Type', 'application/json', 'Accept', 'text/event-stream', 'User-Agent', 'curl'],
    ],
  );
  t.same(headers, [
    ...['authorization', 'Bearer up', 'x-team', 'operator', 'user-agent', 'throughline/test'],
    ...['content-type', 'application/json', 'accept', 'text/event-stream'],
    ...['x-other', 'client', 'x-litellm-session-id', 'the-session'],
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
    t.same(caseOf(t, extra, client, true, brought).headers, [...own, 'x-other', 'client', ...stamp]);
    t.same(caseOf(t, extra, client, false, brought).headers, [...own, ...stamp]);
    t.same(
      caseOf(t, extra, client, false, []).headers,
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
  const { headers } = caseOf(t, 'api_key: up', client, false);
  t.same(headers, ['authorization', 'Bearer up', 'user-agent', 'throughline/test', 'accept', 'a/b']);
  const fixed = caseOf(t, 'extra_headers: { x-litellm-session-id: fixed }', client, false).headers;
  t.same(
    valuesOf(fixed, 'x-litellm-session-id'),
    ['fixed'],
    "then an operator's id is the only one there is",
  );
});

t.test("an entry without a key sends the operator's authorization, never the caller's", async (t) => {
  const own = caseOf(t, 'extra_headers: { Authorization: Basic abc }', [
    'Authorization',
    'Bearer sk-caller-key',
  ]);
  t.same(valuesOf(own.headers, 'authorization'), ['Basic abc']);
  const none = caseOf(t, '', ['Authorization', 'Bearer sk-caller-key']);
  t.same(valuesOf(none.headers, 'authorization'), []);
});

t.test("an operator's content type and accept replace the client's", async (t) => {
  const { headers } = caseOf(t, 'extra_headers: { Accept: a/a }', ['accept', 'b/b', 'Content-Type', 'c/c']);
  t.same([valuesOf(headers, 'accept'), valuesOf(headers, 'content-type')], [['a/a'], ['c/c']]);
});

t.test('a key that was copied into another header does not slip through', async (t) => {
  const { headers, decisions } = caseOf(t, '', [
    ...['x-api-key', 'sk-caller-key', 'X-Copy', 'Bearer sk-caller-key', 'X-Fine', 'sk-other'],
  ]);
  t.notMatch(headers.join('\n'), /sk-caller-key/);
  t.same(valuesOf(headers, 'x-fine'), ['sk-other']);
  t.ok(
    decisions.some(({ name, action, rule }) => name === 'x-copy' && action === 'dropped' && /key/.test(rule)),
  );
});

t.test('every decision is told once, and no secret is in it', async (t) => {
  const { decisions } = caseOf(t, 'api_key: sk-up-secret, extra_headers: { X-Team: sk-static-secret }', [
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
  ]);
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
  const route = snapshot.routes[0] as Route;
  const rules = new HeaderRules(snapshot.dialect, snapshot.headers);
  const own = routeHeaders(route, 'throughline/test');
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
        const headers = upstreamHeaders(rules, readHeaders(rules, raw), route, own, STAMP);
        const names = headers.filter((_, i) => i % 2 === 0);
        return (
          !headers.some((text) => text.includes(key)) &&
          valuesOf(headers, SESSION.name).join() === SESSION.id &&
          !names.some((name) => /^(?:connection|te|trailer|cookie|x_)/.test(name)) &&
          names.every((name) => name === name.toLowerCase())
        );
      },
    ),
    { numRuns: 1_000 },
  );
  t.pass('1,000 header lists');
});
