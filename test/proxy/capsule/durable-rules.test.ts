// Orders to record, shared by processes of one server: what one is told, the others learn, and a restart keeps.
import t from 'tap';
import { systemClock } from '../../../proxy/base/clock.ts';
import { DurableRules } from '../../../proxy/capsule/durable-rules.ts';
import type { CapsuleRule } from '../../../proxy/capsule/rules.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

const NOW = Date.now();
const rule = (id: string, untilMs: number): CapsuleRule => ({
  id,
  keyHash: null,
  sessionId: 's',
  bodies: false,
  createdMs: NOW,
  untilMs,
  createdBy: '',
});

t.test('what one process orders, another one records', async (t) => {
  const dataDir = tempDir(t);
  const open = async (number: number) => {
    const [told, removed] = [Promise.withResolvers<CapsuleRule>(), Promise.withResolvers<string>()];
    const rules = new DurableRules({
      dataDir,
      database: null,
      worker: { number, count: 2 },
      clock: systemClock,
      log: openLog('silent').log,
      told: told.resolve,
      removed: removed.resolve,
    });
    await rules.open();
    t.teardown(() => rules.close());
    return { rules, told: told.promise, removed: removed.promise };
  };
  const [one, other] = [await open(1), await open(2)];
  await one.rules.put(rule('order-1', NOW + 3_600_000));
  await other.rules.sync();
  t.match(await other.told, { id: 'order-1', sessionId: 's', createdMs: NOW });
  const restarted = await open(3);
  t.match(await restarted.told, { id: 'order-1' }, 'a restart keeps it');
  await other.rules.remove('order-1');
  await one.rules.sync();
  t.equal(await one.removed, 'order-1');
});

t.test('what is over is not told', async (t) => {
  const dataDir = tempDir(t);
  const told: string[] = [];
  const rulesOf = () =>
    new DurableRules({
      dataDir,
      database: null,
      worker: null,
      clock: systemClock,
      log: openLog('silent').log,
      told: ({ id }) => told.push(id),
      removed: () => undefined,
    });
  const before = rulesOf();
  await before.open();
  await before.put(rule('order-1', NOW - 1));
  await before.put(rule('order-2', NOW + 3_600_000));
  await before.close();
  const after = rulesOf();
  await after.open();
  t.same(told, ['order-2']);
  await after.close();
});
