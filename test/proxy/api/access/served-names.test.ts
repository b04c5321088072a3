// Which names of models something serves.
import t from 'tap';
import { servedTest } from '../../../../proxy/api/access/served-names.ts';

t.test('a name, its form without the provider, and patterns on both sides', (t) => {
  const isServed = servedTest(['openai/gpt-a', 'demo'], ['anthropic/*', '*/fixed']);
  for (const name of ['openai/gpt-a', 'gpt-a', 'demo', 'anthropic/claude', 'fixed', 'any/fixed'])
    t.equal(isServed(name), true, name);
  for (const name of ['dem*', 'openai/*', 'gpt-*', 'anthropic/*', 'anthropic/cl*', '*'])
    t.equal(isServed(name), true, name);
  t.end();
});

t.test('others are not', (t) => {
  const isServed = servedTest(['openai/gpt-a', 'demo'], ['anthropic/v*']);
  for (const name of ['dmo', 'Demo', 'azure/gpt-a', 'openai', '', 'x*', 'gpt-b*', 'anthropic/claude'])
    t.equal(isServed(name), false, name);
  t.end();
});

t.test('what is served is gone through once, however many names are asked for', (t) => {
  let read = 0;
  function* counted(names: readonly string[]): Generator<string> {
    for (const name of names) {
      read += 1;
      yield name;
    }
  }
  const isServed = servedTest(counted(['a', 'b']), counted(['c/*']));
  for (let index = 0; index < 100; index += 1) isServed(`none-${index}`);
  t.equal(read, 3);
  t.equal(isServed('b'), true);
  t.end();
});
