// Whose call it is, in the words of each gateway; what no header can carry is left out and told.
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { gatewayOf, type GatewayName } from '../../../config/resolve/gateways/table.ts';
import {
  identityNames,
  writeIdentity,
  type GatewayIdentity,
} from '../../../proxy/headers/identity-headers.ts';

const KNOWN: GatewayIdentity = {
  sessionId: 's-1',
  endUser: 'ann',
  tags: ['team:blue', 'nightly', 'Cost Center=4 2'],
  metadata: { project: 'é', run: 7, deep: { a: 1 } },
};
const NOBODY: GatewayIdentity = { sessionId: 's-1', endUser: null, tags: [], metadata: null };

interface LeftOut {
  readonly name: string;
  readonly rule: string;
}

function written(
  name: GatewayName,
  identity: GatewayIdentity,
  leftOut: LeftOut[] = [],
): Record<string, string> {
  const headers: [string, string][] = [];
  writeIdentity(
    gatewayOf(name, 'compat', dialectOf(DEFAULT_WORDS)),
    identity,
    (header, value, rule) => {
      headers.push([header, value]);
      t.not(rule, '');
    },
    (header, rule) => void leftOut.push({ name: header, rule }),
  );
  t.equal(new Set(headers.map(([header]) => header)).size, headers.length, 'no name stands twice');
  return Object.fromEntries(headers);
}

t.test('each gateway is told in its own headers', async (t) => {
  t.same(written('litellm', KNOWN), {
    'x-litellm-session-id': 's-1',
    'x-litellm-end-user-id': 'ann',
    'x-litellm-tags': 'team:blue,nightly,Cost Center=4 2',
    'x-litellm-spend-logs-metadata': '{"project":"\\u00e9","run":7,"deep":{"a":1}}',
  });
  const bifrost: LeftOut[] = [];
  t.same(written('bifrost', KNOWN, bifrost), {
    'x-bf-session-id': 's-1',
    'x-bf-lh-user': 'ann',
    'x-bf-dim-run': '7',
    'x-bf-dim-team': 'blue',
    'x-bf-dim-tags': 'nightly,Cost Center=4 2',
  });
  t.same(bifrost, [{ name: 'x-bf-dim-', rule: '1 values cannot stand in headers' }]);
  const { 'x-portkey-metadata': metadata = '', ...portkey } = written('portkey', KNOWN);
  t.same(portkey, { 'x-portkey-trace-id': 's-1' });
  t.same(JSON.parse(metadata), {
    project: 'é',
    run: '7',
    tags: 'team:blue,nightly,Cost Center=4 2',
    _user: 'ann',
  });
  t.same(written('plain', KNOWN), { 'x-litellm-session-id': 's-1' });
  t.same(written('none', KNOWN), {});
});

t.test('where nothing is known, nothing but the session is sent', async (t) => {
  for (const name of ['litellm', 'bifrost', 'portkey', 'plain'] as const)
    t.same(Object.values(written(name, NOBODY)), ['s-1'], name);
});

t.test('no value can break out of its header, and none is longer than servers take', async (t) => {
  const hostile: GatewayIdentity = {
    sessionId: 's',
    endUser: 'a\r\nx-evil: 1',
    tags: ['a\r\nb', 'c,d', 'ok', '\0', ...Array.from({ length: 96 }, (_, i) => `k${i}:${'v'.repeat(200)}`)],
    metadata: { 'k\r\n: ': 'v', nul: '\0\r\n\u007f', long: 'x'.repeat(9_000) },
  };
  for (const name of ['litellm', 'bifrost', 'portkey'] as const) {
    const leftOut: LeftOut[] = [];
    const headers = written(name, hostile, leftOut);
    for (const [key, value] of Object.entries(headers)) {
      t.match(key, /^[a-z0-9-]+$/, name);
      t.match(value, /^[\x20-\x7e]*$/, `${name} ${key}`);
    }
    t.ok(Object.entries(headers).join().length < 24_000, name);
    t.ok(Object.keys(headers).length <= 36, name);
    t.ok(leftOut.length > 0 || name === 'portkey', 'and it is told');
  }
});

t.test('what is too long is left out to the character, counted, and told', async (t) => {
  const of = (name: GatewayName, more: Partial<GatewayIdentity>): [Record<string, string>, LeftOut[]] => {
    const leftOut: LeftOut[] = [];
    return [written(name, { ...NOBODY, ...more }, leftOut), leftOut];
  };
  const tag = (chars: number): string => 't'.repeat(chars);
  const [whole, nothing] = of('litellm', { tags: [tag(1_000), tag(1_047)] });
  t.equal(whole['x-litellm-tags']?.length, 2_048);
  t.same(nothing, []);
  const [cut, left] = of('litellm', { tags: [tag(1_000), tag(1_048), 'a,b', 'last'] });
  t.equal(cut['x-litellm-tags'], `${tag(1_000)},last`);
  t.same(left, [{ name: 'x-litellm-tags', rule: '2 of the tags cannot stand in a list of 2048 characters' }]);
  const object = (chars: number) => ({ metadata: { k: 'v'.repeat(chars - '{"k":""}'.length) } });
  const [fits, none] = of('litellm', object(4_096));
  t.equal(fits['x-litellm-spend-logs-metadata']?.length, 4_096);
  t.same(none, []);
  const [without, told] = of('litellm', object(4_097));
  t.notOk('x-litellm-spend-logs-metadata' in without);
  t.same(told, [{ name: 'x-litellm-spend-logs-metadata', rule: 'longer than 4096 characters' }]);
  const [each, many] = of('bifrost', {
    tags: [...Array.from({ length: 35 }, (_, i) => `k${i}:v`), `long:${'v'.repeat(513)}`, 'k0:again'],
  });
  t.equal(Object.keys(each).filter((name) => name.startsWith('x-bf-dim-')).length, 32);
  t.equal(each['x-bf-dim-k0'], 'again', 'a name that is there may have another value');
  t.same(many, [{ name: 'x-bf-dim-', rule: '4 values cannot stand in headers' }]);
});

t.test('the names that tell a gateway whose call it is', async (t) => {
  const namesOf = (name: GatewayName): string[] =>
    [...identityNames(gatewayOf(name, 'compat', dialectOf(DEFAULT_WORDS)))].toSorted();
  t.same(namesOf('litellm'), [
    ...['x-litellm-customer-id', 'x-litellm-end-user-id', 'x-litellm-session-id'],
    ...['x-litellm-spend-logs-metadata', 'x-litellm-tags'],
  ]);
  t.same(namesOf('bifrost'), ['x-bf-lh-user', 'x-bf-session-id']);
  t.same(namesOf('portkey'), ['x-portkey-metadata', 'x-portkey-trace-id']);
  t.same(namesOf('plain'), ['x-litellm-session-id']);
  t.same(namesOf('none'), []);
});
