// What the battery counts with, and its command line. Its scenarios run with `npm run battery`.
import t from 'tap';
import { readCommandLine } from '../harness/command-line.ts';
import { ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow, tableOf } from '../harness/result-row.ts';

t.test('a result row holds only when something was tried and nothing failed or came to harm', (t) => {
  t.notOk(new ResultRow('nothing').holds, 'nothing tried is no proof');
  const result = new ResultRow('calls', ['lost', 'doubled'], 7);
  result.pass(3);
  result.violations('lost', []);
  t.ok(result.holds);
  t.same(result.cells(), ['calls', '3', '3', '0', '0', '', '', '7']);
  result.violations('lost', ['a', 'b']);
  t.notOk(result.holds, 'a loss is one, whatever passed');
  result.fail('it broke');
  t.same(result.cells(), ['calls', '4', '3', '2', '0', '', '', '7']);
  const { rows, notes } = tableOf('title', [result], ['a note']);
  t.same(rows, [result.cells()]);
  t.same(notes, ['a note', '**calls**: lost: a', '**calls**: lost: b', '**calls**: it broke']);
  t.end();
});

t.test('a run ends what was started, the last first', async (t) => {
  const scenario = new ScenarioRun({ quick: true, seed: 1, rounds: 9, executions: null, seconds: null });
  const ends: number[] = [];
  scenario.teardown(() => ends.push(1));
  scenario.teardown(() => ends.push(2));
  await scenario.close();
  await scenario.close();
  t.same(ends, [2, 1]);
  t.equal(scenario.count(200, 2, scenario.options.rounds), 9, 'what was asked for wins');
  t.equal(scenario.count(200, 2, scenario.options.seconds), 2);
});

t.test('what cannot be asked for is answered with a sentence that says what can', async (t) => {
  const read = (...args: string[]) => readCommandLine(args, ['kill', 'fuzz', 'soak']);
  t.throws(() => read('--only', 'kil'), { message: 'there is no scenario kil; there are kill, fuzz, soak' });
  t.throws(() => read('--quick', '--write'), { message: /--write takes full runs only/ });
  t.throws(() => read('--rounds', '0'), { message: /--rounds takes a whole number above 0/ });
  t.throws(() => read('--bogus'), { message: /Unknown option '--bogus'/ });
  t.match(read(), { scenarios: ['kill', 'fuzz', 'soak'], withFiles: true });
  t.match(read('--only', 'soak', '--only', 'kill', '--seconds', '7', '--quick'), {
    scenarios: ['kill', 'soak'],
    withFiles: false,
    run: { quick: true, seconds: 7, rounds: null },
  });
});
