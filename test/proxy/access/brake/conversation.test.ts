// What one process knows of a conversation and another does not: a stop and its end hold in both. And which requests are the same
// one again: those that were tried, not those that run side by side or were asked to come later.
import t from 'tap';
import { GEMINI_CONVERSATION } from '../../../../proxy/protocols/conversation.ts';
import { BrakeAgent, BrakeProcess, brakeSettings, onlyRule } from '../../../support/brake-process.ts';

const HOUR = 3_600_000;

/** Tells one process what another has kept. */
function tell(to: BrakeProcess, from: BrakeProcess): void {
  for (const change of from.kept.splice(0)) to.brake.told(change);
}

const RESULT = 'nothing there, and as many words as results of tools usually have at least. '.repeat(10);

function steps(count: number): object[] {
  const messages: object[] = [{ role: 'user', content: 'Find it.' }];
  for (let n = 0; n < count; n += 1) {
    const tool_calls = [{ id: `call_${n}`, function: { name: 'look', arguments: '{"path":"/a"}' } }];
    messages.push(
      { role: 'assistant', tool_calls },
      { role: 'tool', tool_call_id: `call_${n}`, content: RESULT },
    );
  }
  return messages;
}

t.test('what an administrator has resumed goes on where its messages were never seen', (t) => {
  const settings = onlyRule('repeated_step', 6);
  const [one, other, third] = [
    new BrakeProcess(settings),
    new BrakeProcess(settings),
    new BrakeProcess(settings),
  ];
  one.check(steps(0));
  t.equal(one.check(steps(6)).action, 'stop');
  for (const change of one.kept) third.brake.told(change);
  tell(other, one);
  t.equal(other.state, 'stopped');
  one.resume();
  tell(other, one);
  t.equal(other.state, 'running');
  t.equal(other.check(steps(6)).action, 'pass', 'the same request');
  t.equal(other.check(steps(11)).action, 'pass', 'five more steps');
  t.equal(other.check(steps(12)).action, 'stop', 'and counted from the beginning');
  third.resume(); // as workers do, whichever was asked
  t.equal(third.check(steps(7)).action, 'pass', 'a step more');
  t.end();
});

t.test('a stop is kept as long as its agent calls', (t) => {
  const settings = onlyRule('repeated_step', 6);
  const [one, other, next] = [
    new BrakeProcess(settings),
    new BrakeProcess(settings),
    new BrakeProcess(settings),
  ];
  one.check(steps(0));
  t.equal(one.check(steps(6)).action, 'stop');
  const stoppedMs = one.kept[0]?.atMs;
  for (let hour = 1; hour < 9; hour += 1) {
    t.equal(one.check(steps(6), hour * HOUR).action, 'stop');
    const [last] = one.kept.slice(-1);
    if (hour === 8) {
      t.ok((last?.atMs ?? 0) > 2 * HOUR, 'not as old as the stop: the next start does not forget it');
      if (last !== undefined) next.brake.told(last);
    }
    for (const change of one.kept) other.brake.told(change);
  }
  t.ok(one.kept.length <= 5, 'written now and then, not with each call');
  t.equal(other.check(steps(1), 8 * HOUR + 1).action, 'stop', 'in a process that got none of its calls');
  t.match(next.brake.ask({ conversation: 's', resumes: false }), [{ stopped: { atMs: stoppedMs } }]);
  t.end();
});

t.test('requests that run side by side are no repetition, whatever their number', (t) => {
  const process = new BrakeProcess(onlyRule('repeated_request', 3));
  const prompt = [{ role: 'user', content: 'Write a haiku.' }];
  const verdicts = Array.from({ length: 10 }, () => process.check(prompt));
  t.same(
    verdicts.map(({ action }) => action),
    Array(10).fill('pass'),
  );
  for (const one of verdicts.slice(0, 2)) process.ended(one, { error: 'bad_request' });
  t.equal(process.check(prompt).action, 'stop', 'two have failed, and it comes a third time');
  t.end();
});

t.test('in a session of single prompts another prompt goes on where one was sent again and again', (t) => {
  const settings = onlyRule('repeated_request', 3);
  const [process, other] = [new BrakeProcess(settings), new BrakeProcess(settings)];
  const prompt = (content: string): object[] => [
    { role: 'system', content: 'You answer.' },
    { role: 'user', content },
  ];
  for (let n = 0; n < 2; n += 1)
    process.ended(process.check(prompt('a long question')), { error: 'bad_request' });
  t.equal(process.check(prompt('a long question')).action, 'stop');
  tell(other, process);
  t.equal(process.check(prompt('a long question')).action, 'stop');
  t.equal(other.check(prompt('a long question')).action, 'stop', 'where it was not seen, too');
  t.equal(other.check(prompt('next')).action, 'pass');
  t.equal(process.check(prompt('next')).action, 'pass');
  const loop = [
    ...prompt('work'),
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: 'Go on.' },
  ];
  for (let n = 0; n < 2; n += 1) process.ended(process.check(loop), { error: 'bad_request' });
  t.equal(process.check(loop).action, 'stop');
  t.equal(process.check(prompt('a title, please')).action, 'stop', 'a side call is no message in a dialogue');
  t.end();
});

t.test('a prompt that comes by a timetable is served again when what was wrong is mended', (t) => {
  const process = new BrakeProcess(onlyRule('repeated_request', 3));
  const prompt = [{ role: 'user', content: 'How is it going?' }];
  for (let n = 0; n < 2; n += 1) process.ended(process.check(prompt), { error: 'invalid_api_key' });
  for (let minute = 1; minute <= 11; minute += 1)
    t.equal(process.check(prompt, minute * 60_000).action, 'stop', `after ${minute} minutes`);
  const tried = process.check(prompt, 12 * 60_000);
  t.equal(tried.action, 'pass');
  process.ended(tried);
  t.equal(process.check(prompt, 13 * 60_000).action, 'pass');
  t.equal(process.alerts, 1, 'told once');
  t.end();
});

t.test('a failure of another request is none of this one', (t) => {
  const process = new BrakeProcess(onlyRule('repeated_request', 3));
  const [one, other] = [[{ role: 'user', content: 'one' }], [{ role: 'user', content: 'another' }]];
  const running = [process.check(one), process.check(one)];
  t.equal(process.check(other).action, 'pass');
  for (const each of running) process.ended(each, { error: 'bad_request' });
  t.equal(process.check(other).action, 'pass');
  t.end();
});

t.test('who was asked to come again later may', (t) => {
  const process = new BrakeProcess(onlyRule('repeated_request', 3));
  const prompt = [{ role: 'user', content: 'x' }];
  for (let n = 0; n < 8; n += 1) {
    const verdict = process.check(prompt);
    t.equal(verdict.action, 'pass');
    process.ended(verdict, { error: 'rate_limit_exceeded', isUnanswered: true });
  }
  for (const error of ['bad_request', undefined]) process.ended(process.check(prompt), { error });
  t.equal(process.check(prompt).action, 'stop', 'failed, or left by its client');
  t.end();
});

t.test('results without ids belong to the calls in their order', (t) => {
  const process = new BrakeProcess(onlyRule('tool_errors', 4));
  const contents: object[] = [{ role: 'user', parts: [{ text: 'Read all files.' }] }];
  for (let n = 0; n < 4; n += 1) {
    const calls = [`a${n}`, `b${n}`].map((path) => ({ functionCall: { name: 'read', args: { path } } }));
    const results = [{ output: 'fine' }, { error: 'ENOENT: no such file' }];
    contents.push({ role: 'model', parts: calls });
    const parts = results.map((response) => ({ functionResponse: { name: 'read', response } }));
    contents.push({ role: 'user', parts });
  }
  t.equal(process.check(contents, 0, GEMINI_CONVERSATION).action, 'pass', 'every second one is fine');
  t.end();
});

t.test('Gemini’s members are read in both spellings, and one part without a list', (t) => {
  for (const names of [
    { call: 'functionCall', result: 'functionResponse' },
    { call: 'function_call', result: 'function_response' },
  ])
    for (const listed of [(part: object): unknown => [part], (part: object): unknown => part]) {
      const process = new BrakeProcess(onlyRule('repeated_step', 4));
      const contents: object[] = [{ role: 'user', parts: listed({ text: 'Find it.' }) }];
      const actions = [1, 2, 3, 4].map(() => {
        contents.push(
          { role: 'model', parts: listed({ [names.call]: { name: 'look', args: { path: '/a' } } }) },
          { role: 'user', parts: listed({ [names.result]: { name: 'look', response: { output: RESULT } } }) },
        );
        return process.check(contents, 0, GEMINI_CONVERSATION).action;
      });
      t.same(actions, ['pass', 'pass', 'pass', 'stop'], names.call);
    }
  t.end();
});

t.test('a prompt that is sent again and again is told of, and stopped in the end', (t) => {
  const process = new BrakeProcess(brakeSettings(t));
  const prompt = [{ role: 'user', content: 'Solve the task.' }];
  const ask = (atMs: number, end = {}): string => {
    const verdict = process.check(prompt, atMs);
    if (verdict.action !== 'stop') process.ended(verdict, { atMs, ...end });
    return verdict.action;
  };
  for (let n = 1; n < 100; n += 1) ask(n);
  t.equal(process.alerts, 0);
  for (let n = 0; n < 2_000; n += 1) ask(100, { error: 'upstream_error', isUnanswered: true });
  ask(101);
  t.equal(process.alerts, 1, 'the hundredth; what nobody answers does not count');
  for (let n = 101; n < 1_000; n += 1) t.equal(ask(n), 'pass');
  t.equal(ask(1_001), 'stop');
  t.equal(process.check([{ role: 'user', content: 'Another one.' }], 1_002).action, 'pass');
  t.end();
});

t.test('a prompt by a timetable is no loop', (t) => {
  const process = new BrakeProcess(brakeSettings(t));
  const prompt = [{ role: 'user', content: 'How is it going?' }];
  for (let minute = 0; minute < 3_000; minute += 1) {
    const verdict = process.check(prompt, minute * 60_000);
    t.equal(verdict.action, 'pass');
    process.ended(verdict, { atMs: minute * 60_000 });
  }
  t.equal(process.alerts, 0);
  t.end();
});

t.test('agents of few calls, one after another, are told of, and raise no least rate', (t) => {
  const process = new BrakeProcess(brakeSettings(t, 'min_calls_per_minute: 10'));
  const now = { nowMs: 1_790_000_040_000 };
  const agent = (n: number): BrakeAgent => {
    const one = new BrakeAgent(process, now, `Task at ${n}`);
    one.calls('bash', { command: 'ls' }, 'README');
    one.asks();
    return one;
  };
  for (let n = 0; n < 600; n += 1) t.ok(agent(n).isUnharmed, 'from the beginning so');
  t.equal(process.alerts, 1, 'by new_agents');
  const many = new BrakeProcess(brakeSettings(t));
  const agents = Array.from({ length: 40 }, (_, n) => new BrakeAgent(many, now, `Task ${n}`));
  for (let n = 0; n < 30; n += 1)
    for (const one of agents) one.calls('bash', { command: `cat ${n}` }, `file ${n}`);
  t.equal(many.alerts, 0, 'more agents than threads are remembered: none begins anew');
  const quiet = new BrakeProcess(brakeSettings(t, 'min_calls_per_minute: 10, rules: { new_agents: false }'));
  const main = new BrakeAgent(quiet, now, 'Build it.');
  for (let n = 0; n < 8; n += 1) main.calls('read', { n }, `file ${n}`, 60_000);
  for (let n = 0; n < 400; n += 1) {
    const one = new BrakeAgent(quiet, now, `Task at ${n}`);
    one.calls('bash', { command: 'ls' }, 'README', 10);
    one.asks();
  }
  t.ok(quiet.alerts > 0, 'by call_rate');
  t.end();
});
