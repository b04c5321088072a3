// The shape of an error for OpenAI's SDKs; those of responses, messages and Gemini stand in their own tests.
import t from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import { gemini } from '../../../proxy/protocols/gemini.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { PROTOCOLS } from '../../../proxy/protocols/table.ts';
import { ERROR, FAULT, dataOf, eventError } from './fixture/faults.ts';

t.test('a body is the error object', async (t) => {
  for (const { name, errors } of PROTOCOLS.filter((one) => one !== messages && one !== gemini))
    t.strictSame(JSON.parse(errors.body(FAULT).toString()), { error: ERROR }, name);
  for (const { errors } of PROTOCOLS.filter((one) => one !== gemini))
    t.equal(JSON.parse(errors.body(new Fault('client_gone', '')).toString()).error.param, null);
});

t.test('the last event of a broken stream is a data line that SDKs raise on', async (t) => {
  for (const { name, errors } of PROTOCOLS.filter((one) => ![messages, responses, gemini].includes(one))) {
    const [data = '', ...rest] = errors.event(FAULT).toString().slice(0, -2).split('\n');
    t.same(rest, []);
    t.strictSame(dataOf(data), { error: eventError('server_error') }, name);
  }
  for (const { errors } of PROTOCOLS) {
    const text = errors.event(FAULT).toString();
    t.ok(text.endsWith('\n\n'), 'it is complete');
    t.notMatch(text, /\[DONE\]/);
  }
  for (const { name, errors } of PROTOCOLS.filter((one) => one !== gemini)) {
    const late = errors.event(new Fault('idle_timeout', '')).toString();
    t.match(late, /"type":"timeout_error"/, `${name}: a word that the vendors have stays`);
    t.notMatch(errors.event(new Fault('shutting_down', '')).toString(), /proxy_error/, name);
  }
});
