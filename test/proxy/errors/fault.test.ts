import { inspect } from 'node:util';
import t from 'tap';
import { FAULTS, type FaultCode } from '../../../proxy/errors/codes.ts';
import { Fault, toFault } from '../../../proxy/errors/fault.ts';

t.test('a fault takes status, type and side from the table', async (t) => {
  for (const code of Object.keys(FAULTS) as FaultCode[]) {
    const { status, type, source } = FAULTS[code];
    t.match(new Fault(code, 'text'), {
      code,
      status,
      type,
      source,
      message: 'text',
      param: null,
      headers: [],
    });
  }
});

t.test('a fault carries its parameter, its headers and its cause', async (t) => {
  const cause = new Error('deep');
  const fault = new Fault('journal_unwritable', 'text', {
    param: 'p',
    headers: [['retry-after', '5']],
    cause,
  });
  t.equal(fault.param, 'p');
  t.same(fault.headers, [['retry-after', '5']]);
  t.equal(fault.cause, cause);
  t.notOk('cause' in new Fault('client_gone', 'text'));
});

t.test('a fault that is thrown stays itself; a bug loses its text and keeps it as the cause', async (t) => {
  const fault = new Fault('missing_model', 'text');
  t.equal(toFault(fault), fault);
  for (const thrown of [new TypeError('secret detail'), 'secret detail', null, undefined, { toString: 1 }]) {
    const made = toFault(thrown);
    t.equal(made.code, 'internal_error');
    t.equal(made.status, 500);
    t.notMatch(made.message, /secret detail/);
    t.equal(made.cause, thrown);
  }
  t.match(inspect(toFault(new Error('for the log'))), /for the log/);
});
