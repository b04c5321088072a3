// Caps and limits of models by their names: aliases of a key and its team count for what they stand for, in every order of
// writes, and a name that nothing serves is told.
import t from 'tap';
import { manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { chat, startRig } from '../../../support/rig.ts';

const CAPS: readonly Json[] = [
  { model_rpm_limit: { al: 1 } },
  { model_max_budget: { al: { budget_limit: 0, time_period: '1d' } } },
];
const auth = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

t.test('a cap on an alias counts for what it stands for, whichever was there first', async (t) => {
  const rig = await startRig(t);
  for (const caps of CAPS) {
    const name = JSON.stringify(caps);
    // A limit lets one call in, a budget of 0 none.
    const refused = async (key: string, model: string): Promise<boolean> => {
      await chat(rig, model, {}, auth(key));
      return (await chat(rig, model, {}, auth(key))).status !== 200;
    };
    const both = await newKey(rig, { aliases: { al: 'demo' }, ...caps });
    t.equal(await refused(both, 'al'), true, `together: ${name}`);
    t.equal(await refused(both, 'demo'), true, `the target itself: ${name}`);
    const later = await newKey(rig, caps);
    t.equal(await refused(later, 'demo'), false, `without the alias: ${name}`);
    await managed(rig, 'POST /key/update', { key: later, aliases: { al: 'demo' } });
    t.equal(await refused(later, 'al'), true, `alias later: ${name}`);
    await managed(rig, 'POST /key/update', { key: later, aliases: {} });
    t.equal(await refused(later, 'demo'), false, `alias gone: ${name}`);
    const team = { team_id: `t ${name}` };
    await managed(rig, 'POST /team/new', team);
    const ofTeam = await newKey(rig, { ...team, ...caps });
    t.equal(await refused(ofTeam, 'demo'), false, `no alias in the team: ${name}`);
    await managed(rig, 'POST /team/update', { ...team, model_aliases: { al: 'demo' } });
    t.equal(await refused(ofTeam, 'al'), true, `the team's alias: ${name}`);
    const plain = await newKey(rig, team);
    t.equal(await refused(plain, 'al'), false, `another key of the team: ${name}`);
    await managed(rig, 'POST /team/update', { ...team, ...caps });
    t.equal(await refused(plain, 'al'), true, `a cap of the team: ${name}`);
  }
});

t.test('a name that no model, wildcard or alias is counts nothing, and the answer says so', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /access_group/new', { access_group: 'all of them', model_names: ['demo'] });
  const warned = async (call: string, body: Json): Promise<unknown> =>
    (await managed(rig, call, body))['warnings'];
  const key = await newKey(rig, {});
  const team_id = 'warned';
  t.equal(
    await warned('POST /key/generate', {
      aliases: { al: 'demo' },
      model_rpm_limit: { al: 1, demo: 1, 'dem*': 1 },
    }),
    undefined,
  );
  for (const [call, body] of [
    ['POST /key/generate', {}],
    ['POST /key/update', { key }],
    ['POST /team/new', { team_id }],
    ['POST /team/update', { team_id }],
    [`POST /key/${key}/regenerate`, {}],
  ] as const) {
    const stated = { model_max_budget: { Demo: 1, demo: 1 }, model_tpm_limit: { 'all of them': 1 } };
    t.same(
      await warned(call, { ...body, ...stated }),
      [
        'model_max_budget: Demo is no model here, and counts nothing until there is one; did you mean demo?',
        'model_tpm_limit: all of them is an access group; state each of its models, or a pattern',
      ],
      call,
    );
  }
  t.equal((await manage(rig, 'POST /key/generate', { model_rpm_limit: {} })).json['warnings'], undefined);
});

t.test('a list of models, a team and a member that are probably slips are told', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /access_group/new', { access_group: 'group', model_names: ['demo'] });
  const warned = async (call: string, body: Json): Promise<unknown> =>
    (await managed(rig, call, body))['warnings'];
  const stated = {
    modls: ['demo'],
    models: ['dmo', 'demo', 'group', '*', 'no-default-models'],
    team_id: 'acme',
  };
  const said = [
    'modls is no member of this call and has no effect; did you mean models?',
    'team_id: acme is no team here; its budget, limits and models hold once it is made',
    'models: dmo is no model here, and allows nothing until there is one; did you mean demo?',
  ];
  t.same(await warned('POST /key/generate', stated), said);
  const key = await newKey(rig, {});
  t.same(await warned('POST /key/update', { key, ...stated }), said);
  await managed(rig, 'POST /team/new', { team_id: 'acme' });
  const right = { models: ['demo', 'group', 'all-team-models'], team_id: 'acme', something_of_others: 1 };
  t.equal(await warned('POST /key/generate', right), undefined);
});
