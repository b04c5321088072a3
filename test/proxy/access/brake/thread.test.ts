// Agents that work are neither slowed nor stopped, by the rules as they are out of the box; those that go in circles are
// stopped within a number of calls.
import t from 'tap';
import { BrakeAgent, BrakeProcess, brakeSettings, type SetClock } from '../../../support/brake-process.ts';

const SUB_AGENT = 'You are the Explore sub-agent. Search the code base.';
const MINUTE = 60_000;

const clock = (): SetClock => ({ nowMs: 1_790_000_040_000 });

/** Calls until the brake stops it, this one included. */
function callsUntilStop(most: number, call: (n: number) => string): number {
  for (let n = 1; n <= most; n += 1) if (call(n) === 'stop') return n;
  return Infinity;
}

t.test('sub-agents with other tasks are other threads', (t) => {
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  const agents = Array.from(
    { length: 10 },
    (_, n) => new BrakeAgent(process, now, `Find where feature ${n} is implemented.`, SUB_AGENT),
  );
  for (const one of agents) one.calls('bash', { command: 'ls' }, 'README.md\nsrc');
  for (let n = 0; n < 6; n += 1)
    for (const [i, one] of agents.entries())
      one.calls('bash', { command: `grep -rn feature${i}_${n} src` }, `src/${i}/${n}.c:1: feature`);
  for (const one of agents) t.ok(one.isUnharmed, 'side by side');
  for (let n = 0; n < 14; n += 1) {
    const one = new BrakeAgent(process, now, `Question ${n}`, SUB_AGENT);
    for (const command of ['git status', 'ls', 'cat README.md']) one.calls('bash', { command }, 'as before');
    one.says(`Answer ${n}`);
    t.ok(one.isUnharmed, 'one after the other');
  }
  t.equal(process.alerts, 0);
  t.end();
});

t.test('a sub-agent that goes in circles beside others is stopped', (t) => {
  const process = new BrakeProcess(brakeSettings(t));
  const others = Array.from(
    { length: 9 },
    (_, n) => new BrakeAgent(process, clock(), `Task ${n}`, SUB_AGENT),
  );
  const loop = new BrakeAgent(process, clock(), 'Task of the loop', SUB_AGENT);
  const calls = callsUntilStop(20, (n) => {
    for (const one of others) one.calls('bash', { command: `cat ${n}.c` }, `file ${n}`);
    return loop.calls('bash', { command: 'make' }, 'nothing to be done');
  });
  t.equal(calls, 9, 'the ninth request shows eight calls');
  t.end();
});

t.test('an agent that rewrites its first message is the same thread as long as its history goes on', (t) => {
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  const agent = new BrakeAgent(process, now, 'Build it.');
  const calls = callsUntilStop(20, (n) => {
    agent.messages[1] = { role: 'user', content: `Build it. Files open: ${n}` };
    return agent.calls('bash', { command: 'make' }, 'nothing to be done');
  });
  t.equal(calls, 9);
  t.end();
});

t.test('a history that is summed up again and again in the first message', (t) => {
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  const agent = new BrakeAgent(process, now, 'Build it.');
  const calls = callsUntilStop(60, (n) => {
    if (n % 5 === 0) {
      const summary = `This session is being continued from a previous conversation. Part ${n}: nothing was found.`;
      agent.messages.splice(1, Infinity, { role: 'user', content: summary });
    }
    return agent.calls('read', { file: n }, `part ${n} ${'word '.repeat(3_000)}`);
  });
  t.equal(calls, 20, 'the fourth time');
  t.end();
});

t.test('an agent that changes something between its tests', (t) => {
  const tests: Record<string, (n: number) => string> = {
    'other errors': (n) => `src/a${n}.c:${n}: error: expected ;\nmake: *** [all] Error 2\nexit code 2`,
    'other failures': (n) => `FAILED tests/test_${n}.py - AssertionError: ${n}\n[exit code: 1]`,
    'the same error': () => 'make: *** [all] Error 2\nexit code 2',
    'the same success': () => '12 passed',
  };
  for (const [name, result] of Object.entries(tests)) {
    for (const edits of [1, 2]) {
      const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
      const agent = new BrakeAgent(process, now, 'Mend it.');
      for (let n = 0; n < 100; n += 1) {
        if (n % (edits + 1) === edits) agent.calls('bash', { command: 'make test' }, result(n));
        else
          agent.calls('edit', { path: `src/a${n}.c`, old: `x${n}`, new: 'y' }, 'The file has been edited.');
      }
      t.ok(agent.isUnharmed, `${name}, ${edits} edits between`);
      t.equal(process.alerts, 0);
    }
  }
  t.end();
});

t.test('an agent that tries the same again and again', (t) => {
  const results: Record<string, readonly [(n: number) => string, number]> = {
    'the same result': [() => 'nothing there', 9],
    'the same error': [() => 'Error: no such file', 9],
    'errors of one kind that read differently': [(n) => `Error: request ${n} failed`, 16],
  };
  for (const [name, [result, expected]] of Object.entries(results)) {
    const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
    const agent = new BrakeAgent(process, now, 'Fetch it.');
    const calls = callsUntilStop(40, (n) => agent.calls('fetch', { url: 'u' }, result(n)));
    t.equal(calls, expected, name);
  }
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  const agent = new BrakeAgent(process, now, 'Fetch it.');
  const circle = (n: number): string => agent.calls('bash', { command: `cat ${n % 2}` }, `file ${n % 2}`);
  t.equal(callsUntilStop(40, circle), 13, 'two in turn');
  t.end();
});

t.test('an agent that waits', (t) => {
  const polling: Record<string, (agent: BrakeAgent) => void> = {
    'in one call': (agent) =>
      agent.calls('bash', { command: 'sleep 30; gh run view 1' }, 'in_progress', 30_000),
    'in a call of its own': (agent) => {
      agent.calls('bash', { command: 'sleep 30' }, '', 30_000);
      agent.calls('bash', { command: 'gh run view 1' }, 'in_progress');
    },
    'for something that refuses': (agent) =>
      agent.calls('bash', { command: 'sleep 5; curl localhost' }, 'Error: connection refused', 5_100),
  };
  for (const [name, poll] of Object.entries(polling)) {
    const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
    const agent = new BrakeAgent(process, now, 'Tell me when it is built.');
    for (let n = 0; n < 750; n += 1) poll(agent); // more than an hour, whatever it sleeps
    t.ok(agent.isUnharmed, name);
    t.ok(process.alerts <= 2, 'told of once by repeated_call and by context_growth');
    const restarted = new BrakeProcess(brakeSettings(t));
    const later = new BrakeAgent(restarted, now, 'unused');
    later.messages.splice(0, Infinity, ...agent.messages);
    for (let n = 0; n < 30; n += 1) poll(later);
    t.ok(later.isUnharmed, `${name}, in a process that has not seen it wait`);
  }
  const [process, now] = [new BrakeProcess(brakeSettings(t, 'polling_seconds: 0')), clock()];
  const agent = new BrakeAgent(process, now, 'Tell me when it is built.');
  const poll = (): string =>
    agent.calls('bash', { command: 'sleep 30; gh run view 1' }, 'in_progress', 30_000);
  t.equal(callsUntilStop(40, poll), 9, 'where nothing is polling');
  t.end();
});

t.test('a command that fails is no waiting, however long it takes', (t) => {
  const results = ['FAIL src/a.test.ts\nexit code 1', 'Error: 3 tests failed'];
  for (const takesMs of [100, 6_000, 60_000, 300_000]) {
    for (const result of results) {
      const loop = new BrakeAgent(new BrakeProcess(brakeSettings(t)), clock(), 'Mend it.');
      const calls = callsUntilStop(40, () => loop.calls('bash', { command: 'npm test' }, result, takesMs));
      t.equal(calls, 9, `${takesMs} ms: ${result}`);
      const process = new BrakeProcess(brakeSettings(t));
      const agent = new BrakeAgent(process, clock(), 'Mend it.');
      for (let n = 0; n < 100; n += 1) {
        agent.calls('edit', { path: `src/a${n}.c`, old: `x${n}`, new: 'y' }, 'The file has been edited.');
        agent.calls('bash', { command: 'npm test' }, result, takesMs);
      }
      t.ok(agent.isUnharmed, 'with a change between two runs');
    }
  }
  const seldom = new BrakeAgent(new BrakeProcess(brakeSettings(t)), clock(), 'Build it.');
  for (let n = 0; n < 40; n += 1)
    seldom.calls('bash', { command: 'make' }, 'nothing to be done', n % 5 === 0 ? 100 : 6_000);
  t.ok(seldom.actions.includes('slow'), 'what was waited for counts an eighth');
  t.end();
});

t.test('a slow command that is repeated with success is told of', (t) => {
  const process = new BrakeProcess(brakeSettings(t));
  const agent = new BrakeAgent(process, clock(), 'Build it.');
  for (let n = 0; n < 20; n += 1) agent.calls('bash', { command: 'make' }, 'nothing to be done', 60_000);
  t.equal(process.alerts, 0);
  agent.asks();
  t.equal(process.alerts, 1, 'by repeated_call');
  t.ok(agent.isUnharmed);
  t.end();
});

t.test('an agent that talks to itself', (t) => {
  const talks: Record<string, (agent: BrakeAgent) => string> = {
    'without an answer': (agent) => agent.says('I will continue now.'),
    'with a nudge of its own': (agent) => {
      const action = agent.says('I am working on it.');
      agent.user('continue');
      return action;
    },
  };
  for (const [name, talk] of Object.entries(talks)) {
    const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
    const agent = new BrakeAgent(process, now, 'Build it.');
    t.equal(
      callsUntilStop(30, () => talk(agent)),
      9,
      name,
    );
  }
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  for (let n = 0; n < 30; n += 1) {
    const agent = new BrakeAgent(process, now, `Document ${n}`).user('As JSON, please.');
    agent.messages.push({ role: 'assistant', content: '{' });
    t.equal(agent.asks(), 'pass', 'the beginning of an answer, for another prompt each time');
  }
  t.end();
});

t.test('a person who writes the same again and again', (t) => {
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  const agent = new BrakeAgent(process, now, 'Build it.');
  for (let n = 0; n < 40; n += 1) {
    agent.says('I am working on it.');
    agent.user('continue', 6_000);
  }
  t.ok(agent.isUnharmed);
  t.end();
});

t.test('a client that tries again while nothing is answered', (t) => {
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  const agent = new BrakeAgent(process, now, 'Build it.');
  for (let n = 0; n < 7; n += 1) agent.calls('read', { n }, `file ${n}`, MINUTE);
  for (let n = 0; n < 2_000; n += 1) agent.asks({ error: 'upstream_error', isUnanswered: true });
  for (let n = 0; n < 7; n += 1) agent.calls('read', { again: n }, `file ${n}`);
  t.ok(agent.isUnharmed);
  t.equal(process.alerts, 0);
  const paid = (): string => agent.asks({ error: 'upstream_broken', isUnanswered: false, pico: 1e9 });
  t.equal(callsUntilStop(10, paid), 5, 'where each try costs');
  t.end();
});

/** What a model takes for call after call: as uneven as they are. */
const MODEL_MS = [9_000, 700, 14_000, 2_500, 1_200, 19_000, 500];

t.test('several workers take turns: who waits goes on, who does not is stopped', (t) => {
  for (const workers of [1, 2, 3, 4]) {
    const some = (): BrakeProcess[] =>
      Array.from({ length: workers }, () => new BrakeProcess(brakeSettings(t)));
    const uneven = (agent: BrakeAgent, n: number): void => {
      agent.modelMs = MODEL_MS[n % MODEL_MS.length] ?? 0;
    };
    const polls: Record<string, (agent: BrakeAgent) => void> = {
      'in one call': (agent) => agent.calls('bash', { command: 'sleep 6; gh run view' }, 'pending', 6_500),
      'in a call of its own': (agent) => {
        agent.calls('bash', { command: 'sleep 6' }, '', 6_500);
        agent.calls('bash', { command: 'gh run view' }, 'pending');
      },
    };
    for (const [name, poll] of Object.entries(polls)) {
      const poller = new BrakeAgent(some(), clock(), 'Tell me when it is built.');
      for (let n = 0; n < 150; n += 1) {
        uneven(poller, n);
        poll(poller);
      }
      t.ok(poller.isUnharmed, `${workers} workers: a poller, ${name}`);
    }
    const loop = new BrakeAgent(some(), clock(), 'Build it.');
    const calls = callsUntilStop(150, (n) => {
      uneven(loop, n);
      return loop.calls('bash', { command: 'make' }, 'nothing to be done');
    });
    t.ok(calls <= 30, `${workers} workers: a loop, stopped at call ${calls}`);
  }
  t.end();
});

/** Requests of runs with one task: as they come in when runs go on side by side, or one after the other. */
const interleavings: Record<
  string,
  (runs: readonly BrakeAgent[], step: (run: BrakeAgent, n: number) => void) => void
> = {
  'side by side': (runs, step) => {
    for (let n = 0; n < 4; n += 1) for (const run of runs) step(run, n);
  },
  'one after the other': (runs, step) => {
    for (const run of runs) for (let n = 0; n < 4; n += 1) step(run, n);
  },
};

t.test('runs of one task are threads of their own', (t) => {
  for (const [name, play] of Object.entries(interleavings)) {
    for (const count of [4, 8, 16, 40]) {
      const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
      const runs = Array.from({ length: count }, () => new BrakeAgent(process, now, 'Solve the task.'));
      play(runs, (run, n) => run.calls('bash', { command: `cat ${n}` }, `file ${n}`));
      t.ok(
        runs.every(({ isUnharmed }) => isUnharmed),
        `${count} ${name}`,
      );
    }
  }
  t.end();
});

t.test('a run that goes in circles beside others of its task is stopped', (t) => {
  const [process, now] = [new BrakeProcess(brakeSettings(t)), clock()];
  const others = Array.from({ length: 7 }, () => new BrakeAgent(process, now, 'Solve the task.'));
  for (const one of others) one.modelMs = 10;
  const loop = new BrakeAgent(process, now, 'Solve the task.');
  const calls = callsUntilStop(20, (n) => {
    for (const one of others) one.calls('bash', { command: `cat ${n}` }, `file ${n}`, 10);
    return loop.calls('bash', { command: 'make' }, 'nothing to be done');
  });
  t.equal(calls, 9);
  t.end();
});

t.test('an agent that gives its calls other ids in each request is one run', (t) => {
  const agent = new BrakeAgent(new BrakeProcess(brakeSettings(t)), clock(), 'Build it.');
  const calls = callsUntilStop(20, (n) => {
    const text = JSON.stringify(agent.messages).replaceAll(/"call_[^"]*"/g, `"call_${1_000 + n}"`);
    agent.messages.splice(0, Infinity, ...(JSON.parse(text) as object[]));
    const action = agent.calls('bash', { command: 'make' }, 'nothing to be done');
    return action;
  });
  t.ok(calls <= 10, `stopped at call ${calls}`);
  t.end();
});
