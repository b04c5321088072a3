import t from 'tap';
import { errorBody, errorEvent } from '../../../proxy/protocols/errors.ts';
import { Fault } from '../../../proxy/errors/fault.ts';

const FAULT = new Fault('stream_broken', 'It broke: "quoted"\nand a second line.', { param: 'p' });
const ERROR = {
  message: 'It broke: "quoted"\nand a second line.',
  type: 'upstream_error',
  param: 'p',
  code: 'stream_broken',
};

t.test('a body is the error object, and the messages family wants its type on top', async (t) => {
  for (const family of ['chat', 'completions', 'responses', 'other'] as const) {
    t.strictSame(JSON.parse(errorBody(FAULT, family).toString()), { error: ERROR }, family);
  }
  t.strictSame(JSON.parse(errorBody(FAULT, 'messages').toString()), { type: 'error', error: ERROR });
  t.equal(JSON.parse(errorBody(new Fault('client_gone', ''), 'other').toString()).error.param, null);
});

t.test('the last event of a broken stream is one event that the SDKs of its family raise on', async (t) => {
  const lines = (family: Parameters<typeof errorEvent>[1]): string[] => {
    const text = errorEvent(FAULT, family).toString();
    t.ok(text.endsWith('\n\n'), 'it is complete');
    t.notMatch(text, /\[DONE\]/);
    return text.slice(0, -2).split('\n');
  };
  for (const family of ['chat', 'completions', 'other'] as const) {
    const [data = '', ...rest] = lines(family);
    t.same(rest, []);
    t.strictSame(JSON.parse(data.replace(/^data: /, '')), { error: ERROR }, family);
  }
  const [event, data = '', ...rest] = lines('messages');
  t.same([event, rest], ['event: error', []]);
  t.strictSame(JSON.parse(data.replace(/^data: /, '')), { type: 'error', error: ERROR });
  const [kind, payload = ''] = lines('responses');
  t.equal(kind, 'event: error');
  const { message, code, param } = ERROR;
  t.strictSame(JSON.parse(payload.replace(/^data: /, '')), {
    type: 'error',
    code,
    message,
    param,
    error: ERROR,
  });
});
