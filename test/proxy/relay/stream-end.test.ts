// When a client has everything of a stream, and when an upstream should have ended it.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { StreamEnding } from '../../../proxy/relay/stream-end.ts';
import type { LastEvent } from '../../../proxy/relay/sse-tap.ts';
import { tapFor, type Tap } from '../../../proxy/relay/tap.ts';
import { NO_OBSERVATION } from './fixture/exchange.ts';
import { chunk, DONE, usageOnly } from './fixture/streams.ts';

function tapOf(contentType = 'text/event-stream'): Tap {
  const head = { contentType, contentEncoding: null, contentLength: null, pass: [] };
  return tapFor({ ...head, cost: null, callId: null, retryAfter: null }, chat, NO_OBSERVATION);
}

/** Reads the pieces; those that are followed have reached the system. */
function written(last: LastEvent, ...pieces: readonly string[]): StreamEnding {
  const tap = tapOf();
  const ending = new StreamEnding(tap, last);
  for (const piece of pieces) {
    tap.push(Buffer.from(piece));
    ending.follow()?.(null);
  }
  return ending;
}

t.test('the last event depends on what was asked for', async (t) => {
  const finish = chunk('a', 'stop');
  const cases: readonly [LastEvent, readonly string[], boolean][] = [
    ['finish', [chunk('a')], false],
    ['finish', [finish], true],
    ['usage', [finish], false],
    ['usage', [usageOnly], false],
    ['usage', [finish, usageOnly], true],
    ['usage', [finish, DONE], true],
    ['done', [finish, usageOnly], false],
    ['done', [finish, usageOnly, DONE], true],
    ['done', ['data: {"error":{"message":"no"}}\n\n'], true],
  ];
  for (const [last, pieces, expected] of cases)
    t.equal(written(last, ...pieces).isDelivered, expected, `${last} ${pieces.join('')}`);
});

t.test('it is delivered once the system has it, and not when the connection breaks before', async (t) => {
  const tap = tapOf();
  const ending = new StreamEnding(tap, 'finish');
  t.equal(ending.follow(), undefined, 'what is not the end needs no answer');
  tap.push(Buffer.from(chunk('a', 'stop')));
  t.notOk(ending.isDelivered);
  const done = ending.follow();
  t.notOk(ending.isDelivered, 'it waits in our buffers');
  done?.(new Error('write EPIPE'));
  t.notOk(ending.isDelivered);
  done?.();
  t.ok(ending.isDelivered);
  t.equal(ending.follow(), undefined, 'what follows does not matter');
});

t.test('a response that is no stream has no such end', async (t) => {
  const tap = tapOf('application/json');
  tap.push(Buffer.from('{"choices":[{"finish_reason":"stop"}],'));
  const ending = new StreamEnding(tap, 'finish');
  t.equal(ending.follow(), undefined);
  t.notOk(ending.isDelivered);
  t.notOk(ending.isOverdue(1e9, 0));
  tap.push(Buffer.from('"id":"c"}'));
  t.equal(tap.reading().id, 'c', 'and nothing was read before its end');
});

t.test('the upstream has a second after the end, and five of silence before `[DONE]`', async (t) => {
  const whole = written('finish', chunk('a', 'stop'), DONE);
  t.notOk(whole.isOverdue(10_000, 10_000));
  t.notOk(whole.isOverdue(11_000, 11_000));
  t.ok(whole.isOverdue(11_001, 11_001), 'comments do not prolong it');
  const open = written('finish', chunk('a', 'stop'));
  t.notOk(open.isOverdue(15_000, 10_000));
  t.ok(open.isOverdue(15_001, 10_000));
  t.notOk(written('done', chunk('a', 'stop')).isOverdue(1e9, 0), 'another choice may go on');
  t.notOk(written('finish', chunk('a')).isOverdue(1e9, 0));
});
