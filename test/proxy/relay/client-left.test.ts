// What becomes of an exchange whose client has left, at each stage.
import t from 'tap';
import { afterClientLeft, type Left } from '../../../proxy/relay/client-left.ts';

const READ_ON = { ms: 60_000, most: 5 };
const flowing = (isDelivered: boolean, finished: boolean): Left => ({
  is: 'flowing',
  ending: { isDelivered },
  response: { tap: { finished } },
});
const whole = { is: 'read-on', isDelivered: false, ...READ_ON };
const aborted = { is: 'aborted' };

t.test('a response is read on where the deployment says so, once its request is out', async (t) => {
  for (const is of ['connecting', 'waiting', 'gathering', 'holding'] as const) {
    t.same(afterClientLeft({ is }, { readOn: null }, false), aborted, is);
    t.same(afterClientLeft({ is }, { readOn: null }, true), aborted, is);
    t.same(afterClientLeft({ is }, { readOn: READ_ON }, true), whole, `${is}, kept for a repeated call`);
    t.same(afterClientLeft({ is }, { readOn: READ_ON }, false), is === 'connecting' ? aborted : whole, is);
  }
  for (const finished of [false, true]) {
    t.same(afterClientLeft(flowing(false, finished), { readOn: null }, false), aborted);
    t.same(afterClientLeft(flowing(false, finished), { readOn: READ_ON }, false), whole);
  }
});

t.test(
  'a client that left with everything ends the exchange, or is followed by a second of reading',
  async (t) => {
    for (const readOn of [null, READ_ON]) {
      t.same(afterClientLeft(flowing(true, true), { readOn }, false), { is: 'finished' });
      const rest = { is: 'read-on', isDelivered: true, ms: 1_000, most: Infinity };
      t.same(afterClientLeft(flowing(true, false), { readOn }, false), rest);
    }
  },
);
