import t from 'tap';
import { SignInThrottle } from '../../../../proxy/access/console/sign-in-throttle.ts';
import { Fault } from '../../../../proxy/errors/fault.ts';
import { ManualClock } from '../../../support/clock.ts';

/** Tries of an address until it has to wait. */
function triesOf(throttle: SignInThrottle, address: string | null): number {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      throttle.begin(address);
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.code === 'too_many_sign_ins') return tries;
      throw thrown;
    }
  }
  return Infinity;
}

t.test('each network has its own tries', async (t) => {
  const clock = new ManualClock();
  const throttle = new SignInThrottle(clock.mono);
  t.equal(triesOf(throttle, '10.0.0.1'), 5);
  t.equal(triesOf(throttle, '10.0.0.1'), 0);
  t.equal(triesOf(throttle, '10.0.0.2'), 5);
  t.equal(triesOf(throttle, null), 5);
  t.equal(triesOf(throttle, '2001:db8:0:1::1'), 5);
  t.equal(triesOf(throttle, '2001:DB8:0:1:ffff::9%eth0'), 0, 'the same /64');
  t.equal(triesOf(throttle, '2001:db8::1'), 5, 'another one');
  t.equal(triesOf(throttle, '::ffff:10.9.9.9'), 5, 'an IPv4 address is no network of IPv6');
  t.equal(triesOf(throttle, '::ffff:10.9.9.8'), 5);
  clock.advance(24_000);
  t.equal(triesOf(throttle, '10.0.0.1'), 2, 'waiting gives them back');
  throttle.succeeded('10.0.0.1');
  t.equal(triesOf(throttle, '10.0.0.1'), 5);
});

t.test('many addresses take no memory without end', async (t) => {
  const throttle = new SignInThrottle(new ManualClock().mono);
  t.equal(triesOf(throttle, '10.0.0.1'), 5);
  for (let n = 0; n < 10_000; n += 1) throttle.begin(`192.168.${n >> 8}.${n & 255}`);
  t.equal(triesOf(throttle, '10.0.0.1'), 5, 'the oldest is forgotten');
});
