// The address that agent servers are given to report to: one that they reach, or none.
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startInRuntime } from './fixture/agent.ts';
import { specs, startPlatform } from './fixture/rig.ts';
import { killMarked } from './fixture/sandbox-processes.ts';

const SANDBOX = '  sandbox: { max_running: 2,';

async function addressIn(t: Test, platform: string): Promise<{ url: string; own: string; address: unknown }> {
  const rig = await startPlatform(t, { platform });
  t.teardown(() => killMarked(join(rig.folder, 'data')));
  const { runtime } = await startInRuntime(rig, {});
  const environment = (await runtime.ask('/environment')) as Readonly<Record<string, unknown>>;
  return {
    url: rig.url,
    own: String(rig.gateway.platformUrl),
    address: environment['OH_WEBHOOKS_0_BASE_URL'],
  };
}

t.test(
  'it is the interface itself, whatever public_base_url says, or what the operator states',
  async (t) => {
    const all = specs('', 'none');
    const shared = await addressIn(t, `  public_base_url: http://proxy.example.com:4000\n${all}`);
    t.equal(shared.address, `${shared.url}/api/v1/webhooks`);
    const apart = await addressIn(t, `  port: 0\n${all}`);
    t.not(apart.own, apart.url);
    t.equal(apart.address, `${apart.own}/api/v1/webhooks`, 'the port of the interface');
    const stated = all.replace(SANDBOX, `${SANDBOX} webhook_base_url: "http://127.0.0.1:9",`);
    t.equal((await addressIn(t, stated)).address, 'http://127.0.0.1:9/api/v1/webhooks');
  },
);
