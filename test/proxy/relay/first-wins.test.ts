// Two attempts and one client: bytes of two responses never meet, and each hears of the client what concerns it.
import { Buffer } from 'node:buffer';
import t from 'tap';
import type { ResponseWatcher } from '../../../proxy/downstream/downstream-response.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import { FirstWins, type HedgeSink } from '../../../proxy/relay/first-wins.ts';
import { NotingSink } from './fixture/exchange.ts';

interface Attempt {
  readonly sink: HedgeSink;
  readonly heard: string[];
}

/** An attempt that watches the client until it is stopped. */
function start(firstWins: FirstWins): Attempt {
  const heard: string[] = [];
  const watcher: ResponseWatcher = {
    onClose: () => void heard.push('close'),
    onDrain: () => void heard.push('drain'),
    onInterrupt: ({ code }) => void heard.push(code),
  };
  const sink = firstWins.open(() => {
    heard.push('stop');
    sink.watcher = null;
  });
  sink.watcher = watcher;
  return { sink, heard };
}

function stage(): { client: NotingSink; firstWins: FirstWins; first: Attempt; second: Attempt } {
  const client = new NotingSink();
  const firstWins = new FirstWins(client);
  return { client, firstWins, first: start(firstWins), second: start(firstWins) };
}

t.test('the first with a valid response wins, whichever it is; the other is cancelled at once', (t) => {
  for (const which of ['first', 'second'] as const) {
    const { client, firstWins, first, second } = stage();
    const [winner, loser] = which === 'first' ? [first, second] : [second, first];
    firstWins.choose(winner.sink);
    t.same([winner.heard, loser.heard], [[], ['stop']]);
    t.same([winner.sink.isCancelled, loser.sink.isCancelled], [false, true]);
    t.equal(client.watcher, firstWins, 'the client is watched for the winner');
    winner.sink.watcher = null;
    t.equal(client.watcher, null);
  }
  t.end();
});

t.test('an attempt that has ended by itself is not cancelled', (t) => {
  const { firstWins, first, second } = stage();
  first.sink.watcher = null;
  firstWins.choose(second.sink);
  t.same(first.heard, []);
  t.notOk(first.sink.isCancelled);
  t.end();
});

t.test('a client that leaves: the oldest may read on, the others are cancelled', (t) => {
  const both = stage();
  both.client.leave();
  t.same([both.first.heard, both.second.heard], [['close'], ['stop']]);
  const one = stage();
  one.first.sink.watcher = null;
  one.client.leave();
  t.same([one.first.heard, one.second.heard], [[], ['close']]);
  t.end();
});

t.test('a slow client and the end of the proxy concern all that run', (t) => {
  const { client, first, second } = stage();
  client.watcher?.onDrain();
  client.watcher?.onInterrupt(new Fault('shutting_down', 'stops'));
  t.same(
    [first.heard, second.heard],
    [
      ['drain', 'shutting_down'],
      ['drain', 'shutting_down'],
    ],
  );
  t.end();
});

t.test('what an attempt writes and asks reaches the client', (t) => {
  const client = new NotingSink();
  const sink = new FirstWins(client).open(() => t.fail('not yet'));
  t.match(sink, { destroyed: false, interrupted: null, keeps: false });
  client.destroyed = client.keeps = client.isSlow = true;
  client.interrupted = new Fault('shutting_down', 'stops');
  t.match(sink, { destroyed: true, interrupted: { code: 'shutting_down' }, keeps: true });
  let isWritten = false;
  sink.writeHead(200, ['a', 'b'], 'Fine');
  sink.flushHeaders();
  t.notOk(
    sink.write(Buffer.from('x'), () => (isWritten = true)),
    'slow',
  );
  client.written?.();
  sink.end(Buffer.from('y'));
  sink.destroy();
  t.same(client.calls, ['head 200 Fine', 'flush', 'write x', 'end y', 'destroy']);
  t.same(client.headers, ['a', 'b']);
  t.ok(isWritten);
  t.end();
});
