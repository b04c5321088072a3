// Two servers on one PostgreSQL and one Valkey: each shows the other in `/chain`, and forgets one that has said that it ends.
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { list, newKey, type Json } from '../support/manage.ts';
import { beforeNextLook } from '../support/patience.ts';
import { anyPostgres } from '../support/postgres.ts';
import { chat, KEY, send, startRig, type Rig } from '../support/rig.ts';
import { ownValkey } from '../support/valkey.ts';

async function shown(rig: Rig, fits: (replicas: readonly Json[]) => boolean): Promise<readonly Json[]> {
  for (;;) {
    const { text } = await send(rig.url, 'GET', '/chain');
    const replicas = list((JSON.parse(text) as Json)['replicas']);
    if (fits(replicas)) return replicas;
    await beforeNextLook();
  }
}

t.test('servers see each other', async (t) => {
  const { url } = await anyPostgres(t);
  const valkey = await ownValkey(t);
  const database = `  database_url: "${url()}"\n`;
  const router =
    valkey === null ? '' : `router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port} }\n`;
  const config = (demo: DemoGateway): string => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" }
general_settings:
  master_key: ${KEY}
${database}${router}`;
  const first = await startRig(t, { config });
  t.match(await shown(first, () => true), [{ this: true, state: 'serving', version: /^\d/ }]);
  const second = await startRig(t, { config });
  for (const rig of [first, second]) {
    const replicas = await shown(rig, ({ length }) => length === 2);
    t.match(replicas, [{ this: true }, { this: false, state: 'serving', version: /^\d/, started_at: /^20/ }]);
    t.ok(list(replicas[1]?.['shared_by']).length > 0);
  }
  if (valkey !== null) {
    const isShared = (one: Json): boolean => String(one['shared_by']) === 'postgresql,valkey';
    t.equal((await shown(second, (all) => all.every(isShared))).length, 2);
  }
  await second.stop();
  t.match(await shown(first, ({ length }) => length === 1), [{ this: true }]);
});

t.test('a server that starts while Valkey is away takes its share of a limit, not all of it', async (t) => {
  const { url } = await anyPostgres(t);
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const database = url();
  const config = (demo: DemoGateway): string => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" }
general_settings: { master_key: ${KEY}, database_url: "${database}" }
router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port} }`;
  const first = await startRig(t, { config });
  const key = await newKey(first, { rpm_limit: 8 });
  await valkey.kill();
  const second = await startRig(t, { config });
  const { status, headers } = await chat(second, 'demo', {}, { authorization: `Bearer ${key}` });
  t.equal(status, 200);
  t.equal(headers['x-ratelimit-remaining-requests'], '3', 'half of eight, and this call');
});
