import fc from 'fast-check';
import t from 'tap';
import { DenseMap } from '../../../proxy/base/dense-map.ts';

t.test('it is a map by id, whatever is set, replaced and deleted', async (t) => {
  const step = fc.tuple(fc.boolean(), fc.nat(7), fc.nat(3));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const dense = new DenseMap<string, number>();
      const expected = new Map<string, number>();
      for (const [sets, name, value] of steps) {
        const id = `id-${name}`;
        if (sets) {
          dense.set(id, value);
          expected.set(id, value);
        } else {
          dense.delete(id);
          expected.delete(id);
        }
        const found = new Map(dense);
        if ([...dense.values()].join() !== [...found.values()].join()) return false;
        if (dense.size !== expected.size || found.size !== expected.size) return false;
        for (const [one, at] of expected)
          if (found.get(one) !== at || dense.get(one) !== at || !dense.has(one)) return false;
        if (dense.get('never') !== undefined || dense.has('never')) return false;
      }
      return true;
    }),
  );
  t.pass('property held');
});
