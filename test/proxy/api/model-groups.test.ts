// `GET /model_group/info`: what the names that a key may request can.
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { managed, newKey } from '../../support/manage.ts';
import { KEY, startRig } from '../../support/rig.ts';

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

t.test('model groups: one entry per requested name', async (t) => {
  const rig = await startRig(t, { config });
  t.match(await managed(rig, 'GET /model_group/info'), {
    data: [
      {
        model_group: 'small',
        providers: ['litellm_proxy', 'openai'],
        tpm: 150,
        rpm: 10,
        mode: 'chat',
        supports_vision: true,
        supports_reasoning: false,
        supported_openai_params: null,
      },
      { model_group: 'large', max_input_tokens: 1000, tpm: null },
    ],
  });
  t.match(await managed(rig, 'GET /model_group/info?model_group=large'), {
    data: [{ model_group: 'large' }],
  });
  t.strictSame(await managed(rig, 'GET /model_group/info?model_group=none'), { data: [] });
});

t.test('a key sees the names that it may call', async (t) => {
  const rig = await startRig(t, { config });
  const small = await newKey(rig, { models: ['small'] });
  t.match(await managed(rig, 'GET /model_group/info', undefined, small), {
    data: [{ model_group: 'small' }],
  });
  t.strictSame(await managed(rig, 'GET /model_group/info?model_group=large', undefined, small), { data: [] });
  const group = await newKey(rig, { models: ['stated'] });
  t.match(await managed(rig, 'GET /model_group/info', undefined, group), {
    data: [{ model_group: 'small' }, { model_group: 'large' }],
  });
});
