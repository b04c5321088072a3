import t from 'tap';
import { Traces } from '../../../proxy/observability/traces.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const of = (ratio: number, followsCaller = true): Traces =>
  new Traces({ propagates: true, sampler: { ratio, followsCaller } });

t.test('ids are of the right shape, and no two are the same, over the end of the pool', async (t) => {
  const traces = of(1);
  const all = Array.from({ length: 2_000 }, () => traces.begin(null));
  t.ok(all.every(({ traceId, spanId }) => /^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(spanId)));
  t.equal(new Set(all.flatMap(({ traceId, spanId }) => [traceId, spanId])).size, 4_000);
  t.ok(all.every(({ parentId, sampled }) => parentId === null && sampled));
});

t.test('a caller decides where it is followed, and the ratio where it is not', async (t) => {
  const sent = (flags: string): string => `00-${TRACE}-${CALLER}-${flags}`;
  t.match(of(0).begin(sent('01')), { traceId: TRACE, parentId: CALLER, sampled: true });
  t.match(of(1).begin(sent('00')), { traceId: TRACE, sampled: false });
  t.match(of(0, false).begin(sent('01')), { traceId: TRACE, sampled: false });
  t.match(of(1, false).begin(sent('00')), { traceId: TRACE, sampled: true });
});

t.test('all proxies keep the same share of the traces', async (t) => {
  const [tenth, half] = [of(0.1, false), of(0.5, false)];
  let [inTenth, inHalf] = [0, 0];
  for (let n = 0; n < 10_000; n += 1) {
    const { traceId } = half.begin(null);
    const sent = `00-${traceId}-${CALLER}-00`;
    const [a, b] = [tenth.begin(sent).sampled, half.begin(sent).sampled];
    if (a) t.ok(b, 'a trace in the smaller share is in the larger one');
    inTenth += Number(a);
    inHalf += Number(b);
  }
  t.ok(inTenth > 800 && inTenth < 1_200, `${inTenth} of 10,000`);
  t.ok(inHalf > 4_700 && inHalf < 5_300, `${inHalf} of 10,000`);
});
