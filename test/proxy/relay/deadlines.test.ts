import t from 'tap';
import type { Test } from 'tap';
import { Deadlines, type Watched } from '../../../proxy/relay/deadlines.ts';

/** Settles at the first check that `seen` says yes to; a clock that ticks keeps no process alive. */
function checkedUntil(t: Test, deadlines: Deadlines, seen: (nowMs: number) => boolean): Promise<Watched> {
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  return new Promise((resolve) => {
    const one: Watched = {
      index: -1,
      check: (nowMs) => {
        if (seen(nowMs)) resolve(one);
      },
      crash: (error) => t.fail(String(error)),
    };
    deadlines.add(one);
  });
}

t.test('everything that is watched is checked at each tick, with the clock that was handed in', async (t) => {
  let now = 1_000;
  const deadlines = new Deadlines(() => now);
  const seen: number[] = [];
  const other: Watched = { index: -1, check: (nowMs) => void seen.push(nowMs), crash: () => t.fail() };
  deadlines.add(other);
  const one = await checkedUntil(t, deadlines, (nowMs) => {
    t.equal(nowMs, now);
    now += 7;
    return now > 1_020;
  });
  t.ok(seen.length >= 3);
  t.ok(seen.every((at, i) => i === 0 || at > (seen[i - 1] as number)));
  deadlines.delete(one);
  deadlines.delete(other);
  t.equal(deadlines.size, 0);
});

t.test('the tick after a long pause is left out, and never two in a row', async (t) => {
  let [now, ticks] = [0, 0];
  const deadlines = new Deadlines(() => {
    ticks += 1;
    return (now += 5_000); // each tick comes late
  });
  await checkedUntil(t, deadlines, () => true);
  t.equal(ticks, 3, 'the one of the start, one that is left out, one that counts');
});

t.test('what has been let go is not checked, also when it goes in the middle of a tick', async (t) => {
  const deadlines = new Deadlines(() => 0);
  const victim: Watched = {
    index: -1,
    check: () => t.fail('checked after it was let go'),
    crash: () => t.fail(),
  };
  const first: Watched = { index: -1, check: () => deadlines.delete(victim), crash: () => t.fail() };
  deadlines.add(victim);
  deadlines.add(first); // the latest is looked at first
  await checkedUntil(t, deadlines, () => true);
  t.equal(deadlines.size, 2);
});

t.test('a bug in one of them ends that one, and the others are checked', async (t) => {
  const deadlines = new Deadlines(() => 0);
  const bug = new TypeError('a bug');
  const crashed: unknown[] = [];
  const broken: Watched = {
    index: -1,
    check: () => {
      throw bug;
    },
    crash: (error) => {
      crashed.push(error);
      deadlines.delete(broken);
    },
  };
  const other = checkedUntil(t, deadlines, () => true);
  deadlines.add(broken); // the latest is looked at first
  deadlines.delete(await other);
  t.same(crashed, [bug]);
  t.equal(deadlines.size, 0);
});

t.test('the clock stops when nothing is watched and starts again', async (t) => {
  const deadlines = new Deadlines(() => 0);
  for (let round = 0; round < 3; round++) {
    deadlines.delete(await checkedUntil(t, deadlines, () => true));
    t.equal(deadlines.size, 0, `round ${round}`);
  }
});

t.test('a thousand exchanges cost one timer', async (t) => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const deadlines = new Deadlines(() => 0);
  const last = checkedUntil(t, deadlines, () => true);
  const before = timers();
  let checks = 0;
  const many = Array.from({ length: 1_000 }, (): Watched => ({
    index: -1,
    check: () => void (checks += 1),
    crash: () => undefined,
  }));
  for (const one of many) deadlines.add(one);
  t.equal(timers(), before);
  await last;
  await checkedUntil(t, deadlines, () => true);
  t.ok(checks >= 1_000, 'each was checked');
});
