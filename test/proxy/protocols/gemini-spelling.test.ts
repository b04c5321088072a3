// The two spellings of a member of Gemini's, and of a list.
import t from 'tap';
import { asList, camelMembers, camelName, spellings } from '../../../proxy/protocols/gemini-spelling.ts';

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

t.test('one object stands for a list of one, and nothing else does', (t) => {
  const list = [{ text: 'a' }];
  t.equal(asList(list), list);
  t.same(asList({ text: 'a' }), list);
  for (const other of ['a', 1, null, undefined]) t.equal(asList(other), other);
  t.end();
});
