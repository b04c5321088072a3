// What the watch over sandboxes sees and does, with a clock that is turned by hand.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { Secret } from '../../../config/secret.ts';
import type { SandboxSpec } from '../../../config/snapshot.ts';
import { Replicas } from '../../../proxy/items/replicas.ts';
import { DockerDriver } from '../../../platform/sandboxes/docker-driver.ts';
import type { SandboxDriver } from '../../../platform/sandboxes/driver.ts';
import { ProcessDriver } from '../../../platform/sandboxes/process-driver.ts';
import { markedProcesses } from '../../../platform/sandboxes/process-table.ts';
import { Sandboxes } from '../../../platform/sandboxes/sandboxes.ts';
import { Vault } from '../../../platform/store/vault.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { RUN, RUN_MARK } from '../../support/process-cleanup.ts';
import { startEngine } from '../fixture/engine.ts';
import { RUNTIME, SECRET_KEY } from '../fixture/rig.ts';
import { openPlatformFile } from '../../../platform/store/store.ts';
import { beforeNextLook } from '../../support/patience.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const IDLE_MS = 60_000;

/** As a store that takes no change of what it holds. */
const FULL = "CREATE TRIGGER broken BEFORE UPDATE ON items BEGIN SELECT RAISE(ABORT, 'no space'); END";

const SPEC: SandboxSpec = {
  id: 'default',
  command: [process.execPath, RUNTIME, '--port', '{port}'],
  image: null,
  port: 8000,
  workingDir: '{sandbox_dir}',
  readablePaths: [],
  initialEnv: [[RUN_MARK, new Secret(RUN)]],
  healthPath: '/alive',
  conversationsPath: null,
  limits: { memoryMb: null, cpuSeconds: null, cpus: null, openFiles: null, processes: null },
};

interface OpenOptions {
  readonly startTimeoutMs?: number;
  readonly checkTimeoutMs?: number;
  readonly args?: readonly string[];
}

async function openWith(
  dataDir: string,
  driver: SandboxDriver,
  { startTimeoutMs = 600_000, checkTimeoutMs = 5_000 }: OpenOptions,
  maxRunning = 3,
) {
  const time = { now: Date.now(), lastCall: 0, elsewhere: null as number | null, asked: 0 };
  const store = openPlatformFile(join(dataDir, 'platform.db'));
  const clock = { now: () => time.now, mono: () => performance.now() };
  const { log } = openLog('silent');
  const sandboxes = new Sandboxes({
    settings: {
      driver: 'process',
      maxRunning,
      idlePauseMs: IDLE_MS,
      startTimeoutMs,
      isolation: 'none',
      stopWithServer: true,
      dockerSocket: '',
      webhookBaseUrl: null,
    },
    specs: [SPEC],
    driver,
    store,
    vault: new Vault(new Secret(SECRET_KEY)),
    clock,
    log,
    checkTimeoutMs,
    replicas: await Replicas.open({ store, dataDir, worker: null, clock, log }),
    apiUrl: () => null,
    lastCallMs: () => time.lastCall,
    lastCallElsewhereMs: () => {
      time.asked += 1;
      return Promise.resolve(time.elsewhere);
    },
  });
  await sandboxes.open();
  const close = async (): Promise<void> => {
    await sandboxes.close();
    await store.close();
  };
  return { sandboxes, time, close };
}

async function open(t: Test, options: OpenOptions = {}) {
  const { args = [] } = options;
  const dataDir = tempDir(t);
  const driver = new ProcessDriver({
    dataDir,
    path: process.env['PATH'] ?? '',
    isolate: () => Promise.resolve(null),
  });
  const { sandboxes, time, close } = await openWith(dataDir, driver, options);
  t.teardown(async () => {
    await close();
    if ((await markedProcesses(dataDir)).length > 0) throw new Error('a sandbox was left behind');
  });
  const { id } = await sandboxes.start('', { ...SPEC, command: [...SPEC.command, ...args] }, []);
  const sandbox = await sandboxes.settled(id);
  const tell = (path: string): Promise<Response> =>
    fetch(`${sandbox?.place?.url}${path}`, { headers: { 'x-session-api-key': sandbox?.key.reveal() ?? '' } });
  return { sandboxes, time, id, tell, dataDir, status: () => sandboxes.known.find('', id)?.status };
}

t.test(
  'a sandbox without a call for long enough is paused, unless its runtime says that it works',
  async (t) => {
    const { sandboxes, time, tell, status } = await open(t);
    t.equal(status(), 'RUNNING');
    await tell('/idle?seconds=5');
    time.now += IDLE_MS + 1;
    await sandboxes.checkAll();
    t.equal(status(), 'RUNNING', 'it worked 5 s ago, without a call');
    await tell('/idle?seconds=1000');
    time.lastCall = time.now;
    time.now += IDLE_MS - 1;
    await sandboxes.checkAll();
    t.equal(status(), 'RUNNING', 'it made a call');
    time.now += IDLE_MS;
    await sandboxes.checkAll();
    t.equal(status(), 'PAUSED');
    await sandboxes.checkAll();
    t.equal(status(), 'PAUSED', 'a paused one is not asked for its health');
  },
);

t.test('a sandbox that a start works with is not idle, however long it takes', async (t) => {
  const { sandboxes, time, id, tell, status } = await open(t);
  await tell('/idle?seconds=1000');
  const clone = Promise.withResolvers<string>();
  const used = sandboxes.usage.during(id, () => clone.promise);
  time.now += IDLE_MS + 1;
  await sandboxes.checkAll();
  t.equal(status(), 'RUNNING', 'it clones a repository');
  clone.resolve('cloned');
  t.equal(await used, 'cloned');
  time.now += IDLE_MS - 1;
  await sandboxes.checkAll();
  t.equal(status(), 'RUNNING', 'it has just ended');
  time.now += 2;
  await sandboxes.checkAll();
  t.equal(status(), 'PAUSED');
});

t.test('a call through another server keeps a sandbox awake, and is asked for once', async (t) => {
  const { sandboxes, time, tell, status } = await open(t);
  await tell('/idle?seconds=1000');
  time.now += IDLE_MS + 1;
  time.elsewhere = time.now - 1_000;
  for (let round = 0; round < 3; round += 1) await sandboxes.checkAll();
  t.same([status(), time.asked], ['RUNNING', 1]);
  time.now += IDLE_MS;
  time.elsewhere = null;
  await sandboxes.checkAll();
  t.same([status(), time.asked], ['PAUSED', 2]);
});

t.test('a sandbox that fails its health check is in ERROR while it does, and RUNNING again', async (t) => {
  const { sandboxes, id, tell, status } = await open(t);
  await tell('/sick');
  await sandboxes.checkAll();
  await sandboxes.checkAll();
  t.equal(status(), 'RUNNING', 'two bad checks are forgiven');
  t.match(sandboxes.known.find('', id)?.detail, /does not pass its health check since .*; its process lives/);
  await sandboxes.checkAll();
  t.equal(status(), 'ERROR');
  await sandboxes.checkAll();
  t.equal(status(), 'ERROR');
  const refused = { status: 502, body: { detail: /RUNNING again as soon as/ } };
  t.match(await sandboxes.resume('', id).catch((error: unknown) => error), refused);
  await tell('/sick?over');
  await sandboxes.checkAll();
  t.match(sandboxes.known.find('', id), { status: 'RUNNING', detail: null, unhealthy: null });
});

t.test('pause and resume work from ERROR too: what lives is not lost', async (t) => {
  const { sandboxes, id, tell, status } = await open(t);
  await tell('/sick');
  for (let round = 0; round < 3; round += 1) await sandboxes.checkAll();
  t.equal(status(), 'ERROR');
  await sandboxes.pause('', id);
  t.equal(status(), 'PAUSED');
  await sandboxes.checkAll();
  t.equal(status(), 'PAUSED');
  await sandboxes.resume('', id);
  t.equal(status(), 'RUNNING');
  for (let round = 0; round < 3; round += 1) await sandboxes.checkAll();
  t.equal(status(), 'ERROR');
  await tell('/sick?over');
  await sandboxes.resume('', id);
  t.equal(status(), 'RUNNING', 'it is asked at once, without waiting for the watch');
});

t.test(
  'a runtime that is too slow for its health check stays RUNNING, and is not paused as idle',
  async (t) => {
    // So short that the checks it does not answer cost no time; one that it answers may be late for it, too.
    const { sandboxes, time, id, tell, status } = await open(t, { checkTimeoutMs: 200 });
    await tell('/slow');
    time.now += IDLE_MS + 1;
    for (let round = 0; round < 4; round += 1) await sandboxes.checkAll();
    t.equal(status(), 'RUNNING');
    t.match(
      sandboxes.known.find('', id)?.detail,
      /has not answered its health check since .*; its process lives/,
    );
    time.now += 300_000;
    await sandboxes.checkAll();
    t.equal(status(), 'ERROR', 'five minutes of silence are told');
    await tell('/slow?over');
    do await sandboxes.checkAll();
    while (status() !== 'RUNNING');
    t.match(sandboxes.known.find('', id), { status: 'RUNNING', detail: null });
  },
);

t.test('one that is not ready in time is told, kept, and RUNNING when it answers', async (t) => {
  const { sandboxes, status } = await open(t, { startTimeoutMs: 0, args: ['--sick'] });
  t.equal(status(), 'ERROR');
  const [sandbox] = sandboxes.known.list('');
  t.match(sandbox?.detail, /was not ready within 0 s: its process lives/);
  const headers = { 'x-session-api-key': sandbox?.key.reveal() ?? '' };
  const answers = async (): Promise<boolean> => {
    const response = await fetch(`${sandbox?.place?.url}/sick?over`, { headers }).catch(() => null);
    return response?.ok === true;
  };
  while (!(await answers())) await beforeNextLook(); // it is being started
  await sandboxes.checkAll();
  t.equal(status(), 'RUNNING');
});

t.test('a command that ends while it runs is an error with its code', async (t) => {
  const { sandboxes, id, tell, status } = await open(t);
  await t.rejects(tell('/end?code=9'));
  await sandboxes.checkAll();
  t.equal(status(), 'ERROR');
  t.match(sandboxes.known.find('', id)?.detail, /ended with code 9/);
  for (const act of [() => sandboxes.pause('', id), () => sandboxes.resume('', id)])
    t.match(await act().catch((error: unknown) => error), { status: 409 });
});

t.test('somebody who stops or continues it by hand is believed', async (t) => {
  const { sandboxes, id, status } = await open(t);
  const pid = Number(sandboxes.known.find('', id)?.place?.handle);
  process.kill(pid, 'SIGSTOP'); // it stops when it is next scheduled
  do await sandboxes.checkAll();
  while (status() !== 'PAUSED');
  process.kill(pid, 'SIGCONT');
  do await sandboxes.checkAll();
  while (status() !== 'RUNNING');
  t.equal(status(), 'RUNNING');
});

t.test('a pause or resume that cannot be written down is undone', async (t) => {
  const { sandboxes, id, tell, dataDir, status } = await open(t);
  const db = new DatabaseSync(join(dataDir, 'platform.db'));
  db.exec(FULL);
  await t.rejects(sandboxes.pause('', id));
  t.equal(status(), 'RUNNING');
  t.equal((await tell('/alive')).status, 200, 'it runs on');
  db.exec('DROP TRIGGER broken');
  await sandboxes.pause('', id);
  db.exec(FULL);
  await t.rejects(sandboxes.resume('', id));
  t.equal(status(), 'PAUSED');
  const stat = `/proc/${sandboxes.known.find('', id)?.place?.handle}/stat`;
  while (!readFileSync(stat, 'latin1').includes(') T ')) await beforeNextLook();
  db.exec('DROP TRIGGER broken');
  db.close();
  await sandboxes.resume('', id);
  t.equal((await tell('/alive')).status, 200);
});

t.test('a start whose end cannot be written down is taken up again once it can be', async (t) => {
  const { sandboxes, dataDir } = await open(t);
  const db = new DatabaseSync(join(dataDir, 'platform.db'));
  const { id } = await sandboxes.start('', SPEC, []);
  db.exec(FULL);
  await sandboxes.settled(id);
  t.equal(sandboxes.known.find('', id)?.status, 'STARTING', 'it is healthy, and no row says so');
  db.exec('DROP TRIGGER broken');
  db.close();
  await sandboxes.checkAll();
  t.match(await sandboxes.settled(id), { status: 'RUNNING' });
});

t.test('a failed start that cannot be written down holds no place', async (t) => {
  const { sandboxes, id, dataDir } = await open(t);
  const db = new DatabaseSync(join(dataDir, 'platform.db'));
  db.exec(FULL);
  const missing = { ...SPEC, command: ['/nowhere/at-all'] };
  for (let n = 0; n < 3; n += 1)
    t.match(await sandboxes.start('', missing, []).catch((error: unknown) => error), {
      body: { detail: 'the command /nowhere/at-all was not found' },
    });
  db.exec('DROP TRIGGER broken');
  db.close();
  await sandboxes.start('', SPEC, []);
  t.match(sandboxes.known.find('', id), { status: 'RUNNING' }, 'nobody had to make room');
});

t.test(
  'a write that was taken and whose answer was lost does not keep others from being taken',
  async (t) => {
    const { sandboxes, id, dataDir, status } = await open(t);
    const db = new DatabaseSync(join(dataDir, 'platform.db'));
    db.exec("UPDATE items SET revision = revision + 1 WHERE kind = 'sandbox'");
    db.close();
    await sandboxes.pause('', id);
    t.equal(status(), 'PAUSED');
  },
);

t.test('with stop_with_server no start outlives the server, however late it comes', async (t) => {
  const { sandboxes, dataDir } = await open(t);
  const begun = sandboxes.start('', SPEC, []);
  await sandboxes.close();
  await begun;
  t.match(await sandboxes.start('', SPEC, []).catch((error: unknown) => error), { status: 503 });
  t.same(await markedProcesses(dataDir), []);
});

t.test('nobody waits for the driver that is busy with the sandbox of another', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'engine-')); // socket paths are short: 108 bytes
  const engine = await startEngine(join(folder, 'docker.sock'), ['agent']);
  const dataDir = tempDir(t);
  const driver = new DockerDriver({ socket: engine.socket, serverId: 'one' });
  const { sandboxes, close } = await openWith(dataDir, driver, {}, 2);
  t.teardown(async () => {
    await close();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const start = async (userId: string): Promise<string> => {
    const { id } = await sandboxes.start(userId, { ...SPEC, image: 'agent' }, []);
    await sandboxes.settled(id);
    return id;
  };
  const status = (userId: string, id: string) => sandboxes.known.find(userId, id)?.status;
  const full = { status: 409, body: { detail: /2 sandboxes run already/ } };
  const refused = async (act: Promise<unknown>) =>
    t.match(await act.catch((error: unknown) => error), full, 'the limit holds meanwhile');

  const ofAda = await start('ada');
  await sandboxes.pause('ada', ofAda);
  const unpause = engine.hold('unpause');
  const resumed = sandboxes.resume('ada', ofAda);
  await unpause.begun;
  const ofBob = await start('bob');
  t.same([status('bob', ofBob), status('ada', ofAda)], ['RUNNING', 'PAUSED']);
  await refused(start('eve'));
  unpause.release();
  await resumed;
  t.equal(status('ada', ofAda), 'RUNNING');

  const pause = engine.hold('pause');
  const second = start('ada');
  await pause.begun;
  await refused(start('eve'));
  await sandboxes.pause('bob', ofBob);
  const ofEve = await start('eve');
  t.equal(status('eve', ofEve), 'RUNNING', 'in the place of bob');
  pause.release();
  t.equal(status('ada', await second), 'RUNNING');
  t.equal(status('ada', ofAda), 'PAUSED', 'it made room');

  await sandboxes.remove('eve', ofEve);
  const broken = engine.hold('unpause');
  const failing = sandboxes.resume('bob', ofBob).catch((error: unknown) => error);
  await broken.begun;
  await refused(start('eve'));
  broken.release(500);
  t.match(await failing, { status: 502 });
  t.equal(status('bob', ofBob), 'PAUSED');
  t.equal(status('eve', await start('eve')), 'RUNNING', 'a place that was not used is free');
});
