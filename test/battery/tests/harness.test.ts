// What the battery counts with, and its command line. Its parts are played by `npm run battery`.
import t from 'tap';
import { readCommandLine } from '../harness/command-line.ts';
import { Stage } from '../harness/stage.ts';
import { Tally, tableOf } from '../harness/tally.ts';

t.test('a tally holds only when something was tried and nothing failed or came to harm', (t) => {
  t.notOk(new Tally('nothing').holds, 'nothing tried is no proof');
  const tally = new Tally('calls', ['lost', 'doubled'], 7);
  tally.pass(3);
  tally.harm('lost', []);
  t.ok(tally.holds);
  t.same(tally.cells(), ['calls', '3', '3', '0', '0', '', '', '7']);
  tally.harm('lost', ['a', 'b']);
  t.notOk(tally.holds, 'a loss is one, whatever passed');
  tally.fail('it broke');
  t.same(tally.cells(), ['calls', '4', '3', '2', '0', '', '', '7']);
  const { rows, notes } = tableOf('title', [tally], ['a note']);
  t.same(rows, [tally.cells()]);
  t.same(notes, ['a note', '**calls**: lost: a', '**calls**: lost: b', '**calls**: it broke']);
  t.end();
});

t.test('a stage ends what was started, the last first', async (t) => {
  const stage = new Stage({ quick: true, seed: 1, rounds: 9, executions: null, seconds: null });
  const ends: number[] = [];
  stage.teardown(() => ends.push(1));
  stage.teardown(() => ends.push(2));
  await stage.close();
  await stage.close();
  t.same(ends, [2, 1]);
  t.equal(stage.count(200, 2, stage.wanted.rounds), 9, 'what was asked for wins');
  t.equal(stage.count(200, 2, stage.wanted.seconds), 2);
});

t.test('what cannot be asked for is answered with a sentence that says what can', async (t) => {
  const read = (...args: string[]) => readCommandLine(args, ['kill', 'fuzz', 'soak']);
  t.throws(() => read('--only', 'kil'), { message: 'there is no part kil; there are kill, fuzz, soak' });
  t.throws(() => read('--quick', '--write'), { message: /--write takes full runs only/ });
  t.throws(() => read('--rounds', '0'), { message: /--rounds takes a whole number above 0/ });
  t.throws(() => read('--bogus'), { message: /Unknown option '--bogus'/ });
  t.same(read().parts, ['kill', 'fuzz', 'soak']);
  t.match(read('--only', 'soak', '--only', 'kill', '--seconds', '7', '--quick'), {
    parts: ['kill', 'soak'],
    wanted: { quick: true, seconds: 7, rounds: null },
  });
});
