import t from 'tap';
import { CallIds } from '../../../proxy/base/ids.ts';

t.test('ids are UUIDs of version 7, each one new, over the end of the pool of random bytes', async (t) => {
  const ids = new CallIds();
  const made = Array.from({ length: 5_000 }, (_, n) => ids.next(1_700_000_000_000 + n));
  t.equal(new Set(made).size, 5_000);
  const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  t.same(
    made.filter((id) => !shape.test(id)),
    [],
  );
});

t.test('ids sort by their time and state it', async (t) => {
  const ids = new CallIds();
  const times = [0, 1, 255, 256, 1_700_000_000_000, 1_700_000_000_001, 2 ** 48 - 1];
  const made = times.map((time) => ids.next(time));
  t.same(made.toSorted(), made);
  t.same(
    made.map((id) => parseInt(id.replaceAll('-', '').slice(0, 12), 16)),
    times,
  );
});

t.test('ids of one millisecond sort as they were made', async (t) => {
  for (let round = 0; round < 20; round++) {
    const ids = new CallIds();
    const made = Array.from({ length: 2_048 }, () => ids.next(1_700_000_000_000));
    t.same(made.toSorted(), made);
  }
});

t.test('every random bit of an id is used', async (t) => {
  const seen = { ones: 0n, zeros: 0n };
  for (let n = 0; n < 500; n++) {
    const bits = BigInt(`0x${new CallIds().next(0).replaceAll('-', '')}`);
    seen.ones |= bits;
    seen.zeros |= ~bits & ((1n << 128n) - 1n);
  }
  // 74 bits are not time, version or variant; the highest of them leaves the counter room.
  t.equal((seen.ones & seen.zeros).toString(2).replaceAll('0', '').length, 73);
});
