// What the brake remembers is bounded: conversations by number and by time.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { BRAKE_RULES, type BrakeSettings } from '../../../../config/brake-settings.ts';
import { Brake } from '../../../../proxy/access/brake/brake.ts';
import { CHAT_CONVERSATION } from '../../../../proxy/protocols/conversation.ts';

const NEVER = { note: Infinity, header: Infinity, alert: Infinity, slow: Infinity, stop: Infinity };
const settings = (more: Partial<BrakeSettings>): BrakeSettings => ({
  enforces: true,
  slowMs: 0,
  maxConversations: 100,
  idleMs: 60_000,
  exemptTools: [],
  ignoredArguments: new Set(),
  pollingMs: 5_000,
  rateFactor: 5,
  minCallsPerMinute: 30,
  minPicoPerMinute: 1e11,
  rules: {
    ...(Object.fromEntries(BRAKE_RULES.map((rule) => [rule, NEVER])) as BrakeSettings['rules']),
    repeated_request: { ...NEVER, stop: 2 },
  },
  ...more,
});

const open = (more: Partial<BrakeSettings> = {}) => {
  const events: string[] = [];
  const counted: string[] = [];
  const brake = new Brake((rule, level) => counted.push(`${rule} ${level}`), {
    emit: (event) => {
      if (event.kind === 'brake') events.push(`${event.level} ${event.conversation}`);
    },
  });
  const own = settings(more);
  const check = (sessionId: string, atMs: number, content = 'x'): string => {
    const body = Buffer.from(`{"messages":[{"role":"user","content":"${content}"}]}`);
    const messages = { start: 12, end: body.length - 1 };
    const request = { holder: 'k', keyHash: 'k', sessionId, body, messages, instructions: null, atMs };
    const verdict = brake.check(
      { ...request, rules: CHAT_CONVERSATION, isContinued: false },
      own,
      () => false,
    );
    const { action } = verdict;
    if (action !== 'stop')
      brake.ended(verdict, { error: 'bad_request', isUnanswered: false, pico: 0, atMs }, own);
    return action;
  };
  return { brake, check, events, counted };
};

t.test('of more conversations the ones that were idle longest are forgotten', (t) => {
  const { brake, check } = open();
  for (let i = 0; i < 5_000; i++) check(`s${i}`, i);
  t.equal(brake.figures.known, 100);
  t.equal(check('s4999', 5_000), 'stop', 'the last ones are known');
  t.equal(check('s4000', 5_000), 'pass', 'the earlier ones are not');
  check('s4901', 5_001); // so it is not the oldest any more
  for (let i = 0; i < 99; i++) check(`n${i}`, 5_002);
  t.equal(check('s4901', 5_003), 'stop');
  t.end();
});

t.test('after a while without calls a conversation begins anew, and others are swept with it', (t) => {
  const { brake, check } = open();
  for (let i = 0; i < 50; i++) check(`s${i}`, 0);
  t.equal(check('s7', 60_000), 'stop');
  t.equal(check('s8', 60_001), 'pass', 'idle for longer');
  t.equal(brake.figures.known, 2);
  t.equal(brake.figures.stopped, 1);
  t.end();
});

t.test('a stop is told of once, and counted each time', (t) => {
  const { check, events, counted } = open();
  for (let i = 0; i < 5; i++) check('s', i);
  t.same(events, ['stop s']);
  t.same(counted, Array(4).fill('repeated_request stop'));
  t.end();
});

t.test(
  'the list for administrators holds what was noticed, and resuming reaches one conversation alone',
  (t) => {
    const { brake, check } = open();
    for (const id of ['a', 'b', 'c']) check(id, 0);
    for (const id of ['a', 'b']) check(id, 1);
    const listed = (): string[] =>
      brake.ask({ conversation: null, resumes: false }).map((one) => one.conversation);
    t.same(listed(), ['a', 'b']);
    t.match(brake.ask({ conversation: 'a', resumes: true }), [{ state: 'running', calls: 1, refused: 1 }]);
    t.same(listed(), ['b']);
    t.same(brake.ask({ conversation: 'z', resumes: true }), []);
    t.end();
  },
);

t.test('threads are bounded over all conversations', (t) => {
  const { brake, check } = open();
  for (let i = 0; i < 100; i++) for (let n = 0; n < 12; n++) check(`s${i}`, i, `task ${n}`);
  t.ok(brake.figures.known >= 16 && brake.figures.known <= 18, `${brake.figures.known} with twelve each`);
  for (let i = 0; i < 300; i++) check(`n${i}`, 200);
  t.equal(brake.figures.known, 100, 'those with one thread are remembered by their number');
  t.end();
});
