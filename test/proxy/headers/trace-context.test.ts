import t from 'tap';
import { readTraceparent, traceHeaders } from '../../../proxy/headers/trace-context.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

t.test('what is well-formed is read, by any version', async (t) => {
  const read = { traceId: TRACE, spanId: SPAN };
  t.same(readTraceparent(`00-${TRACE}-${SPAN}-01`), { ...read, sampled: true });
  t.same(readTraceparent(`00-${TRACE}-${SPAN}-00`), { ...read, sampled: false });
  t.same(readTraceparent(`00-${TRACE}-${SPAN}-03`), { ...read, sampled: true }, 'other flags mean nothing');
  t.same(readTraceparent(`00-${TRACE}-${SPAN}-02`), { ...read, sampled: false });
  t.same(readTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes`), { ...read, sampled: true });
});

t.test('what is malformed counts as not sent', async (t) => {
  const malformed = [
    null,
    '',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    ` 00-${TRACE}-${SPAN}-01`,
  ];
  for (const value of malformed) t.equal(readTraceparent(value), null, String(value));
});

t.test('a tracestate goes with the traceparent that it came with', async (t) => {
  const trace = { traceId: TRACE, spanId: SPAN, parentId: 'b7ad6b7169203331', sampled: true };
  const own = ['traceparent', `00-${TRACE}-${SPAN}-01`];
  t.same(traceHeaders(trace, 'a=1,b=2'), [...own, 'tracestate', 'a=1,b=2']);
  t.same(traceHeaders({ ...trace, sampled: false }, null), ['traceparent', `00-${TRACE}-${SPAN}-00`]);
  t.same(traceHeaders({ ...trace, parentId: null }, 'a=1'), own, 'of a parent that was not understood');
  t.same(traceHeaders(trace, `a=${'x'.repeat(4_000)}`), own, 'too long');
  t.same(traceHeaders(trace, 'a=\u00e9'), own, 'not printable');
});
