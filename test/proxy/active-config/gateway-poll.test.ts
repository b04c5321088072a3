// What gateways are asked in the background, and for how long their answers count: real sockets, a clock that the test moves.
import t, { type Test } from 'tap';
import type { LiveDeployment } from '../../../proxy/active-config/active-config.ts';
import { GatewayPoll } from '../../../proxy/active-config/gateway-poll.ts';
import { startUpstream } from '../../support/call.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { liveOf, servicesOf } from '../../support/services.ts';

const PERIODS = { keptMs: 1_000, failedMs: 100 };

interface Made {
  readonly poll: GatewayPoll<string>;
  /** What the gateway says from now on; null = it fails. */
  says(text: string | null): void;
  readonly asked: string[];
  /** Two entries with one key, one with another key, one that is not asked about. */
  readonly deployments: readonly LiveDeployment[];
  readonly answers: [answer: string, before: string | null][];
  refresh(deployments?: readonly LiveDeployment[]): Promise<void>;
  pass(ms: number): void;
}

async function made(t: Test): Promise<Made> {
  let text: string | null = 'first';
  let nowMs = 5_000;
  const asked: string[] = [];
  const gateway = await startUpstream(t, ({ req, res }) => {
    asked.push(`${req.url} ${req.headers.authorization}`);
    if (text === null) res.writeHead(503).end();
    else res.end(text);
  });
  const entry = (name: string, key: string): string =>
    `  - { model_name: ${name}, litellm_params: { model: openai/x, api_base: "${gateway}/v1", api_key: ${key} } }\n`;
  const yaml = `model_list:\n${entry('a', 'k1')}${entry('b', 'k1')}${entry('c', 'k2')}${entry('left-out', 'k3')}`;
  const deployments = [...liveOf(t, yaml, await servicesOf(t)).deployments.values()];
  const poll = new GatewayPoll<string>(() => nowMs);
  const answers: [string, string | null][] = [];
  return {
    poll,
    says: (next) => void (text = next),
    asked,
    deployments,
    answers,
    refresh: (some = deployments) =>
      poll.refresh(
        some,
        {
          name: 'words',
          isFor: ({ group }) => group !== 'left-out',
          pathOf: () => '/words',
          timeoutMs: PATIENCE_MS,
          maxBytes: 1_000,
          read: (body) => (body === 'nonsense' ? null : body),
          onAnswer: (answer, before) => void answers.push([answer, before]),
        },
        PERIODS,
      ),
    pass: (ms) => void (nowMs += ms),
  };
}

t.test('a gateway is asked once for each key, also by those who ask at the same time', async (t) => {
  const { poll, asked, deployments, refresh } = await made(t);
  await Promise.all([refresh(), refresh()]);
  t.same(asked.toSorted(), ['/words Bearer k1', '/words Bearer k2']);
  const said = deployments.map(({ config }) => poll.of(config)?.answer ?? null);
  t.same(said, ['first', 'first', 'first', null]);
  t.equal([...poll.all].length, 2);
});

t.test('an answer counts for its time, and is kept while the gateway fails', async (t) => {
  const { poll, says, asked, deployments, answers, refresh, pass } = await made(t);
  const [one] = deployments;
  if (one === undefined) throw new Error('no deployment');
  const said = () => poll.of(one.config);
  await refresh([one]);
  pass(999);
  await refresh([one]);
  t.equal(asked.length, 1);
  pass(1);
  says(null);
  await refresh([one]);
  t.match(said(), { answer: 'first', error: /words answered 503/, failures: 1 });
  pass(99);
  await refresh([one]);
  t.equal(asked.length, 2);
  pass(1);
  says('nonsense');
  await refresh([one]);
  t.match(said(), { answer: 'first', error: /answered no list/, failures: 2 });
  pass(100);
  says('second');
  await refresh([one]);
  t.match(said(), { answer: 'second', error: null, failures: 2 });
  t.same(answers, [
    ['first', null],
    ['second', 'first'],
  ]);
});

t.test('what begins, changes or ends is told once', async (t) => {
  const { poll, says, deployments, refresh, pass } = await made(t);
  const some = deployments.slice(0, 1);
  const told = (): (string | null)[] => poll.takeChanges().map(({ error }) => error);
  says(null);
  for (let n = 0; n < 3; n += 1) {
    await refresh(some);
    pass(100);
  }
  t.match(told(), [/503/]);
  await refresh(some);
  t.same(told(), [], 'it goes on to fail');
  pass(100);
  says('mended');
  await refresh(some);
  t.same(told(), [null]);
});

t.test('a gateway of no deployment is forgotten', async (t) => {
  const { poll, deployments, refresh } = await made(t);
  await refresh();
  await refresh(deployments.slice(0, 2));
  t.equal([...poll.all].length, 1);
});
