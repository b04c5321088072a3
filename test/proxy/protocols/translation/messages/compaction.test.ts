// Compactions of Anthropic's: others get the summary in place of what it stands for.
import t from 'tap';
import type { Json } from '../../../../../proxy/bodies/json.ts';
import { between, sent } from '../fixture/talk.ts';

const text = (value: string): object => ({ type: 'text', text: value });
const turn = (role: string, ...content: readonly object[]): object => ({ role, content });
const asked = (...messages: readonly object[]): Json => ({ model: 'm', max_tokens: 9, messages });
const told = (...messages: readonly object[]): unknown =>
  sent('messages', 'chat', asked(...messages))['messages'];

t.test('the summary stands for all before the last compaction, which is not read', (t) => {
  const messages = [
    turn('user', text('old')),
    turn('assistant', { type: 'compaction', content: 'older' }, text('was')),
    turn('user', { type: 'unknown to others' }),
    turn('assistant', text('before'), { type: 'compaction', content: 'the tale' }, text('after')),
    turn('user', text('go on')),
  ];
  t.same(told(...messages), [
    { role: 'user', content: 'Summary of the conversation so far:\n\nthe tale' },
    { role: 'assistant', content: 'after' },
    { role: 'user', content: 'go on' },
  ]);
  t.same(between('messages', 'chat', asked(...messages)).dropped, []);
  t.same(
    told(turn('user', text('old')), turn('assistant', { type: 'compaction', content: 'the tale' })),
    [{ role: 'user', content: 'Summary of the conversation so far:\n\nthe tale' }],
    'a pause after it: the model answers',
  );
  t.end();
});

t.test('a compaction that failed takes nothing away', (t) => {
  t.same(told(turn('user', text('a')), turn('assistant', { type: 'compaction', content: null }, text('b'))), [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ]);
  t.end();
});
