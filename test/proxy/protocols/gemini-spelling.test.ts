// The two spellings of a member of Gemini's.
import t from 'tap';
import { camelMembers, camelName, spellings } from '../../../proxy/protocols/gemini-spelling.ts';

t.test('each spelling of a name leads to the other', (t) => {
  t.same(spellings('maxOutputTokens'), ['maxOutputTokens', 'max_output_tokens']);
  for (const name of spellings('functionCall')) t.equal(camelName(name), 'functionCall');
  t.end();
});

t.test('members are spelled in camel case; an object that has them so stays the same one', (t) => {
  const camel = { functionCall: { tool_name: 'a' }, text: 'b_c' };
  t.equal(camelMembers(camel), camel);
  t.same(camelMembers({ function_call: { tool_name: 'a' }, text: 'b_c' }), camel);
  t.end();
});
