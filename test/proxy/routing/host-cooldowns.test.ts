// Cooldowns that several processes of a host know: who hears of them, and who tries the deployment afterwards.
import t from 'tap';
import { HostCooldowns } from '../../../proxy/routing/host-cooldowns.ts';
import { ManualClock } from '../../support/clock.ts';

t.test('one process tries a deployment whose cooldown is over; a closed one anybody may', (t) => {
  const clock = new ManualClock(0);
  const host = new HostCooldowns(clock.mono);
  t.ok(host.mayTry(1, 'a'), 'nothing is known of it');
  t.ok(host.told({ id: 'a', leftMs: 1_000 }), 'the others hear it');
  t.notOk(host.mayTry(1, 'a'), 'it cools down');
  clock.advance(1_000);
  t.ok(host.mayTry(2, 'a'));
  t.notOk(host.mayTry(1, 'a'));
  t.ok(host.mayTry(2, 'a'), 'asking again changes nothing');
  t.ok(host.told({ id: 'a', leftMs: null }));
  t.ok(host.mayTry(1, 'a'));
  t.notOk(host.told({ id: 'a', leftMs: null }), 'that is known');
  t.end();
});

t.test('a trial that nobody ends is free again, at once where its process has ended', (t) => {
  const clock = new ManualClock(0);
  const host = new HostCooldowns(clock.mono);
  host.told({ id: 'a', leftMs: 0 });
  t.ok(host.mayTry(1, 'a'));
  clock.advance(30_001);
  t.ok(host.mayTry(2, 'a'));
  t.notOk(host.mayTry(1, 'a'));
  host.ended(2);
  t.ok(host.mayTry(1, 'a'));
  t.end();
});

t.test('a process that begins hears what is left; what is long over is forgotten', (t) => {
  const clock = new ManualClock(0);
  const host = new HostCooldowns(clock.mono);
  host.told({ id: 'a', leftMs: 5_000 });
  clock.advance(2_000);
  t.same(host.all, [{ id: 'a', leftMs: 3_000 }]);
  clock.advance(400_000);
  host.told({ id: 'b', leftMs: 1 });
  t.same(
    host.all.map(({ id }) => id),
    ['b'],
  );
  t.end();
});
