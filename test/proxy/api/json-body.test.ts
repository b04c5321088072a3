// Bodies of the proxy's own API that two parsers could read differently.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { managed } from '../../support/manage.ts';
import { send, startRig } from '../../support/rig.ts';

t.test(
  'the same member twice and bytes that are no UTF-8 are refused as in calls, and nothing is stored',
  async (t) => {
    const rig = await startRig(t);
    const twice = /stands twice|more than once|twice/;
    const cases: readonly (readonly [string, string | Buffer, string, string | null])[] = [
      ['/key/generate', '{"max_budget":1,"max_budget":1000000}', 'duplicate_member', 'max_budget'],
      ['/key/generate', '{"max_budget":1,"max\\u005fbudget":2}', 'duplicate_member', 'max_budget'],
      ['/key/generate', '{"unknown":1,"unknown":2}', 'duplicate_member', 'unknown'],
      [
        '/key/generate',
        '{"model_max_budget":{"demo":1,"demo":9}}',
        'duplicate_member',
        'model_max_budget.demo',
      ],
      ['/team/new', '{"team_id":"a","team_id":"b"}', 'duplicate_member', 'team_id'],
      ['/model/new', '{"model_name":"a","model_name":"b"}', 'duplicate_member', 'model_name'],
      ['/team/new', Buffer.from('{"team_alias":"a\xff"}', 'latin1'), 'body_not_utf8', null],
      ['/user/new', Buffer.from('{"metadata":{"a":"\xc3("}}', 'latin1'), 'body_not_utf8', null],
    ];
    for (const [path, body, reason, param] of cases) {
      const name = `${path} ${body.toString('latin1')}`;
      const { status, text } = await send(rig.url, 'POST', path, Buffer.from(body));
      t.equal(status, 400, `${name}: ${text}`);
      const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> };
      t.equal(error['reason'] ?? error['code'], reason, name);
      t.equal(error['param'] ?? null, param, name);
      if (reason === 'duplicate_member') t.match(error['message'], twice, name);
    }
    t.equal((await send(rig.url, 'POST', '/key/generate', Buffer.from('{"a":'))).status, 400);
    t.same((await managed(rig, 'GET /key/list'))['keys'], []);
    t.same((await managed(rig, 'GET /v2/team/list'))['total'], 0);
  },
);
