// Rounds one after another on a clock that the test moves.
import { setImmediate as turn } from 'node:timers/promises';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { RepeatedRound } from '../../../proxy/server/repeated-round.ts';

interface Made {
  readonly rounds: RepeatedRound;
  begun(): number;
  /** The oldest round that runs ends. */
  end(pauseMs: number | null): Promise<void>;
}

function made(t: Test, random = 0): Made {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const running: ((pauseMs: number | null) => void)[] = [];
  let begun = 0;
  const rounds = new RepeatedRound({
    random: () => random,
    round: () => {
      begun += 1;
      return new Promise((resolve) => void running.push(resolve));
    },
  });
  t.teardown(() => rounds.close());
  const end = async (pauseMs: number | null): Promise<void> => {
    running.shift()?.(pauseMs);
    await turn();
  };
  return { rounds, begun: () => begun, end };
}

t.test('a round begins at once, and the next when the pause after it is over', async (t) => {
  const { rounds, begun, end } = made(t);
  rounds.start();
  t.equal(begun(), 1);
  mock.timers.tick(5_000);
  t.equal(begun(), 1, 'the pause begins with the end of a round');
  await end(1_000);
  mock.timers.tick(999);
  t.equal(begun(), 1);
  mock.timers.tick(1);
  t.equal(begun(), 2);
  await end(null);
  mock.timers.tick(10_000);
  t.equal(begun(), 2, 'a round that wants no other was the last');
});

t.test('replicas that start together spread their pauses by a tenth', async (t) => {
  const { rounds, begun, end } = made(t, 1);
  rounds.start();
  await end(1_000);
  mock.timers.tick(1_099);
  t.equal(begun(), 1);
  mock.timers.tick(1);
  t.equal(begun(), 2);
});

t.test('a round that is begun beside another one leaves one pause, not two', async (t) => {
  const { rounds, begun, end } = made(t);
  rounds.start();
  rounds.start();
  t.equal(begun(), 2);
  await end(1_000);
  await end(1_000);
  mock.timers.tick(1_000);
  t.equal(begun(), 3);
});

t.test('none begins in a pause that was asked for, until it is started again', async (t) => {
  const { rounds, begun, end } = made(t);
  rounds.start();
  await end(1_000);
  rounds.pause();
  mock.timers.tick(10_000);
  t.equal(begun(), 1);
  rounds.start();
  t.equal(begun(), 2);
});

t.test('after the close none begins, whatever ends or starts then', async (t) => {
  const { rounds, begun, end } = made(t);
  rounds.start();
  rounds.close();
  t.ok(rounds.isClosed);
  await end(1_000);
  mock.timers.tick(10_000);
  t.equal(begun(), 1);
  rounds.start();
  t.equal(begun(), 1, 'a reload that ends during a drain starts nothing');
});
