// The list of what is never passed on: each entry, both spellings, and what an operator may still set.
import t from 'tap';
import { dashed, HOP_BY_HOP, isSetByProxy, KEY_HEADERS, neverPassed } from '../../config/header-names.ts';

const PREFIX = 'x-litellm-';
const CREDENTIALS = [
  ...[
    'authorization',
    'api-key',
    'x-api-key',
    'x-goog-api-key',
    'ocp-apim-subscription-key',
    'x-litellm-api-key',
  ],
  ...['cookie', 'cookie2', 'set-cookie', 'x-session-api-key', 'x-access-token', 'x-mcp-auth'],
];
const HOP = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'trailers', 'transfer-encoding', 'upgrade', 'http2-settings'],
];
const REASONS = {
  'a credential of the caller': CREDENTIALS,
  'hop-by-hop': HOP,
  'belongs to this hop': ['host', 'content-length', 'expect', 'accept-encoding'],
  'the body goes uncompressed and may be changed': [
    ...['content-encoding', 'content-digest', 'repr-digest', 'digest', 'content-md5'],
  ],
};

t.test('each name has its reason, with dashes or underscores', async (t) => {
  for (const [reason, names] of Object.entries(REASONS))
    for (const name of names) {
      t.equal(neverPassed(name, PREFIX), reason, name);
      t.equal(neverPassed(name.replaceAll('-', '_'), PREFIX), reason, `${name} with underscores`);
    }
  t.same([...HOP_BY_HOP], HOP);
  t.same(KEY_HEADERS, CREDENTIALS.slice(0, 5), 'in this order');
});

t.test('any other name may pass; the key header of another brand is none of ours', async (t) => {
  for (const name of ['x-a', 'content-type', 'accept', 'x-litellm-tags', '', 'x-acme-api-key'])
    t.equal(neverPassed(name, PREFIX), null, name);
  t.equal(neverPassed('x-acme-api-key', 'x-acme-'), 'a credential of the caller');
});

t.test('no setting may set what the proxy decides; a credential an operator may', async (t) => {
  for (const name of [
    ...HOP,
    ...REASONS['belongs to this hop'],
    'content-type',
    'content_type',
    'content-md5',
  ])
    t.ok(isSetByProxy(name), name);
  for (const name of [...CREDENTIALS, 'accept', 'x-a', 'user-agent']) t.notOk(isSetByProxy(name), name);
});

t.test('a name as CGI reads it', async (t) => {
  t.equal(dashed('x_a_b-c'), 'x-a-b-c');
  t.equal(dashed('x-a'), 'x-a');
});
