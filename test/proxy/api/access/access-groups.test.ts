// Access groups: those of deployments and those that are made by calls, in one list.
import t from 'tap';
import type { DemoGateway } from '../../../../proxy/demo-gateway/demo-gateway.ts';
import { manage, managed } from '../../../support/manage.ts';
import { KEY, startRig } from '../../../support/rig.ts';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: small
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-x, tpm: 100, rpm: 10 }
    model_info: { id: small-1, access_groups: [stated, cheap] }
  - model_name: small
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-y, tpm: 50 }
    model_info: { id: small-2, supports_vision: true }
  - model_name: large
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-x }
    model_info: { id: large-1, access_groups: [stated], max_input_tokens: 1000 }
general_settings: { master_key: ${KEY} }
`;

t.test('groups', async (t) => {
  const rig = await startRig(t, { config });
  t.strictSame(await managed(rig, 'GET /access_group/list'), {
    access_groups: [
      { access_group: 'cheap', model_names: ['small'], deployment_count: 2 },
      { access_group: 'stated', model_names: ['small', 'large'], deployment_count: 3 },
    ],
  });
  t.match(await managed(rig, 'POST /access_group/new', { access_group: 'a/b c', model_names: ['large'] }), {
    access_group: 'a/b c',
    model_names: ['large'],
    model_ids: ['large-1'],
    models_updated: 1,
  });
  t.match(await managed(rig, 'GET /access_group/a%2Fb%20c/info'), {
    access_group: 'a/b c',
    model_names: ['large'],
  });
  t.match(await managed(rig, 'PUT /access_group/a%2Fb%20c/update', { model_ids: ['small-2'] }), {
    model_names: ['small'],
  });
  t.match(await managed(rig, 'DELETE /access_group/a%2Fb%20c/delete'), { access_group: 'a/b c' });
  t.equal((await manage(rig, 'GET /access_group/a%2Fb%20c/info')).status, 404);

  t.equal((await manage(rig, 'POST /access_group/new', { access_group: 'x' })).status, 400);
  t.equal((await manage(rig, 'POST /access_group/new', { model_names: ['large'] })).status, 422);
  t.match(await manage(rig, 'POST /access_group/new', { access_group: 'x', model_names: ['none'] }), {
    status: 404,
    text: /Model\(s\) not found: none/,
  });
  t.equal(
    (await manage(rig, 'POST /access_group/new', { access_group: 'x', model_ids: ['none'] })).status,
    404,
  );
  t.match(await manage(rig, 'POST /access_group/new', { access_group: 'stated', model_names: ['large'] }), {
    status: 400,
    text: /already exists/,
  });
  t.match(await manage(rig, 'POST /access_group/new', { access_group: 'small', model_names: ['large'] }), {
    status: 400,
    text: /is the name of a model/,
  });
  for (const call of ['PUT /access_group/stated/update', 'DELETE /access_group/stated/delete'])
    t.match(await manage(rig, call, { model_names: ['large'] }), {
      status: 400,
      text: /stated by deployments/,
    });
});
