import fc from 'fast-check';
import t from 'tap';
import { OpenBegins } from '../../../../proxy/spend/journal/open-begins.ts';
import { beginOf } from '../record/fixture/records.ts';

t.test('it is a map by request id, whatever is set, replaced and deleted', async (t) => {
  const step = fc.tuple(fc.boolean(), fc.nat(7), fc.nat(3));
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const open = new OpenBegins();
      const expected = new Map<string, number>();
      for (const [sets, name, segment] of steps) {
        const requestId = `id-${name}`;
        if (sets) {
          open.set({ segment, entry: beginOf(requestId) });
          expected.set(requestId, segment);
        } else {
          open.delete(requestId);
          expected.delete(requestId);
        }
        const found = new Map(open.values().map((one) => [one.entry.requestId, one.segment]));
        if (open.size !== expected.size || found.size !== expected.size) return false;
        for (const [id, at] of expected) if (found.get(id) !== at || !open.has(id)) return false;
      }
      return true;
    }),
  );
  t.pass('property held');
});
