// Metrics and administration on a port of their own: the real program, with one process and with workers.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { startDemoGateway, type DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, runWithin, serveCli, workersOf } from '../support/cli.ts';
import { defaultConfig, KEY, send, startRig } from '../support/rig.ts';

const NO_KEY = { authorization: '' };
const CALL = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
const SAYS = /metrics and administration are served on (http:\/\/127\.0\.0\.1:(\d+))\n/;

interface Files {
  readonly demo: DemoGateway;
  readonly config: string;
  readonly dataDir: string;
}

async function files(t: Test, settings: string, write = defaultConfig): Promise<Files> {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, write(demo, settings));
  return { demo, config, dataDir: join(dir, 'data') };
}

t.test(
  'the ports have two addresses; commands are told which one to ask; both ports end in order',
  async (t) => {
    const rig = await startRig(t, { config: (demo) => defaultConfig(demo, '  admin_port: 0\n') });
    const admin = String(rig.gateway.adminUrl);
    t.not(admin, rig.url);
    t.equal((await send(rig.url, 'POST', '/v1/chat/completions', CALL)).status, 200);
    t.match(
      (await send(admin, 'GET', '/metrics', undefined, NO_KEY)).text,
      /^throughline_requests_total\{.*"acompletion".*\} 1$/m,
    );
    const report = (url: string): ReturnType<typeof runWithin> =>
      runWithin(['spend', 'report', '--by', 'model', '--url', url, '--key', KEY]);
    t.match(await report(admin), { code: 0, out: /^demo +1 /m });
    await t.rejects(report(rig.url), {
      message: /answers 404: .* have a port of their own \(general_settings\.admin_port\)/,
    });
    await rig.stop();
    for (const url of [admin, rig.url])
      await t.rejects(send(url, 'GET', '/health/liveness'), { code: 'ECONNREFUSED' });
  },
);

t.test(
  'the program tells both addresses; workers share them, and one that is replaced listens as the others do',
  async (t) => {
    const { demo, config, dataDir } = await files(t, '  admin_port: 0\n');
    const cli = await serveCli(t, config, dataDir, ['--workers', '2']);
    const [, admin = ''] = await cli.said(SAYS);
    const scrape = async (): Promise<string> =>
      (await send(admin, 'GET', '/metrics', undefined, NO_KEY)).text;
    t.match(await scrape(), /^throughline_workers 2$/m);
    // The file names another port by now; the replacement must not serve administration where the others do not.
    writeFileSync(config, defaultConfig(demo, '  admin_port: 1\n'));
    cli.kill('SIGHUP');
    await cli.said(/admin_port or admin_host was changed/);
    const [first = 0] = workersOf(cli.pid);
    process.kill(first, 'SIGKILL');
    await cli.said(/the replaced worker serves/);
    for (let n = 0; n < 6; n += 1) {
      t.match(await scrape(), /^throughline_workers 2$/m);
      t.equal((await send(cli.url, 'GET', '/metrics')).status, 404);
      t.equal((await send(cli.url, 'GET', '/v1/models')).status, 200);
    }
    cli.kill('SIGTERM');
    t.match(await cli.ended, { code: 0 });
  },
);

t.test('a port that cannot be had is named with the setting', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const start = async (settings: string, own: string, write?: typeof defaultConfig): Promise<unknown> => {
    const { config, dataDir } = await files(t, settings, write);
    return runWithin([
      'serve',
      '--config',
      config,
      '--host',
      '127.0.0.1',
      '--port',
      own,
      '--data-dir',
      dataDir,
    ]);
  };
  const refusal = (message: RegExp) => ({ name: 'CannotStart', message });
  await t.rejects(
    start(`  admin_port: ${port}\n`, '0'),
    refusal(
      new RegExp(
        `port ${port} of 127\\.0\\.0\\.1 is in use - stop what listens there, or use general_settings\\.admin_port`,
      ),
    ),
  );
  await t.rejects(
    start('  admin_port: 4567\n', '4567'),
    refusal(/general_settings\.admin_port is 4567, the port of the proxy itself - choose another one/),
  );
  const keyless = (demo: DemoGateway, more = ''): string =>
    defaultConfig(demo, more).replace(/ {2}master_key: .*\n/, '');
  await t.rejects(
    start('  admin_port: 0\n  admin_host: 0.0.0.0\n', '0', keyless),
    refusal(/no master key is configured, so 0\.0\.0\.0 would be open to everybody/),
  );
});
