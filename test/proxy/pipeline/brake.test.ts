// A mistake of the brake where it only watches: the call goes on.
import t from 'tap';
import type { Test } from 'tap';
import type { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { forward } from '../../../proxy/pipeline/forward.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { exchangeOf, liveOf, servicesOf } from '../../support/services.ts';

const CHAT = ENDPOINTS[0] as Endpoint;
const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] });

/** A configuration in service in which what the brake alone reads throws. */
const failing = (active: ActiveConfig): ActiveConfig =>
  new Proxy(active, {
    get: (target, name) => {
      if (name === 'isExemptTool') throw new Error('a bug');
      return Reflect.get(target, name, target) as unknown;
    },
  });

async function statusOf(t: Test, mode: 'observe' | 'enforce'): Promise<number | undefined> {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const yaml = `model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: k } }
brake: { mode: ${mode} }
`;
  const active = liveOf(t, yaml, await servicesOf(t));
  const { x, answer } = await exchangeOf(t, active, { body: BODY });
  await forward({ ...x, active: failing(active) }, { role: 'admin', keyHash: 'hash' }, CHAT, null);
  return (await answer).status;
}

t.test('a mistake of the brake fails no call where it only watches', async (t) => {
  t.equal(await statusOf(t, 'observe'), 200);
  t.equal(await statusOf(t, 'enforce'), 500, 'what protects is not skipped without a word');
});
