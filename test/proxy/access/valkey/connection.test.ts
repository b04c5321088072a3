// Connections to a real Valkey or Redis: over TLS with an authority of its own, and by way of Sentinels.
import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import { Session } from 'node:inspector/promises';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Secret } from '../../../../config/secret.ts';
import type { ValkeySettings } from '../../../../config/valkey-settings.ts';
import { ValkeyConnection } from '../../../../proxy/access/valkey/connection.ts';
import { script } from '../../../../proxy/access/valkey/scripts.ts';
import { selfSigned } from '../../../support/certificate.ts';
import { freePort } from '../../../support/free-port.ts';
import { RUN, RUN_MARK } from '../../../support/process-cleanup.ts';
import { ownValkey } from '../../../support/valkey.ts';

const NOWHERE: ValkeySettings = {
  host: '127.0.0.1',
  port: 1,
  tls: null,
  sentinels: null,
  username: null,
  password: null,
  database: 0,
  namespace: 'throughline',
  failClosed: { limits: false, budgets: false },
  shown: 'redis://127.0.0.1',
};
const ECHO = script('return ARGV[1]');

function dir(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-connection-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

t.test('over TLS the authority that is named is believed, and no other', async (t) => {
  const folder = dir(t);
  const files = {
    cert: join(folder, 'cert.pem'),
    key: join(folder, 'key.pem'),
    other: join(folder, 'other.pem'),
  };
  const own = selfSigned();
  writeFileSync(files.cert, own.cert);
  writeFileSync(files.key, own.key);
  writeFileSync(files.other, selfSigned().cert);
  const tlsPort = await freePort();
  const flags = ['--tls-port', String(tlsPort), '--tls-cert-file', files.cert, '--tls-key-file', files.key];
  const asking = ['--tls-ca-cert-file', files.cert, '--tls-auth-clients', 'optional'];
  const server = await ownValkey(t, [...flags, ...asking]);
  if (server === null) return;
  const tls = { caFile: files.cert, certFile: null, keyFile: null };
  const at = { ...server.settings, host: 'localhost', port: tlsPort };
  const connection = await ValkeyConnection.open({ ...at, tls });
  t.teardown(() => connection.close());
  t.equal(await connection.run(ECHO, [], ['hello'], 30_000), 'hello');
  t.same(await connection.runForBytes(ECHO, [], [Buffer.from([0, 255])], 30_000), Buffer.from([0, 255]));
  const withOwn = await ValkeyConnection.open({
    ...at,
    tls: { ...tls, certFile: files.cert, keyFile: files.key },
  });
  withOwn.close();
  await t.rejects(
    ValkeyConnection.open({ ...at, tls: { ...tls, caFile: files.other } }),
    /self-signed|certificate/,
  );
  await t.rejects(ValkeyConnection.open({ ...at, tls: { ...tls, caFile: null } }), /self-signed|certificate/);
  await t.rejects(ValkeyConnection.open({ ...at, tls: { ...tls, caFile: join(folder, 'none') } }), /ENOENT/);
  const pipe = join(folder, 'pipe');
  spawnSync('mkfifo', [pipe]);
  await t.rejects(ValkeyConnection.open({ ...at, tls: { ...tls, caFile: pipe } }), /is a pipe or a device/);
});

t.test('Sentinels say which server it is', async (t) => {
  const first = await ownValkey(t, ['--requirepass', 'pass', '--masterauth', 'pass']);
  const second = await ownValkey(t, ['--requirepass', 'pass', '--masterauth', 'pass']);
  if (first === null || second === null) return;
  await second.ask('REPLICAOF', '127.0.0.1', String(first.port));
  const port = await freePort();
  const config = join(dir(t), 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    'requirepass watch',
    `sentinel monitor mymaster 127.0.0.1 ${first.port} 1`,
    'sentinel auth-pass mymaster pass',
    'sentinel down-after-milliseconds mymaster 60000',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const sentinel = spawn(first.name, [config, '--sentinel'], {
    env: { ...process.env, [RUN_MARK]: RUN },
    stdio: 'ignore',
  });
  const ended = once(sentinel, 'exit');
  t.teardown(async () => {
    sentinel.kill('SIGKILL');
    await ended;
  });
  const nobody = { host: '127.0.0.1', port: await freePort() };
  const mute = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(mute, 'listening');
  t.teardown(() => mute.close());
  const stuck = { host: '127.0.0.1', port: (mute.address() as AddressInfo).port };
  const sentinels = {
    service: 'mymaster',
    nodes: [nobody, { host: '127.0.0.1', port }],
    password: new Secret('watch'),
  };
  const settings = { ...first.settings, host: 'mymaster', port: 6379, sentinels };
  const open = async (): Promise<ValkeyConnection> => {
    const nodes = [nobody, stuck, ...sentinels.nodes.slice(1)];
    for (;;) {
      const connection = await ValkeyConnection.open({
        ...settings,
        sentinels: { ...sentinels, nodes },
      }).catch(() => null); // it is not up yet
      if (connection !== null) return connection;
      await pause(20);
    }
  };
  const before = await open();
  t.equal(await before.run(ECHO, [], ['hello'], 30_000), 'hello');
  before.close();
  await t.rejects(
    ValkeyConnection.open({ ...settings, sentinels: { ...sentinels, service: 'other' } }),
    /knows no other/,
  );
  await second.ask('REPLICAOF', 'NO', 'ONE');
  await first.ask('REPLICAOF', '127.0.0.1', String(second.port));
  await t.rejects(ValkeyConnection.open(settings), /a replica/, 'what is a replica now is not written to');
});

t.test('an attempt to connect does not make the library anew', async (t) => {
  const session = new Session();
  session.connect();
  t.teardown(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const nobody = { ...NOWHERE, port: await freePort() };
  for (let i = 0; i < 3; i += 1) await t.rejects(ValkeyConnection.open(nobody), /ECONNREFUSED/);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ofLibrary = result.filter(({ url }) => url.includes('/@redis/client/'));
  const calls = ofLibrary.flatMap(({ functions }) =>
    functions.map(({ functionName, ranges }) => ({ functionName, count: ranges[0]?.count ?? 0 })),
  );
  const connects = calls.filter(({ functionName }) => functionName === 'connect');
  t.ok(
    connects.some(({ count }) => count >= 3),
    'the library was seen',
  );
  t.same(
    calls.filter(({ functionName, count }) => functionName === 'attachConfig' && count > 0),
    [],
  );
});
