// A journal moves into a real store: once, in order, one shipment at a time, and again with growing pauses while the store
// is away. Time passes when a test says so.
import { appendFileSync, statSync } from 'node:fs';
import { mock } from 'node:test';
import t from 'tap';
import type { Test } from 'tap';
import { Shipper } from '../../../../proxy/spend/journal/shipper.ts';
import type { SpendEvent } from '../../../../proxy/spend/event.ts';
import { segmentPath, type Position } from '../../../../proxy/spend/store/segments.ts';
import { StoreReach } from '../../../../proxy/spend/store/store-reach.ts';
import { StoreUnavailable, type Shipped, type Store } from '../../../../proxy/spend/store/store.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { NEWEST, sqliteBench, type Bench } from '../store/fixture/benches.ts';

interface Line {
  readonly bench: Bench;
  readonly store: Store;
  readonly shipper: Shipper;
  readonly reach: StoreReach;
  readonly events: SpendEvent[];
  /** Where each shipment went to; the first one has two parts. */
  readonly shipments: Position[];
  /** How often the shipper said that one had come through. */
  readonly came: () => number;
  /** Shipments under way at the same time, at most. */
  readonly most: () => number;
  /** Whole calls in the journal from here on. */
  write(...ids: readonly string[]): void;
  /** The store fails from here on, or no longer. */
  away(isAway: boolean): void;
}

function lineOf(t: Test): Line {
  const bench = sqliteBench(t);
  const store = bench.open();
  const events: SpendEvent[] = [];
  const shipments: Position[] = [];
  let [isAway, running, most, came] = [false, 0, 0, 0];
  let end: Position = { segment: 1, offset: 0 };
  const ship = async (to: Position): Promise<Shipped> => {
    shipments.push(to);
    running += 1;
    most = Math.max(most, running);
    try {
      if (isAway) throw new StoreUnavailable('unavailable', 'the disk is full');
      return await store.ship(to);
    } finally {
      running -= 1;
    }
  };
  const reach = new StoreReach((event) => events.push(event));
  const shipper = new Shipper({
    store: { ship },
    end: () => end,
    onShipped: () => (came += 1),
    reach,
  });
  t.teardown(() => shipper.stop());
  return {
    bench,
    store,
    shipper,
    reach,
    events,
    shipments,
    came: () => came,
    most: () => most,
    write: (...ids) => (end = bench.append(...ids.map((id) => settleOf(beginOf(id))))),
    away: (yes) => (isAway = yes),
  };
}

const idsOf = async (store: Store): Promise<string[]> =>
  (await store.query({}, NEWEST)).rows.map(({ requestId }) => requestId).toSorted();

/** Lets promises that are settled already be heard. */
const heard = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** From here on timers of this process stand still until `mock.timers.tick`. */
function stillTimers(t: Test): void {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
}

t.test('a barrier resolves when the store has all that was written before it', async (t) => {
  const { store, shipper, shipments, came, write } = lineOf(t);
  t.same(shipper.position, { segment: 0, offset: 0 });
  write('a', 'b');
  await shipper.barrier();
  t.same(await idsOf(store), ['a', 'b']);
  t.same([shipper.rows, came(), shipper.position], [2, 1, shipments[1]]);
  await shipper.barrier();
  t.equal(shipments.length, 2, 'there was nothing more');
});

t.test(
  'the first shipment ends where this process began to write, whatever it has written since',
  async (t) => {
    const { bench, store, shipper, shipments, away, write } = lineOf(t);
    away(true);
    write('a');
    await t.rejects(shipper.barrier(), { name: 'StoreUnavailable' });
    write('b');
    away(false);
    await shipper.barrier();
    const begin = { segment: 1, offset: 0 };
    t.same(shipments, [begin, begin, { segment: 1, offset: statSync(segmentPath(bench.dir, 1)).size }]);
    t.same(await idsOf(store), ['a', 'b']);
  },
);

t.test('a first shipment that broke goes on where it was', async (t) => {
  const bench = sqliteBench(t);
  const store = bench.open();
  const shipments: Position[] = [];
  let end: Position = { segment: 1, offset: 0 };
  const ship = async (to: Position): Promise<Shipped> => {
    shipments.push(to);
    const shipped = await store.ship(to);
    if (shipments.length === 2)
      throw new StoreUnavailable('unavailable', 'the connection broke at the commit');
    return shipped;
  };
  const shipper = new Shipper({
    store: { ship },
    end: () => end,
    onShipped: () => 0,
    reach: new StoreReach(() => 0),
  });
  t.teardown(() => shipper.stop());
  end = bench.append(settleOf(beginOf('a')));
  await t.rejects(shipper.barrier(), { name: 'StoreUnavailable' });
  await shipper.barrier();
  t.same(shipments, [{ segment: 1, offset: 0 }, end, end], 'not back to where this process began');
  t.same(await idsOf(store), ['a']);
});

t.test('shipments follow each other, and what is written meanwhile is not forgotten', async (t) => {
  const { store, shipper, most, write } = lineOf(t);
  write('a');
  const first = shipper.barrier();
  write('b');
  const second = shipper.barrier();
  const third = shipper.barrier();
  await Promise.all([first, second, third]);
  t.same(await idsOf(store), ['a', 'b']);
  t.same([most(), shipper.rows], [1, 2]);
});

t.test('rows that the store has already, and lines that are damaged, are no new rows', async (t) => {
  const { bench, store, shipper, write } = lineOf(t);
  write('a', 'a');
  appendFileSync(segmentPath(bench.dir, 1), 'S 00000000 {"requestId":"bad"}\n');
  write('b');
  await shipper.barrier();
  t.same([await idsOf(store), shipper.rows, shipper.damaged], [['a', 'b'], 2, 1]);
  t.equal(shipper.position.offset, statSync(segmentPath(bench.dir, 1)).size);
});

t.test('a store that is away is told of once, and once that it is back', async (t) => {
  const { store, shipper, reach, events, came, write, away } = lineOf(t);
  stillTimers(t);
  away(true);
  write('a');
  t.equal(reach.isReachable, true);
  await t.rejects(shipper.barrier(), { name: 'StoreUnavailable', message: 'the disk is full' });
  await t.rejects(shipper.barrier(), { name: 'StoreUnavailable' });
  t.equal(reach.isReachable, false);
  t.same(
    events.map(({ level, name, message }) => [level, name, message]),
    [['error', 'store_unreachable', 'the disk is full']],
  );
  t.same([came(), shipper.position], [0, { segment: 0, offset: 0 }]);
  away(false);
  await shipper.barrier();
  t.same(await idsOf(store), ['a']);
  t.same(
    [reach.isReachable, events.map(({ name }) => name)],
    [true, ['store_unreachable', 'store_reachable']],
  );
  away(true);
  write('b');
  await t.rejects(shipper.barrier());
  t.equal(events.length, 3, 'the next outage is another one');
});

t.test('a shipment that the closing of the store ends is no failure', async (t) => {
  const { shipper, store, reach, events, write } = lineOf(t);
  await store.close();
  write('a');
  await t.rejects(shipper.barrier(), { name: 'StoreUnavailable', code: 'closed' });
  t.same(events, []);
  t.equal(reach.isReachable, true);
});

t.test('pauses grow from a quarter of a second to ten, and begin anew after a success', async (t) => {
  const { shipper, shipments, write, away } = lineOf(t);
  stillTimers(t);
  away(true);
  write('a');
  await t.rejects(shipper.barrier());
  let tried = shipments.length;
  for (const pauseMs of [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
    mock.timers.tick(pauseMs - 1);
    t.equal(shipments.length, tried, `not before ${pauseMs} ms`);
    mock.timers.tick(1);
    t.equal(shipments.length, (tried += 1));
    await heard();
  }
  away(false);
  await shipper.barrier();
  away(true);
  write('b');
  await t.rejects(shipper.barrier());
  tried = shipments.length;
  mock.timers.tick(250);
  t.equal(shipments.length, tried + 1);
  await heard();
});

t.test('a row waits a second for company; many of them wake it once', async (t) => {
  const { shipper, shipments, write } = lineOf(t);
  stillTimers(t);
  write('a');
  for (let n = 0; n < 5; n += 1) shipper.wake();
  mock.timers.tick(999);
  t.equal(shipments.length, 0);
  mock.timers.tick(1);
  t.equal(shipments.length, 1);
  await shipper.barrier();
  mock.timers.tick(60_000);
  t.equal(shipments.length, 2, 'and nothing is shipped for nothing');
});

t.test('what is written during a shipment is shipped after the next pause', async (t) => {
  const { store, shipper, shipments, write } = lineOf(t);
  stillTimers(t);
  write('a');
  const first = shipper.barrier();
  write('b');
  shipper.wake(); // nothing: a shipment is under way, and its end looks by itself
  await first;
  await heard();
  t.equal(shipments.length, 2);
  mock.timers.tick(1_000);
  t.equal(shipments.length, 3);
  await shipper.barrier();
  t.same(await idsOf(store), ['a', 'b']);
});

t.test('the first shipment goes out with nothing in it, later ones do not', async (t) => {
  const { bench, shipper, shipments, came } = lineOf(t);
  bench.append();
  stillTimers(t);
  shipper.wake();
  mock.timers.tick(1_000);
  t.equal(shipments.length, 1, 'so that a store that cannot be reached is known at once');
  while (came() === 0) await heard();
  shipper.wake();
  mock.timers.tick(1_000);
  t.equal(shipments.length, 1);
});

t.test('nothing is tried again after its end', async (t) => {
  const { shipper, shipments, write, away } = lineOf(t);
  stillTimers(t);
  away(true);
  write('a');
  shipper.wake();
  shipper.stop();
  mock.timers.tick(60_000);
  shipper.wake();
  mock.timers.tick(60_000);
  t.equal(shipments.length, 0);
  await t.rejects(shipper.barrier(), { name: 'StoreUnavailable' });
  mock.timers.tick(60_000);
  t.equal(shipments.length, 1);
});
