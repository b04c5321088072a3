// The doctor, readiness and the chain while the shared counters of budgets and limits are away, and while they are there.
import { join } from 'node:path';
import t from 'tap';
import type { Report } from '../../../proxy/doctor/report.ts';
import { runWithin } from '../../support/cli.ts';
import { freePort } from '../../support/free-port.ts';
import { list, type Json } from '../../support/manage.ts';
import { KEY, send, startRig, type Rig } from '../../support/rig.ts';
import { ownValkey } from '../../support/valkey.ts';
import { codesOf } from './fixture/diagnose.ts';

const ENV = { MASTER_KEY: KEY, VALKEY_PASSWORD: 'sk-valkey-secret' };

async function startOn(t: Parameters<typeof startRig>[0], port: number, more = ''): Promise<Rig> {
  return await startRig(t, {
    env: ENV,
    config: (demo) => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}" }
general_settings: { master_key: os.environ/MASTER_KEY${more} }
router_settings: { redis_host: 127.0.0.1, redis_port: ${port}, redis_password: os.environ/VALKEY_PASSWORD }`,
  });
}

async function diagnosed(rig: Rig): Promise<{ readonly report: Report; readonly out: string }> {
  const place = ['--config', rig.configPath, '--data-dir', join(rig.folder, 'data'), '--url', rig.url];
  const command = ['doctor', ...place, '--json', '--timeout', '60', '--only', 'proxy,data'];
  const { out } = await runWithin(command, { env: ENV });
  return { report: JSON.parse(out) as Report, out };
}

async function told(rig: Rig, path: string): Promise<Json> {
  return JSON.parse((await send(rig.url, 'GET', path)).text) as Json;
}

t.test('counters that are away are a finding, in readiness, in the doctor and on the page', async (t) => {
  const rig = await startOn(t, await freePort());
  t.match(await told(rig, '/health/readiness'), { status: 'healthy', counters: 'away' });
  const { report, out } = await diagnosed(rig);
  t.same(codesOf(report), ['TL-1208', 'TL-1208']);
  const [direct, readiness] = report.findings;
  t.match(direct, {
    area: 'data',
    check: 'counters',
    seen: /^redis:\/\/127\.0\.0\.1:\d+\/0: .*ECONNREFUSED/,
  });
  t.match(readiness, { area: 'proxy', check: 'counters', seen: 'readiness says counters: away' });
  t.notMatch(out, /sk-valkey-secret/);
  const own = (await told(rig, '/doctor')) as unknown as Report;
  t.same(codesOf(own), ['TL-1208'], 'the running proxy says it of itself');
  const chain = await told(rig, '/chain');
  t.match(chain['verdict'], { level: 'warning' });
  t.match(list(chain['findings']), [
    {
      level: 'warning',
      text: /^Budgets and limits are not shared between servers: the shared counters do not answer .*counts alone/,
      link: 'system',
    },
  ]);
});

t.test('where calls are refused meanwhile, the finding says so', async (t) => {
  const rig = await startOn(t, await freePort(), ', fail_closed_rate_limit_enforcement: true');
  t.match(list((await told(rig, '/chain'))['findings']), [
    { level: 'error', text: /calls with limits get 503/ },
  ]);
});

t.test('counters that answer, and none', async (t) => {
  const valkey = await ownValkey(t, ['--requirepass', 'sk-valkey-secret']);
  if (valkey === null) return;
  const rig = await startOn(t, valkey.port);
  t.match(await told(rig, '/health/readiness'), { counters: 'shared' });
  const { report } = await diagnosed(rig);
  t.same(codesOf(report), []);
  t.match(
    report.passed.filter(({ check }) => check === 'counters').map(({ seen }) => seen),
    [/^redis:\/\/127\.0\.0\.1:\d+\/0 answers/, /^shared/],
  );
  t.same((await told(rig, '/chain'))['findings'], []);
  const alone = await startRig(t);
  t.match(await told(alone, '/health/readiness'), { counters: null });
});

t.test('a server that may throw counters away is not used, and the finding says why', async (t) => {
  const flags = ['--requirepass', 'sk-valkey-secret', '--maxmemory', '64mb', '--maxmemory-policy'];
  const valkey = await ownValkey(t, [...flags, 'allkeys-lru']);
  if (valkey === null) return;
  const { report } = await diagnosed(await startOn(t, valkey.port));
  t.same(codesOf(report), ['TL-1208', 'TL-1208']);
  t.match(report.findings[0], { seen: /maxmemory-policy is allkeys-lru, not noeviction/ });
});
