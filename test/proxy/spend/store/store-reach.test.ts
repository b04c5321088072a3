// Whether the store can be used, as shipping and those who keep tables there find it.
import t from 'tap';
import { StoreReach } from '../../../../proxy/spend/store/store-reach.ts';
import { StoreUnavailable } from '../../../../proxy/spend/store/store.ts';
import type { ExtensionTables } from '../../../../proxy/spend/store/extension-tables.ts';
import type { SpendEvent } from '../../../../proxy/spend/event.ts';

const away = new StoreUnavailable('unavailable', 'nobody listens');

t.test('one outage is told once, and its end when all can use the store again', (t) => {
  const events: SpendEvent[] = [];
  const reach = new StoreReach((event) => events.push(event));
  t.equal(reach.isReachable, true);
  reach.used('rows');
  reach.failed('tables', away);
  reach.failed('tables', away);
  reach.failed('rows', new Error('the disk is full'));
  t.equal(reach.isReachable, false);
  reach.used('tables');
  t.equal(reach.isReachable, false, 'it answers, and takes no rows');
  reach.used('rows');
  t.equal(reach.isReachable, true);
  t.same(
    events.map(({ name, message }) => [name, message]),
    [
      ['store_unreachable', 'nobody listens'],
      ['store_reachable', 'the store answers again'],
    ],
  );
  t.end();
});

t.test('a quick question tells of an outage, another statement and our own end do not', async (t) => {
  const events: SpendEvent[] = [];
  const reach = new StoreReach((event) => events.push(event));
  let error: Error | null = away;
  const tables: ExtensionTables = {
    migrateExtension: () => Promise.resolve(),
    transact: () => (error === null ? Promise.resolve([]) : Promise.reject(error)),
    listen: () => Promise.resolve(true),
  };
  const watched = reach.watch(tables);
  await t.rejects(watched.transact([]), away);
  t.equal(reach.isReachable, true);
  error = new StoreUnavailable('closed', 'the store is closed');
  await t.rejects(watched.transact([], true), error);
  t.equal(reach.isReachable, true);
  error = away;
  await t.rejects(watched.transact([], true), away);
  t.equal(reach.isReachable, false);
  error = null;
  t.same(await watched.transact([]), []);
  t.equal(reach.isReachable, true);
  t.same(
    events.map(({ name }) => name),
    ['store_unreachable', 'store_reachable'],
  );
});
