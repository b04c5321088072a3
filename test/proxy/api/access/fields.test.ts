// Bodies that no client should send: every call answers with a refusal of its own, none with a bug of ours.
import t from 'tap';
import { KEY_ROUTES } from '../../../../proxy/api/access/key-routes.ts';
import { KEY_FIELDS } from '../../../../proxy/api/access/keys-fields.ts';
import { managed, newKey } from '../../../support/manage.ts';
import { send, startRig } from '../../../support/rig.ts';

const VALUES: readonly string[] = [
  'null',
  'true',
  '0',
  '-0',
  '1.5',
  '-1',
  '1e308',
  '1e999',
  '9007199254740993',
  '""',
  '" "',
  '"__proto__"',
  '"\\u0000"',
  '"\\ud800"',
  '"-1"',
  '"999999mo"',
  '[]',
  '[null]',
  '[[]]',
  '[{}]',
  '{}',
  '{"":null}',
  '{"__proto__":{"a":1}}',
  '{"constructor":1}',
  '{"a":{"budget_limit":null}}',
  '{"a":{"budget_limit":1,"time_period":"x"}}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
];
const WHOLE: readonly string[] = [
  '',
  'null',
  '[]',
  '"x"',
  '1',
  '{',
  '{"key":',
  '{"a":1}x',
  '{"__proto__":{"key":"x"}}',
];

t.test('any value of any member', async (t) => {
  const rig = await startRig(t);
  const names = [
    ...Object.keys(KEY_FIELDS),
    ...['key', 'keys', 'key_aliases', 'new_key', 'grace_period', 'reset_to'],
    ...['user_email', 'user_role', 'teams', 'user_ids', 'auto_create_key'],
  ];
  const paths = ['/key/generate', '/key/update', '/user/new'];
  const key = await newKey(rig, {});
  let served = 0;
  for (const [turn, path] of paths.entries()) {
    const all = names.flatMap((name) =>
      VALUES.map((value) => `{${name === 'key' ? '' : `"key":"${key}",`}"${name}":${value}}`),
    );
    // Every third for each path: together they are all, and a connection each costs 10 ms.
    const bodies = all.filter((_, index) => index % paths.length === turn);
    const statuses = await Promise.all(
      bodies.map(async (body) => {
        const { status, text } = await send(rig.url, 'POST', path, Buffer.from(body));
        if (status >= 500 && status !== 503) t.fail(`${path} ${body.slice(0, 120)}: ${status} ${text}`);
        return status;
      }),
    );
    served += statuses.filter((status) => status === 200).length;
    t.ok(
      statuses.every((status) => [200, 400, 403, 404, 409, 422].includes(status)),
      `${path}: ${[...new Set(statuses)].join(' ')}`,
    );
  }
  t.ok(served > 100, 'many of them are fine');
  await managed(rig, 'GET /user/list');
  await managed(rig, 'GET /key/list?return_full_object=true');
});

t.test('any body of any call', async (t) => {
  const rig = await startRig(t);
  for (const { method, path, action } of KEY_ROUTES) {
    if (method !== 'POST') continue;
    for (const body of WHOLE) {
      const { status, text } = await send(rig.url, 'POST', path.replace('{key}', 'sk-x'), Buffer.from(body));
      const isFine =
        status === 200 && (action === null || path.endsWith('/generate') || path === '/user/new');
      t.ok(isFine || [400, 404, 422].includes(status), `${path} ${body}: ${status} ${text}`);
    }
    const other = await send(rig.url, 'POST', path.replace('{key}', 'sk-x'), Buffer.from('a=b'), {
      'content-type': 'application/x-www-form-urlencoded',
    });
    if (path !== '/key/health') t.equal(other.status, 415, path);
  }
});
