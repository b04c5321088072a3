// Whose call it is, in the words of each gateway; what no header can carry is left out and told.
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { gatewayOf, type GatewayName } from '../../../config/resolve/gateways/table.ts';
import { identityHeaders, type Telling, type Told } from '../../../proxy/wire/identity-headers.ts';

const TOLD: Told = {
  sessionId: 's-1',
  endUser: 'ann',
  tags: ['team:blue', 'nightly', 'Cost Center=4 2'],
  metadata: { project: 'é', run: 7, deep: { a: 1 } },
};
const NOBODY: Told = { sessionId: 's-1', endUser: null, tags: [], metadata: null };

function tell(name: GatewayName, told: Told, tellings: Telling[] = []): Record<string, string> {
  const list = identityHeaders(gatewayOf(name, 'compat', dialectOf(DEFAULT_WORDS)), told, (one) =>
    tellings.push(one),
  );
  return Object.fromEntries(
    list.flatMap((value, i) => (i % 2 === 0 ? [[value, list[i + 1] as string]] : [])),
  );
}

t.test('each gateway is told in its own headers', async (t) => {
  t.same(tell('litellm', TOLD), {
    'x-litellm-session-id': 's-1',
    'x-litellm-end-user-id': 'ann',
    'x-litellm-tags': 'team:blue,nightly,Cost Center=4 2',
    'x-litellm-spend-logs-metadata': '{"project":"\\u00e9","run":7,"deep":{"a":1}}',
  });
  const bifrost: Telling[] = [];
  t.same(tell('bifrost', TOLD, bifrost), {
    'x-bf-session-id': 's-1',
    'x-bf-lh-user': 'ann',
    'x-bf-dim-run': '7',
    'x-bf-dim-team': 'blue',
    'x-bf-dim-tags': 'nightly,Cost Center=4 2',
  });
  t.match(
    bifrost.filter(({ sent }) => !sent),
    [{ why: '1 values cannot stand in headers' }],
  );
  const { 'x-portkey-metadata': metadata = '', ...portkey } = tell('portkey', TOLD);
  t.same(portkey, { 'x-portkey-trace-id': 's-1' });
  t.same(JSON.parse(metadata), {
    project: 'é',
    run: '7',
    tags: 'team:blue,nightly,Cost Center=4 2',
    _user: 'ann',
  });
  t.same(tell('plain', TOLD), { 'x-litellm-session-id': 's-1' });
  t.same(tell('none', TOLD), {});
});

t.test('where nothing is known, nothing but the session is sent', async (t) => {
  for (const name of ['litellm', 'bifrost', 'portkey', 'plain'] as const)
    t.same(Object.values(tell(name, NOBODY)), ['s-1'], name);
});

t.test('no value can break out of its header, and none is longer than servers take', async (t) => {
  const hostile: Told = {
    sessionId: 's',
    endUser: 'a\r\nx-evil: 1',
    tags: ['a\r\nb', 'c,d', 'ok', '\0', ...Array.from({ length: 96 }, (_, i) => `k${i}:${'v'.repeat(200)}`)],
    metadata: { 'k\r\n: ': 'v', nul: '\0\r\n\u007f', long: 'x'.repeat(9_000) },
  };
  for (const name of ['litellm', 'bifrost', 'portkey'] as const) {
    const tellings: Telling[] = [];
    const headers = tell(name, hostile, tellings);
    for (const [key, value] of Object.entries(headers)) {
      t.match(key, /^[a-z0-9-]+$/, name);
      t.match(value, /^[\x20-\x7e]*$/, `${name} ${key}`);
    }
    t.ok(Object.entries(headers).join().length < 24_000, name);
    t.ok(Object.keys(headers).length <= 36, name);
    t.ok(tellings.some(({ sent }) => !sent) || name === 'portkey', 'and it is told');
  }
});
