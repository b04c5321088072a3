// What becomes of sandboxes whose start an earlier process has not seen through.
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Secret } from '../../../config/secret.ts';
import { KnownSandboxes } from '../../../platform/sandboxes/known-sandboxes.ts';
import { ProcessDriver } from '../../../platform/sandboxes/process-driver.ts';
import { SandboxRows } from '../../../platform/sandboxes/rows.ts';
import type { Sandbox } from '../../../platform/sandboxes/sandbox.ts';
import { StartingSandboxes } from '../../../platform/sandboxes/starting.ts';
import { openPlatformFile } from '../../../platform/store/store.ts';
import { Vault } from '../../../platform/store/vault.ts';
import { KeyedQueue } from '../../../proxy/base/keyed-queue.ts';
import { Replicas } from '../../../proxy/items/replicas.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { ManualClock } from '../../support/clock.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';
import { SECRET_KEY } from '../fixture/rig.ts';

async function open(t: Test) {
  const dataDir = tempDir(t);
  const store = openPlatformFile(join(dataDir, 'platform.db'));
  t.teardown(() => store.close());
  const clock = new ManualClock();
  const { log } = openLog('silent');
  const replicas = await Replicas.open({ store, dataDir, worker: null, clock, log });
  const known = new KnownSandboxes(replicas);
  const rows = new SandboxRows({ known, store, vault: new Vault(new Secret(SECRET_KEY)), clock });
  const starting = new StartingSandboxes({
    known,
    rows,
    queue: new KeyedQueue(),
    driver: new ProcessDriver({ dataDir, path: '', isolate: () => Promise.resolve(null) }),
    clock,
    log,
    startTimeoutMs: () => 1_000,
    healthPath: () => '/alive',
    checkTimeoutMs: 1_000,
  });
  const write = (id: string, state: Partial<Pick<Sandbox, 'place'>> = {}): Promise<Sandbox> =>
    rows.write({
      id,
      userId: '',
      owner: replicas.own,
      specId: 'default',
      status: 'STARTING',
      unhealthy: null,
      detail: null,
      place: null,
      key: new Secret('key'),
      createdMs: 0,
      activeMs: 0,
      revision: 0,
      ...state,
    });
  const loaded = async (id: string): Promise<Sandbox | undefined> => {
    known.forget(id);
    await rows.load();
    return known.own(id);
  };
  return { starting, write, loaded };
}

t.test('one that was never placed is in ERROR, in its row as well', async (t) => {
  const { starting, write, loaded } = await open(t);
  await write('unplaced');
  await starting.failUnfinished('unplaced');
  const after = await loaded('unplaced');
  t.equal(after?.status, 'ERROR');
  t.equal(after?.unhealthy, null, 'there is no process');
  t.equal(after?.detail, 'the server ended while it was being started');
});

t.test('one that has a place may live: it is left to be followed', async (t) => {
  const { starting, write, loaded } = await open(t);
  await write('placed', { place: { url: 'http://127.0.0.1:1', handle: '1', port: 1, workingDir: '/' } });
  await starting.failUnfinished('placed');
  t.equal((await loaded('placed'))?.status, 'STARTING');
});

t.test('who waits for one that nobody follows waits for nothing', async (t) => {
  const { starting } = await open(t);
  await starting.settled('unknown');
  starting.stop();
  await starting.ended();
  t.pass();
});
