// One change at a time over all workers.
import t from 'tap';
import { Turns } from '../../../proxy/cluster/turns.ts';

t.test('turns come one at a time, in the order in which they were asked for', async (t) => {
  const turns = new Turns();
  const [a, b, c] = [{}, {}, {}];
  const order: string[] = [];
  const work = async (holder: object, name: string): Promise<void> => {
    await turns.take(holder);
    order.push(`${name} begins`);
    await new Promise<void>((resolve) => setImmediate(resolve));
    order.push(`${name} ends`);
    turns.end(holder);
  };
  await Promise.all([work(a, 'a'), work(b, 'b'), work(c, 'c')]);
  t.same(order, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});

t.test('a holder that ends, holding or waiting, stops nobody', async (t) => {
  const turns = new Turns();
  const [a, b, c] = [{}, {}, {}];
  await turns.take(a);
  const never = turns.take(b).then(() => t.fail('a turn after its end'));
  const mine = turns.take(c);
  turns.end(b);
  turns.end(a);
  await mine;
  turns.end(a); // without effect: it has none
  const next = turns.take(a);
  turns.end(c);
  await next;
  t.ok(never, 'the dead one was passed over');
});
