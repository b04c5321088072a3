// `/api` on a port of its own: served there alone, with one life for both ports.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { serveCli } from '../support/cli.ts';
import { defaultConfig, send } from '../support/rig.ts';
import { at, SESSION_KEY, startPlatform } from '../platform/fixture/rig.ts';

const KEY = { authorization: '', 'x-session-api-key': SESSION_KEY };

t.test('each port serves its own paths and nothing of the other', async (t) => {
  const rig = await startPlatform(t, { platform: '  port: 0' });
  const own = String(rig.gateway.platformUrl);
  t.not(own, rig.url);
  t.match(await send(own, 'GET', '/api/v1/app-conversations/count', undefined, KEY), { status: 200 });
  t.equal(
    (await send(own, 'GET', '/api/v1/app-conversations/count', undefined, { authorization: '' })).status,
    401,
  );
  const there = await send(rig.url, 'GET', '/api/v1/app-conversations/count', undefined, KEY);
  t.match(there, { status: 404, text: /route_not_found/ });
  for (const path of ['/v1/models', '/metrics', '/health/readiness', '/spend/logs', '/']) {
    const { status, text } = await send(own, 'GET', path);
    t.equal(status, 404, path);
    t.match(text, /on this port/);
  }
  const started = await rig.api('POST', '/api/v1/app-conversations', {});
  const id = String(at(started, 'app_conversation_id'));
  const [one] = (await rig.api('GET', `/api/v1/app-conversations?ids=${id}`)).json as [
    Record<string, string>,
  ];
  t.equal(one['llm_base_url'], `${rig.url}/c/${id}/v1`, 'conversations are told the port of the models');
  const key = { authorization: `Bearer ${one['llm_api_key']}` };
  const base = String(one['llm_base_url']).replace(/\/v1$/, '');
  t.equal(
    (await send(base, 'POST', '/v1/chat/completions', { model: 'demo', messages: [] }, key)).status,
    200,
  );
  await rig.reconfigure(
    defaultConfig(
      rig.demo,
      `platform: { session_api_key: other, secret_key: "${'A'.repeat(43)}=", port: 1 }`,
    ),
  );
  await rig.logged(({ msg }) =>
    /^platform\.secret_key, port, host, .* take effect after a restart$/.test(String(msg)),
  );
});

t.test('what hinders it is told with the key that mends it, and nothing is left listening', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  t.teardown(() => holder.close());
  await t.rejects(
    startPlatform(t, { platform: `  port: ${port}\n  host: 127.0.0.1` }),
    new RegExp(`port ${port} of 127\\.0\\.0\\.1 is in use - stop what listens there, or use platform\\.port`),
  );
  const lone: unknown = await startPlatform(t, { platform: '  host: 127.0.0.1' }).catch(
    (error: unknown) => error,
  );
  t.match(lone, {
    message: /has 2 issues/,
    issues: [{ severity: 'warning' }, { message: /has no effect without a port/ }],
  });
});

t.test('the program tells both addresses, and ends answers on both when it is told to stop', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const rig = await startPlatform(t, { platform: '  port: 0', folder });
  await rig.stop();
  const cli = await serveCli(t, rig.configPath, join(folder, 'data'));
  const [, own = ''] = await cli.said(
    /the platform interface is served on (http:\/\/127\.0\.0\.1:\d+)\/api\n/,
  );
  t.equal((await send(own, 'GET', '/api/v1/app-conversations/count', undefined, KEY)).status, 200);
  cli.kill('SIGTERM');
  t.match(await cli.ended, { code: 0 });
  await t.rejects(send(own, 'GET', '/api/v1/app-conversations/count', undefined, KEY), {
    code: 'ECONNREFUSED',
  });
});
