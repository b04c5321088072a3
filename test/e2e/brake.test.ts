// The runaway brake from outside: agents that go in circles through a real proxy, in each protocol. Each rule acts at its
// count and not before, a message of the user or an administrator lets a conversation go on, and nothing that is said is
// kept anywhere.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { Test } from 'tap';
import { openCall } from '../support/call.ts';
import { ManualClock } from '../support/clock.ts';
import { newKey } from '../support/manage.ts';
import { defaultConfig, headerOf, rowOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';

const OTHER_KEY = 'sk-other-key';
const MINUTE = 60_000;

const brakeConfig =
  (brake: string) =>
  (demo: Parameters<typeof defaultConfig>[0]): string =>
    defaultConfig(demo, `  inference_keys: ["${OTHER_KEY}"]\nbrake: ${brake}\n`);

const start = (t: Test, brake: string, clock = new ManualClock()): Promise<Rig> =>
  startRig(t, { config: brakeConfig(brake), clock });

/** Only one rule, so that no other one interferes. */
const only = (rule: string, counts: string, more = ''): string => {
  const others = RULES.filter((one) => one !== rule).map((one) => `${one}: false`);
  return `{ mode: enforce${more}, rules: { ${rule}: ${counts}, ${others.join(', ')} } }`;
};
const RULES = [
  'repeated_step',
  'repeated_error',
  'repeated_call',
  'alternation',
  'repeated_prompt',
  'repeated_request',
  'repeated_start',
  'new_agents',
  'tool_errors',
  'call_errors',
  'call_rate',
  'cost_rate',
  'compaction',
  'context_growth',
];

interface Tool {
  readonly name: string;
  readonly input: object;
  readonly result: string;
}

const tool = (name: string, input: object, result: string): Tool => ({ name, input, result });
const LOOK = tool('look', { path: '/a' }, 'nothing there');

/** The messages of an agent, in one protocol. */
class Agent {
  readonly messages: object[] = [];
  readonly #protocol: 'chat' | 'messages' | 'responses';
  readonly #rig: Rig;
  readonly #session: string;
  readonly #model: string;
  #id = 0;

  constructor(
    rig: Rig,
    session: string,
    protocol: 'chat' | 'messages' | 'responses' = 'chat',
    model = 'demo',
  ) {
    this.#rig = rig;
    this.#session = session;
    this.#protocol = protocol;
    this.#model = model;
    this.user('Please find the file.');
  }

  user(content: string): this {
    this.messages.push({ role: 'user', content });
    return this;
  }

  assistant(content: string): this {
    this.messages.push({ role: 'assistant', content });
    return this;
  }

  /** One turn: the assistant calls the tools, and each returns. */
  uses(...tools: readonly Tool[]): this {
    const ids = tools.map(() => `call_${(this.#id += 1)}_${this.#session}`);
    const all = tools.map((one, i) => ({ ...one, id: ids[i] ?? '' }));
    if (this.#protocol === 'chat') {
      const calls = all.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      }));
      this.messages.push({ role: 'assistant', content: null, tool_calls: calls });
      for (const { id, result } of all)
        this.messages.push({ role: 'tool', tool_call_id: id, content: result });
    } else if (this.#protocol === 'messages') {
      const calls = all.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }));
      const results = all.map(({ id, result }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: result,
      }));
      this.messages.push({ role: 'assistant', content: calls }, { role: 'user', content: results });
    } else {
      for (const { id, name, input } of all) {
        const call = { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) };
        this.messages.push({ type: 'reasoning', id: `rs_${id}`, summary: [] }, call);
      }
      for (const { id, result } of all) {
        this.messages.push({ type: 'function_call_output', call_id: id, output: result });
      }
    }
    return this;
  }

  send(more: object = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' };
    const messages = this.#protocol === 'responses' ? { input: this.messages } : { messages: this.messages };
    const body = { model: this.#model, max_tokens: 100, ...messages, ...more };
    return send(this.#rig.url, 'POST', paths[this.#protocol], body, {
      'x-litellm-session-id': this.#session,
      ...headers,
    });
  }

  /** As many turns, each sent. @returns the statuses */
  async repeats(count: number, ...tools: readonly Tool[]): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) statuses.push((await this.uses(...tools).send()).status);
    return statuses;
  }
}

const times = (count: number, value: number): number[] => Array<number>(count).fill(value);
const braked = (answer: Answer): string | undefined => headerOf(answer.rawHeaders, 'x-litellm-brake');
const errorOf = (answer: Answer): { message: string; type: string; code: string } =>
  (JSON.parse(answer.text) as { error: { message: string; type: string; code: string } }).error;

async function brakeOf(rig: Rig, session: string, key?: string): Promise<Record<string, unknown>> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const answer = await send(rig.url, 'GET', `/conversations/${session}/brake`, undefined, headers);
  return { status: answer.status, ...(JSON.parse(answer.text) as object) };
}

t.test('the same call with the same result: noted, told to the client, stopped at the number', async (t) => {
  for (const protocol of ['chat', 'messages', 'responses'] as const) {
    await t.test(protocol, async (t) => {
      const rig = await start(
        t,
        only('repeated_step', '{ note: 3, header: 4, alert: 5, slow: false, stop: 6 }'),
      );
      const agent = new Agent(rig, 's-1', protocol);
      t.equal((await agent.send()).status, 200);
      const answers: Answer[] = [];
      for (let i = 0; i < 6; i++) answers.push(await agent.uses(LOOK).send());
      t.same(
        answers.map(({ status }) => status),
        [...times(5, 200), 400],
      );
      t.same(answers.map(braked), [
        undefined,
        undefined,
        undefined,
        'repeated_step=4',
        'repeated_step=5',
        'repeated_step=6; stop',
      ]);
      const rows = await Promise.all(answers.map((one) => rowOf(rig, one)));
      const notes = rows.map(({ metadata }) =>
        JSON.stringify(metadata).includes('brake: in this conversation'),
      );
      t.same(notes, [false, false, true, true, true, true]);
      const last = answers.at(-1);
      if (last === undefined) throw new Error('no answer');
      const { message, type, code } = errorOf(last);
      const word = protocol === 'messages' ? 'invalid_request_error' : 'runaway_conversation';
      t.match({ type, code }, { type: word, code: 'conversation_stopped' });
      t.match(message, /same tool call gave the same result at least 6 times.*rule repeated_step/);
      t.match(message, /POST \/conversations\/s-1\/brake\/resume/);
      t.notMatch(message, /\b429\b|rate.?limit|context|tool_use|tool_result|invalid_request_error/i);
      t.match(rows.at(-1), { spend: 0, status: 'failure' });
      const event = await rig.logged((line) => line['event'] === 'brake' && line['level'] === 'alert');
      t.match(event, { rule: 'repeated_step', count: 5, conversation: 's-1' });
      t.equal(rig.log.filter((line) => line['event'] === 'brake').length, 2, 'one alert, one stop');
    });
  }
});

for (const isCamel of [true, false])
  t.test(
    `Gemini's own requests, whose calls have no ids, ${isCamel ? 'as documented' : 'with underscores'}`,
    async (t) => {
      const name = (camel: string): string =>
        isCamel ? camel : camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const rig = await start(t, only('repeated_step', '{ slow: false, stop: 4 }'));
      const contents: object[] = [{ role: 'user', parts: [{ text: 'Please find the file.' }] }];
      const ask = async (body: object): Promise<number> => {
        const path = '/v1beta/models/demo:generateContent';
        return (await send(rig.url, 'POST', path, body, { 'x-litellm-session-id': 'g-1' })).status;
      };
      const statuses: number[] = [];
      for (let pgid = 80_859; pgid < 80_863; pgid++) {
        const output = `Output: nothing there\nExit Code: 0\nProcess Group PGID: ${pgid}`;
        contents.push({
          role: 'model',
          parts: [{ [name('functionCall')]: { name: 'run', args: { command: 'ls' } } }],
        });
        contents.push({
          role: 'user',
          parts: [{ [name('functionResponse')]: { name: 'run', response: { output } } }],
        });
        statuses.push(
          await ask({ contents, [name('systemInstruction')]: { parts: [{ text: 'You help.' }] } }),
        );
      }
      t.same(statuses, [200, 200, 200, 400]);
      contents.push(
        { role: 'model', parts: [{ text: 'Yes?' }] },
        { role: 'user', parts: [{ text: 'Look elsewhere.' }] },
      );
      t.equal(await ask({ contents }), 200);
    },
  );

t.test('a new message of the user re-arms it, the same request again does not', async (t) => {
  const rig = await start(t, only('repeated_step', '{ slow: false, stop: 3 }'));
  const agent = new Agent(rig, 's-2');
  t.same(await agent.repeats(3, LOOK), [200, 200, 400]);
  t.equal((await agent.send()).status, 400, 'it stays stopped');
  t.equal((await agent.uses(tool('other', {}, 'x')).send()).status, 400, 'whatever the agent does then');
  agent.user('Look elsewhere.');
  t.equal((await agent.send()).status, 200);
  t.same(await agent.repeats(3, LOOK), [200, 200, 400], 'and counts from the beginning');
  agent.user('Look elsewhere.');
  t.equal((await agent.send()).status, 200, 'a stopped user may write the same once more');
});

t.test('results that differ only by times and ids are the same; others are not', async (t) => {
  const rig = await start(t, only('repeated_step', '{ slow: false, stop: 3 }'));
  const timed = (second: number): Tool =>
    tool(
      'run',
      { command: 'make', summary: `try ${second}` },
      `at 2026-11-22T10:00:0${second}Z: failed in 0.${second}s`,
    );
  const agent = new Agent(rig, 's-3');
  t.equal((await agent.uses(timed(1)).send()).status, 200);
  t.equal((await agent.uses(timed(2)).send()).status, 200);
  t.equal((await agent.uses(timed(3)).send()).status, 400);
  const working = new Agent(rig, 's-4');
  for (let i = 0; i < 25; i++) {
    t.equal((await working.uses(tool('run', { command: 'make' }, `${i} of 25 done`)).send()).status, 200);
  }
});

t.test('within one message, across other calls, and in turn', async (t) => {
  await t.test('equal calls in one message count each', async (t) => {
    const rig = await start(t, only('repeated_step', '{ slow: false, stop: 4 }'));
    t.equal((await new Agent(rig, 'a').uses(LOOK, LOOK, LOOK).send()).status, 200);
    t.equal((await new Agent(rig, 'b').uses(LOOK, LOOK, LOOK, LOOK).send()).status, 400);
  });
  await t.test('other calls between do not hide it', async (t) => {
    const rig = await start(t, only('repeated_step', '{ slow: false, stop: 4 }'));
    const agent = new Agent(rig, 'a');
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      statuses.push(...(await agent.repeats(1, tool('edit', { n: i % 2 }, 'ok'))));
      statuses.push(...(await agent.repeats(1, LOOK)));
    }
    t.same(statuses, [...times(9, 200), 400], 'one of them was new between two of the five');
  });
  await t.test('A-B-A-B, and A-B-C-A-B-C', async (t) => {
    const rig = await start(t, only('alternation', '{ slow: false, stop: 6 }'));
    const [a, b, c] = [tool('a', {}, '1'), tool('b', {}, '2'), tool('c', {}, '3')];
    const two = new Agent(rig, 'two');
    const statuses: number[] = [];
    for (const one of [c, a, b, a, b, a, b]) statuses.push(...(await two.repeats(1, one)));
    t.same(statuses, [...times(6, 200), 400]);
    const three = new Agent(rig, 'three');
    statuses.length = 0;
    for (const one of [a, b, c, a, b, c]) statuses.push(...(await three.repeats(1, one)));
    t.same(statuses, [...times(5, 200), 400]);
    t.same(
      await new Agent(rig, 'one').repeats(8, a),
      times(8, 200),
      'one call again and again is another rule',
    );
  });
});

t.test('errors: of one call, and of one kind across tools', async (t) => {
  await t.test(
    'the same call fails in the same way; other words and a success between count half',
    async (t) => {
      const rig = await start(t, only('repeated_error', '{ slow: false, stop: 3 }'));
      const failing = tool('fetch', { url: 'u' }, 'Error: no answer');
      t.same(await new Agent(rig, 'a').repeats(3, failing), [200, 200, 400]);
      const between = new Agent(rig, 'b');
      t.same(await between.repeats(1, failing), [200]);
      t.same(await between.repeats(1, tool('fetch', { url: 'u' }, 'fine')), [200]);
      t.same(await between.repeats(3, failing), [200, 200, 400]);
      const worded = new Agent(rig, 'c');
      const statuses: number[] = [];
      for (let n = 1; n < 6; n++)
        statuses.push(
          ...(await worded.repeats(1, tool('fetch', { url: 'u' }, `Error: try ${n * 17} of many`))),
        );
      t.same(statuses, [...times(4, 200), 400]);
    },
  );
  await t.test('one kind, whatever the tool', async (t) => {
    const rig = await start(t, only('tool_errors', '{ slow: false, stop: 4 }'));
    const agent = new Agent(rig, 'a');
    const missing = (n: number): Tool =>
      tool(`tool${n}`, { n }, `Traceback (most recent call last):\n ...\nFileNotFoundError: /x/${n}`);
    const statuses: number[] = [];
    statuses.push(...(await agent.repeats(1, missing(0))));
    statuses.push(...(await agent.repeats(1, tool('x', {}, 'Error: ECONNREFUSED'))));
    for (let i = 1; i < 5; i++) statuses.push(...(await agent.repeats(1, missing(i))));
    t.same(statuses, [...times(5, 200), 400]);
  });
  await t.test('LLM calls that fail in one way', async (t) => {
    const rig = await start(t, only('call_errors', '{ slow: false, stop: 3 }'));
    const session = { 'x-litellm-session-id': 'e' };
    const call = async (n: number, model: string): Promise<number> => {
      const messages = [{ role: 'user', content: `question ${n}` }];
      return (await send(rig.url, 'POST', '/v1/chat/completions', { model, messages }, session)).status;
    };
    t.equal(await call(1, 'demo-refuse-400'), 400);
    t.equal(await call(2, 'demo'), 200);
    for (let i = 3; i < 6; i++) t.equal(await call(i, 'demo-refuse-400'), 400);
    const last = await send(
      rig.url,
      'POST',
      '/v1/chat/completions',
      { model: 'demo', messages: [{ role: 'user', content: 'more' }] },
      session,
    );
    t.match(errorOf(last), { code: 'conversation_stopped' });
  });
});

t.test('the same request, the same prompt', async (t) => {
  await t.test('equal bodies without success', async (t) => {
    const rig = await start(t, only('repeated_request', '{ stop: 4 }'));
    const agent = new Agent(rig, 'a', 'chat', 'demo-refuse-400');
    const codes: string[] = [];
    for (let i = 0; i < 4; i++) codes.push(errorOf(await agent.send()).code);
    t.equal(codes.at(-1), 'conversation_stopped');
    t.notOk(codes.slice(0, 3).includes('conversation_stopped'));
    const served = new Agent(rig, 'b');
    for (let i = 0; i < 6; i++) t.equal((await served.send()).status, 200, 'answered ones do not count');
  });
  await t.test('not those that nobody has answered, or that were asked to come again later', async (t) => {
    const rig = await start(t, only('repeated_request', '{ stop: 3 }'));
    const headers = { authorization: `Bearer ${await newKey(rig, { rpm_limit: 1 })}` };
    const limited = new Agent(rig, 'limited');
    const answers: Answer[] = [];
    for (let i = 0; i < 6; i++) answers.push(await limited.send({}, headers));
    t.same(
      answers.map(({ status }) => status),
      [200, ...times(5, 429)],
    );
    for (const model of ['500', '502-html', '503', 'drop', 'header-then-close', 'cut']) {
      const down = new Agent(rig, `down-${model}`, 'chat', `demo-${model}`);
      for (let i = 0; i < 6; i++) t.notMatch((await down.send()).text, /conversation_stopped/, model);
      t.match(await brakeOf(rig, `down-${model}`), {
        state: 'running',
        explanation: ['No rule is reached.'],
      });
    }
  });
  await t.test('equal bodies count within 10 minutes only', async (t) => {
    const clock = new ManualClock();
    const rig = await start(t, only('repeated_request', '{ stop: 3 }'), clock);
    const agent = new Agent(rig, 'a', 'chat', 'demo-refuse-400');
    for (let i = 0; i < 6; i++) {
      t.not(errorOf(await agent.send()).code, 'conversation_stopped');
      clock.advance(6 * MINUTE);
    }
  });
  await t.test('an agent that talks to itself', async (t) => {
    const rig = await start(t, only('repeated_prompt', '{ slow: false, stop: 4 }'));
    const agent = new Agent(rig, 'a');
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      agent.assistant('I am done.').user('Please go on.');
      statuses.push((await agent.send()).status);
    }
    t.same(statuses, [200, 200, 200, 400, 400]);
  });
});

t.test('what grows and what is cut away', async (t) => {
  await t.test('compaction loop', async (t) => {
    const clock = new ManualClock();
    const rig = await start(
      t,
      only('compaction', '{ note: 2, header: 2, alert: 2, slow: false, stop: 3 }'),
      clock,
    );
    const big = 'word '.repeat(3_000);
    const statuses: number[] = [];
    const grown = new Agent(rig, 'c');
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 3; i++)
        statuses.push(...(await grown.repeats(1, tool('read', { round, i }, `${round}${i} ${big}`))));
      // The agent replaces its history by a summary, which it puts into a message of the user.
      grown.messages.splice(1);
      grown.user(`Summary of the conversation so far, number ${round}.`);
      statuses.push((await grown.send()).status);
      clock.advance(MINUTE);
    }
    t.same(statuses.slice(0, 11), times(11, 200));
    t.equal(statuses[11], 400, 'the third time');
    t.match(await brakeOf(rig, 'c'), { state: 'stopped', explanation: [/shrank to less than half 3 times/] });
  });
  await t.test('not where a request holds only what is new', async (t) => {
    const rig = await start(t, only('compaction', '{ slow: false, stop: 2 }'));
    for (let i = 0; i < 8; i++) {
      const output = i % 2 === 0 ? 'word '.repeat(5_000) : `short ${i}`;
      const input = [{ type: 'function_call_output', call_id: `c${i}`, output }];
      const body = { model: 'demo', conversation: 'conv_1', instructions: 'You help.', input };
      const answer = await send(rig.url, 'POST', '/v1/responses', body, { 'x-litellm-session-id': 'kept' });
      t.equal(answer.status, 200, answer.text.slice(0, 300));
    }
  });
  await t.test('a prompt that grows with every call', async (t) => {
    const rig = await start(t, only('context_growth', '{ note: 5, header: 5, stop: 8 }'));
    const agent = new Agent(rig, 'g');
    await agent.send();
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) statuses.push(...(await agent.repeats(1, tool('read', { i }, `part ${i}`))));
    t.same(statuses, [...times(7, 200), 400]);
  });
});

t.test('calls and cost per minute, against the history of the conversation', async (t) => {
  for (const [rule, more] of [
    ['call_rate', ', rate_factor: 3, min_calls_per_minute: 5'],
    ['cost_rate', ', rate_factor: 3, min_cost_per_minute: 0.003'],
  ] as const) {
    await t.test(rule, async (t) => {
      const clock = new ManualClock(1_790_000_040_000);
      const rig = await start(t, only(rule, '{ note: 1, header: 1, slow: false, stop: 3 }', more), clock);
      const session = { 'x-litellm-session-id': 'r' };
      let n = 0;
      const minute = async (calls: number): Promise<number[]> => {
        const statuses: number[] = [];
        for (let i = 0; i < calls; i++) {
          const body = { model: 'demo-cost', messages: [{ role: 'user', content: `question ${(n += 1)}` }] };
          statuses.push((await send(rig.url, 'POST', '/v1/chat/completions', body, session)).status);
        }
        clock.advance(MINUTE);
        return statuses;
      };
      for (let i = 0; i < 6; i++) t.same(await minute(1), [200], 'what is usual');
      t.same(await minute(8), times(8, 200), 'the first minute');
      t.same(await minute(8), times(8, 200), 'the second');
      const third = await minute(8);
      t.equal(third[0], 200, 'the third one has to be too fast first');
      t.equal(third.at(-1), 400);
      t.match(await brakeOf(rig, 'r'), {
        state: 'stopped',
        explanation: [
          /3 minutes in a row: \S+ (?:calls )?in the last of them, usual are .*Requests refused since then: \d+; passed on before: \d+\.$/,
        ],
      });
    });
  }
});

t.test('levels', async (t) => {
  await t.test('observe: nothing is slowed or stopped, what would have been is noted', async (t) => {
    const rig = await start(t, '{ rules: { repeated_step: { stop: 3 } } }');
    const agent = new Agent(rig, 'o');
    t.same(await agent.repeats(10, LOOK), times(10, 200));
    const rows = await rig.rows();
    // Of ten calls, from the third on; rows of one millisecond have no order.
    t.equal(rows.filter((row) => JSON.stringify(row).includes('would be stopped')).length, 8);
    t.match(await brakeOf(rig, 'o'), { state: 'noticed', mode: 'observe' });
  });
  await t.test('slow: a pause before the call, which a client that leaves ends', async (t) => {
    const rig = await start(t, only('repeated_step', '{ slow: 2, stop: 9 }', ', slow_seconds: 300'));
    const agent = new Agent(rig, 'w');
    await agent.uses(LOOK).send();
    const seen = rig.demo.seen.length;
    agent.uses(LOOK);
    const body = { model: 'demo', messages: agent.messages };
    const call = openCall(rig.url, '/v1/chat/completions', body, { 'x-litellm-session-id': 'w' });
    while ((await brakeOf(rig, 'w'))['state'] !== 'noticed') await turn();
    call.leave();
    const line = await rig.logged((one) => one['session'] === 'w' && one['end'] === 'client_gone');
    t.ok(line);
    t.equal(rig.demo.seen.length, seen, 'it has not reached the gateway');
  });
  await t.test('slow: the call is served afterwards, and the pause is no overhead', async (t) => {
    const rig = await start(
      t,
      only('repeated_step', '{ header: false, slow: 2, stop: 9 }', ', slow_seconds: 0.001'),
    );
    const agent = new Agent(rig, 'w');
    await agent.uses(LOOK).send();
    const answer = await agent.uses(LOOK).send();
    t.equal(answer.status, 200);
    t.equal(braked(answer), 'slow');
  });
  await t.test('off: no header, no route', async (t) => {
    const rig = await startRig(t);
    const agent = new Agent(rig, 'off');
    t.same(await agent.repeats(12, LOOK), times(12, 200));
    t.match(await brakeOf(rig, 'off'), { status: 400, error: { code: 'brake_off' } });
  });
  await t.test('a reload switches it on and off', async (t) => {
    const rig = await startRig(t);
    const agent = new Agent(rig, 'reload');
    t.same(await agent.repeats(3, LOOK), times(3, 200));
    await rig.reconfigure(brakeConfig(only('repeated_step', '{ slow: false, stop: 5 }'))(rig.demo));
    t.equal((await agent.uses(LOOK).send()).status, 200, 'the fourth: earlier ones are seen in the messages');
    t.equal((await agent.uses(LOOK).send()).status, 400);
    await rig.reconfigure(defaultConfig(rig.demo));
    t.equal((await agent.uses(LOOK).send()).status, 200);
  });
});

t.test('exempt tools', async (t) => {
  const rules =
    'rules: { repeated_step: { slow: false, stop: 3 }, repeated_prompt: { slow: false, stop: 3 } }';
  const rig = await start(t, `{ mode: enforce, exempt_tools: [wait, "browser_*"], ${rules} }`);
  const agent = new Agent(rig, 'x');
  t.same(await agent.repeats(6, tool('wait', {}, 'still running')), times(6, 200));
  t.same(await agent.repeats(6, tool('browser_wait', {}, 'loading')), times(6, 200));
  t.same(await agent.repeats(3, tool('waiting', {}, 'no')), [200, 200, 400]);
});

t.test('conversations are told apart', async (t) => {
  await t.test('by session and by key', async (t) => {
    const rig = await start(t, only('repeated_step', '{ slow: false, stop: 3 }'));
    const own = new Agent(rig, 'same');
    t.same(await own.repeats(3, LOOK), [200, 200, 400]);
    const other = new Agent(rig, 'same');
    const headers = { authorization: `Bearer ${OTHER_KEY}` };
    t.equal((await other.uses(LOOK).send({}, headers)).status, 200, 'another key cannot stop it');
    t.match(await brakeOf(rig, 'same', OTHER_KEY), { status: 200, state: 'running', calls: 1 });
    t.match(await brakeOf(rig, 'same'), { state: 'stopped', calls: 3, refused: 1 });
    t.match(await brakeOf(rig, 'unknown', OTHER_KEY), {
      status: 404,
      error: { code: 'conversation_not_found' },
    });
  });
  await t.test('without a session by the first message', async (t) => {
    const rig = await start(t, only('repeated_step', '{ slow: false, stop: 3 }'));
    const agent = new Agent(rig, 'unused');
    const messages: object[] = [{ role: 'system', content: 'You help.' }, ...agent.messages];
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      agent.uses(LOOK);
      const body = { model: 'demo', messages: [...messages, ...agent.messages.slice(1)] };
      statuses.push((await send(rig.url, 'POST', '/v1/chat/completions', body)).status);
    }
    t.same(statuses, [200, 200, 400]);
    const { text } = await send(rig.url, 'GET', '/conversations/braked');
    const { conversations } = JSON.parse(text) as {
      conversations: { conversation: string; state: string }[];
    };
    t.match(conversations, [{ conversation: /^first-message:[\da-f]{12}$/, state: 'stopped' }]);
    const id = conversations[0]?.conversation ?? '';
    t.equal((await send(rig.url, 'POST', `/conversations/${id}/brake/resume`)).status, 200);
    const again = { model: 'demo', messages: [...messages, ...agent.messages.slice(1)] };
    t.equal((await send(rig.url, 'POST', '/v1/chat/completions', again)).status, 200);
  });
  await t.test('side calls of the same session neither re-arm nor hide', async (t) => {
    const rig = await start(t, only('repeated_step', '{ slow: false, stop: 4 }'));
    const agent = new Agent(rig, 'side');
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) {
      statuses.push(...(await agent.repeats(1, LOOK)));
      const title = {
        model: 'demo',
        messages: [{ role: 'user', content: `Find a title for conversation ${i}.` }],
      };
      await send(rig.url, 'POST', '/v1/chat/completions', title, { 'x-litellm-session-id': 'side' });
    }
    t.same(statuses, [200, 200, 200, 400]);
  });
});

t.test('a new message of the user in a conversation whose messages are stored', async (t) => {
  const rig = await start(t, only('call_errors', '{ slow: false, stop: 2 }'));
  const say = async (input: unknown, model = 'demo'): Promise<number> => {
    const body = { model, conversation: 'conv_1', input };
    return (await send(rig.url, 'POST', '/v1/responses', body, { 'x-litellm-session-id': 'stored' })).status;
  };
  const stopped = async (): Promise<boolean> => (await brakeOf(rig, 'stored'))['state'] === 'stopped';
  for (const next of ['Try again.', [{ role: 'user', content: 'Try once more.' }]]) {
    const results = [1, 2, 3].map((n) => [{ type: 'function_call_output', call_id: `c${n}`, output: 'x' }]);
    for (const input of results) t.equal(await say(input, 'demo-refuse-400'), 400);
    t.ok(await stopped());
    t.equal(await say(results[0]), 400, 'a result is no message of the user');
    t.equal(await say(next), 200);
    t.notOk(await stopped());
  }
  for (let n = 0; n < 4; n++) t.equal(await say('The same each time.', 'demo-refuse-400'), 400);
  t.equal(await say('The same each time.', 'demo-refuse-400'), 400);
  t.ok(await stopped(), 'sent again it is no new message');
});

t.test("Claude Code's instructions begin with a line that differs in each request", async (t) => {
  let n = 0;
  const text = (): string =>
    `x-anthropic-billing-header: cc_version=2.1.177.0${(n += 1)}c; cch=${36_000 + n};`;
  const spellings = {
    blocks: (agent: string) => [
      { type: 'text', text: text() },
      { type: 'text', text: agent },
    ],
    text: (agent: string) => `${text()}\n${agent}`,
  };
  for (const [name, system] of Object.entries(spellings)) {
    const rig = await start(t, only('repeated_prompt', '{ slow: false, stop: 4 }'));
    const agent = new Agent(rig, 'cc', 'messages');
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) {
      agent.assistant('I am done.').user('Please go on.');
      statuses.push((await agent.send({ system: system('You are an agent.') })).status);
      const other = new Agent(rig, 'cc', 'messages').user('Find a title.');
      if (i < 3) await other.send({ system: system('You find titles.') });
    }
    t.same(statuses, [200, 200, 200, 400], name);
    t.equal((await agent.send({ system: system('You are an agent.') })).status, 400, 'the same again');
  }
});

t.test('resume', async (t) => {
  const rig = await start(t, only('repeated_step', '{ slow: false, stop: 3 }'));
  const agent = new Agent(rig, 'res');
  t.same(await agent.repeats(3, LOOK), [200, 200, 400]);
  const path = '/conversations/res/brake/resume';
  const denied = await send(rig.url, 'POST', path, undefined, { authorization: `Bearer ${OTHER_KEY}` });
  t.equal(denied.status, 403, 'a key for LLM calls may not');
  t.equal(
    (await send(rig.url, 'GET', '/conversations/braked', undefined, { authorization: `Bearer ${OTHER_KEY}` }))
      .status,
    403,
  );
  t.equal((await agent.send()).status, 400);
  const resumed = await send(rig.url, 'POST', path);
  t.match(JSON.parse(resumed.text), { state: 'running' });
  t.match(
    rig.log
      .filter((line) => line['event'] === 'admin_change')
      .map((line) => [line['outcome'], line['action']]),
    [
      ['refused', 'brake_resume'],
      ['applied', 'brake_resume'],
    ],
  );
  t.equal((await agent.send()).status, 200, 'the same request goes through');
  t.same(await agent.repeats(3, LOOK), [200, 200, 400], 'and counting began anew');
  t.equal((await send(rig.url, 'POST', '/conversations/nobody/brake/resume')).status, 404);
});

t.test('a restart forgets the stop, but not the loop that the messages show', async (t) => {
  const rig = await start(t, only('repeated_step', '{ slow: false, stop: 4 }'));
  const agent = new Agent(rig, 'again');
  t.same(await agent.repeats(4, LOOK), [200, 200, 200, 400]);
  const second = await start(t, only('repeated_step', '{ slow: false, stop: 4 }'));
  const moved = new Agent(second, 'again');
  moved.messages.splice(0, 1, ...agent.messages);
  t.equal((await moved.send()).status, 200, 'it may have waited each time');
  t.equal((await moved.uses(LOOK).send()).status, 400, 'but does not');
  const third = await start(t, only('repeated_step', '{ slow: false, stop: 4 }', ', polling_seconds: 0'));
  const unasked = new Agent(third, 'again');
  unasked.messages.splice(0, 1, ...agent.messages);
  t.equal((await unasked.send()).status, 400, 'stopped by the first request, where waiting counts');
});

t.test('a conversation that another worker has served meanwhile', async (t) => {
  const brake = only('repeated_step', '{ slow: false, stop: 6 }');
  const [one, two] = [await start(t, brake), await start(t, brake)];
  const agent = new Agent(one, 'hop');
  const other = new Agent(two, 'hop');
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) {
    agent.uses(
      tool('look', { path: '/a' }, 'nothing there, and a few words more to be of a usual length'.repeat(5)),
    );
    other.messages.splice(0, Infinity, ...agent.messages);
    statuses.push((await (i % 2 === 0 ? agent : other).send()).status);
  }
  t.same(statuses, [...times(5, 200), 400]);
});

t.test('huge, deep and odd bodies', async (t) => {
  const rig = await start(t, only('repeated_step', '{ slow: false, stop: 3 }'));
  await t.test('a result of 2 MB is the same as itself', async (t) => {
    const huge = tool('read', { path: '/big' }, '"\\ x'.repeat(60_000));
    t.same(await new Agent(rig, 'huge').repeats(3, huge), [200, 200, 400]);
    const farther = tool('read', { path: '/big' }, 'x'.repeat(2_000_000));
    t.same(
      await new Agent(rig, 'huger').repeats(3, farther),
      times(3, 200),
      'beyond 1 MB nothing is compared',
    );
  });
  await t.test('nested input', async (t) => {
    const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const agent = new Agent(rig, 'deep');
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      agent.messages.push(
        {
          role: 'assistant',
          tool_calls: [{ id: `d${i}`, function: { name: 'nest', arguments: deep(20_000) } }],
        },
        { role: 'tool', tool_call_id: `d${i}`, content: deep(20_000) },
      );
      statuses.push((await agent.send()).status);
    }
    t.same(statuses, [200, 200, 400]);
  });
  await t.test('shapes that no agent sends', async (t) => {
    const odd = [
      { messages: 'text' },
      { messages: null },
      { messages: {} },
      { messages: [] },
      { messages: [null, 1, 'x', [], {}, { role: 7 }] },
      {
        messages: [
          { role: 'assistant', tool_calls: 'x' },
          { role: 'tool' },
          { role: 'tool', content: [1, null] },
        ],
      },
      {
        messages: [
          { role: 'assistant', tool_calls: [null, {}, { function: 1 }] },
          { role: 'tool', content: {} },
        ],
      },
    ];
    for (const body of odd) {
      const answer = await send(rig.url, 'POST', '/v1/chat/completions', { model: 'demo', ...body });
      t.not(answer.status, 500, JSON.stringify(body));
    }
  });
});

t.test('no text of a conversation is kept, told or counted by the brake', async (t) => {
  const rig = await start(
    t,
    '{ mode: enforce, rules: { repeated_step: { note: 1, header: 1, alert: 2, slow: false, stop: 4 } } }',
  );
  const CANARY = 'canary-7f3a9';
  const agent = new Agent(rig, 'canary').user(`${CANARY}-user`);
  const secret = tool(`${CANARY}-tool`, { path: `${CANARY}-input` }, `Error: ${CANARY}-result`);
  t.same(await agent.repeats(4, secret), [200, 200, 200, 400]);
  agent.assistant(`${CANARY}-assistant`);
  const answer = await agent.send();
  const shown = [
    answer.text,
    answer.rawHeaders.join(' '),
    JSON.stringify(await rig.rows()),
    JSON.stringify(rig.log),
    (await send(rig.url, 'GET', '/metrics')).text,
    JSON.stringify(await brakeOf(rig, 'canary')),
    (await send(rig.url, 'GET', '/conversations/braked')).text,
  ];
  for (const text of shown) t.notOk(text.includes(CANARY));
  const files = readdirSync(join(rig.folder, 'data'), { recursive: true, encoding: 'utf8' })
    .map((file) => join(rig.folder, 'data', file))
    .filter((file) => statSync(file).isFile());
  t.ok(files.length > 0);
  for (const file of files) t.notOk(readFileSync(file).includes(CANARY), file);
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, /throughline_brake_actions_total\{rule="repeated_step",level="stop"\} 2/);
  t.match(text, /^throughline_brake_stopped_conversations 1$/m);
});
