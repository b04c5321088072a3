import t from 'tap';
import { OneForAll } from '../../../proxy/base/one-for-all.ts';

t.test('one at a time, and those who wait share the next', async (t) => {
  const begun: PromiseWithResolvers<number>[] = [];
  const first = Promise.withResolvers<undefined>();
  const one = new OneForAll(() => {
    const result = Promise.withResolvers<number>();
    begun.push(result);
    first.resolve(undefined);
    return result.promise;
  });
  const a = one.ask();
  await first.promise;
  const [b, c] = [one.ask(), one.ask()];
  t.equal(begun.length, 1);
  begun[0]?.reject(new Error('failed'));
  await t.rejects(a, { message: 'failed' });
  t.equal(begun.length, 2, 'also after one that failed');
  begun[1]?.resolve(2);
  t.same(await Promise.all([b, c]), [2, 2]);
  t.equal(begun.length, 2);
});
