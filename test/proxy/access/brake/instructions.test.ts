// By which words of a user a thread is known, and how far they are read.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { openingOf } from '../../../../proxy/access/brake/instructions.ts';
import { CHAT_CONVERSATION } from '../../../../proxy/protocols/conversation.ts';

const opening = (...messages: readonly object[]): string => {
  const member = JSON.stringify(messages);
  const body = Buffer.from(`{"messages":${member}}`);
  return openingOf(body, { start: 12, end: body.length - 1 }, CHAT_CONVERSATION);
};

const user = (content: unknown): object => ({ role: 'user', content });
const answer = { role: 'assistant', content: 'Yes.' };
const LONG = 'const a = "b";\n'.repeat(3_000);

t.test('what stands behind the first 32 KB of a user is not read', (t) => {
  const long = opening(user(LONG), answer);
  t.ok(long.length <= 9_000, `${long.length} characters`);
  t.equal(opening(user(`${LONG}, and more`), answer), long);
  t.not(opening(user(`Another. ${LONG}`), answer), long);
  const half = LONG.slice(0, 14_000);
  const three = [1, 2, 3].map((n) => user(`${n} ${half}`));
  t.equal(opening(...three, user('a'), answer), opening(...three, user('b'), answer));
  const few = [1, 2, 3, 4].map((n) => user(`part ${n}`));
  t.equal(opening(...few, user('a'), answer), opening(...few, user('b'), answer), 'nor a fifth message');
  t.end();
});

t.test('long instructions hide no task, nor does what surrounds it', (t) => {
  const instructions = { role: 'system', content: LONG };
  const surroundings = user('<environment_context>/home</environment_context>');
  const task = (n: number): string => opening(instructions, surroundings, user(`Task ${n}`), answer);
  t.not(task(1), task(2));
  t.equal(task(1), opening(instructions, surroundings, user('Task 1'), answer, user('more')));
  t.end();
});

t.test('whose a message is may stand behind its text, or in the next message', (t) => {
  const task = (n: number): string =>
    opening({ content: LONG, role: 'system' }, { content: `Task ${n}`, role: 'user' }, answer);
  t.not(task(1), task(2));
  const short = (n: number): string => opening(user(`Task ${n}`), { role: 'system', content: 'x' }, answer);
  t.not(short(1), short(2));
  t.end();
});

t.test('a mark of the cache changes nothing, however long the text is', (t) => {
  for (const text of ['short', LONG.slice(0, 20_000), LONG]) {
    const marked = [{ type: 'text', text, cache_control: { type: 'ephemeral' } }];
    t.equal(opening(user(text), answer), opening(user(marked), answer), `${text.length} characters`);
  }
  t.end();
});
