// What the shared counters are to be told, while they are away.
import t from 'tap';
import type { CounterName, SettledCall } from '../../../../proxy/access/counters.ts';
import { nameOf } from '../../../../proxy/access/valkey/json-texts.ts';
import { operation } from '../../../../proxy/access/valkey/pending-operations.ts';
import { unconnected } from './fixture/unconnected.ts';

const counter = (budget: string): CounterName => ({ budget, windowStartMs: 0 });

t.test('what waits is looked through once, however many counters are asked for', async (t) => {
  const operations = unconnected('one');
  let looks = 0;
  const ended = (requestId: string, budget: string, pico: bigint): SettledCall => ({
    requestId,
    tokens: null,
    get spent() {
      looks += 1;
      return [{ ...counter(budget), pico }];
    },
  });
  for (let i = 0; i < 10; i += 1) operations.addCost(ended(`c${i}`, `key:${i % 5}`, BigInt(i)), '');
  for (let i = 0; i < 5; i += 1)
    t.same(
      [...operations.costsIn(nameOf(counter(`key:${i}`)))],
      [
        [`c${i}`, BigInt(i)],
        [`c${i + 5}`, BigInt(i + 5)],
      ],
    );
  t.equal(looks, 10);
  t.same([...operations.costsIn('key:other@0')], []);
});

t.test('what comes and goes meanwhile is known', async (t) => {
  const operations = unconnected('one');
  const of = (budget: string): object => Object.fromEntries(operations.costsIn(nameOf(counter(budget))));
  const add = (requestId: string, budget: string, pico: bigint): void =>
    operations.addCost({ requestId, tokens: null, spent: [{ ...counter(budget), pico }] }, '');
  t.same(of('a'), {});
  add('1', 'a', 1n);
  add('2', 'b', 2n);
  add('3', 'a', 3n);
  operations.add(operation('x', '4'));
  t.same(of('a'), { 1: 1n, 3: 3n });
  t.same(of('b'), { 2: 2n });
  const batch = operations.carried();
  add('5', 'a', 5n);
  t.same(of('a'), { 1: 1n, 3: 3n, 5: 5n }, 'not told yet');
  batch?.done(true);
  t.same(of('a'), { 5: 5n });
  operations.inSums(operations.costs);
  t.same(of('a'), {}, 'a sum holds it');
});
