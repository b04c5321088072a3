// What is known of a sandbox is what its row says.
import { join } from 'node:path';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { Refusal } from '../../../platform/api/refusal.ts';
import { KnownSandboxes } from '../../../platform/sandboxes/known-sandboxes.ts';
import { SandboxRows } from '../../../platform/sandboxes/rows.ts';
import { openPlatformFile } from '../../../platform/store/store.ts';
import { Vault } from '../../../platform/store/vault.ts';
import { Replicas } from '../../../proxy/items/replicas.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { ManualClock } from '../../support/clock.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';
import { SECRET_KEY } from '../fixture/rig.ts';

t.test('a row that another server has deleted meanwhile is neither written nor known', async (t) => {
  const dataDir = tempDir(t);
  const store = openPlatformFile(join(dataDir, 'platform.db'));
  t.teardown(() => store.close());
  const clock = new ManualClock();
  const replicas = await Replicas.open({ store, dataDir, worker: null, clock, log: openLog('silent').log });
  const known = new KnownSandboxes(replicas);
  const rows = new SandboxRows({ known, store, vault: new Vault(new Secret(SECRET_KEY)), clock });
  const first = await rows.write({
    id: 'one',
    userId: '',
    owner: replicas.own,
    specId: 'default',
    status: 'PAUSED',
    unhealthy: null,
    detail: null,
    place: null,
    key: new Secret('key'),
    createdMs: 0,
    activeMs: 0,
    revision: 0,
  });
  const lost = await rows.write({ ...first, detail: 'its answer was lost' });
  t.equal(lost.revision, first.revision + 1);
  const last = await rows.write({ ...first, detail: 'next' });
  t.match(last, { revision: lost.revision + 1, detail: 'next' }, 'nobody else writes it');
  t.equal(known.own('one'), last);
  await store.apply([{ remove: { kind: 'sandbox', id: 'one' } }]);
  const late = await rows.write({ ...last, detail: 'late' }).catch((error: unknown) => error);
  t.ok(late instanceof Refusal);
  t.match(late, {
    status: 409,
    body: { detail: 'The sandbox was deleted by another server at the same time' },
  });
  t.equal(known.own('one'), last, 'until news of it come');
  await rows.remove('one');
  t.equal(known.own('one'), undefined);
  await rows.load();
  t.equal(known.own('one'), undefined, 'its row is gone, too');
});
