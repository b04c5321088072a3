// The last bytes of a response, by the stage at which its exchange ended and why.
import { Buffer } from 'node:buffer';
import t, { type Test } from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import type { ErrorShape } from '../../../proxy/protocols/protocol.ts';
import { finishResponse } from '../../../proxy/relay/finish-response.ts';
import type { Ending } from '../../../proxy/relay/outcome.ts';
import type { Stage } from '../../../proxy/relay/relay-state.ts';
import { ResponseProgress } from '../../../proxy/relay/response-progress.ts';
import { StreamEnding } from '../../../proxy/relay/stream-end.ts';
import { NO_OBSERVATION, NotingSink } from './fixture/exchange.ts';

const COMPLETE: Ending = { end: 'complete', fault: null, readOn: null };
const GONE: Ending = { end: 'client_gone', fault: null, readOn: null };
const BROKEN: Ending = { end: 'truncated', fault: new Fault('stream_broken', 'It broke.'), readOn: null };
const JSON_TYPE = ['content-type', 'application/json'];
const SSE = ['content-type', 'text/event-stream'];

function received(status: number, list: readonly string[]): ResponseProgress {
  const request = {
    answerNames: { cost: [], callId: [] },
    ownPrefix: 'x-litellm-',
    isForThePage: false,
    protocol: chat,
    observation: NO_OBSERVATION,
    apiKey: null,
  };
  return new ResponseProgress({ status, text: '', list, idleMs: 0 }, request, 0, 0);
}

const gathering = (status: number, list: readonly string[], ...pieces: readonly string[]): Stage => ({
  is: 'gathering',
  sentAt: 0,
  response: received(status, list),
  pieces: pieces.map((piece) => Buffer.from(piece)),
});
const flowing = (list: readonly string[], lastPiece: string | null = null): Stage =>
  flowingOf(received(200, list), lastPiece);
const flowingOf = (response: ResponseProgress, lastPiece: string | null): Stage => ({
  is: 'flowing',
  response,
  ending: new StreamEnding(response.tap, 'finish'),
  lastPiece: lastPiece === null ? null : Buffer.from(lastPiece),
  isPaused: false,
});

/** What the client gets. */
function finished(
  stage: Stage,
  ending: Ending,
  sink = new NotingSink(),
  errors: ErrorShape = chat.errors,
): readonly string[] {
  finishResponse(sink, stage, ending, {
    writeHead: ({ response }, more) => sink.writeHead(response.status, more),
    request: { errors, translated: null },
  });
  return [...sink.calls, ...sink.headers];
}

t.test('a gathered response leaves in one piece with its length', (t) => {
  t.same(finished(gathering(200, JSON_TYPE, '{}'), COMPLETE), ['head 200', 'end {}', 'content-length', '2']);
  t.same(finished(gathering(200, JSON_TYPE, '{', '}'), COMPLETE), [
    'head 200',
    'end {}',
    'content-length',
    '2',
  ]);
  t.same(finished(gathering(500, SSE, 'no'), COMPLETE), ['head 500', 'end no', 'content-length', '2']);
  for (const status of [204, 304])
    t.same(finished(gathering(status, []), COMPLETE), [`head ${status}`, 'end ']);
  t.end();
});

t.test('a held stream leaves as a stream', (t) => {
  t.same(finished(gathering(200, SSE, 'a', 'b'), COMPLETE), ['head 200', 'write a', 'write b', 'end']);
  t.end();
});

t.test('a response that flowed ends with the piece that was kept back', (t) => {
  t.same(finished(flowing(SSE), COMPLETE), ['end']);
  t.same(finished(flowing(['content-type', 'audio/mpeg', 'content-length', '9'], 'z'), COMPLETE), ['end z']);
  t.end();
});

t.test('a broken response has no clean end', (t) => {
  t.same(finished(flowing(['content-type', 'audio/mpeg']), BROKEN), ['destroy']);
  t.same(finished(flowing([...SSE, 'content-encoding', 'gzip']), BROKEN), ['destroy']);
  t.match(finished(flowing(SSE), BROKEN), [/^write data: \{"error":\{"message":"It broke."/]);
  t.end();
});

/** How long the timers run that were set since. */
function timersOf(
  t: Test,
  act: () => void,
): { run: () => void; readonly set: { ms: number; act: () => void; isOver: boolean }[] } {
  const set: { ms: number; act: () => void; isOver: boolean }[] = [];
  const setTimer = t.intercept(globalThis, 'setTimeout', {
    value: (act: () => void, ms: number) => {
      const timer = { ms, act, isOver: false, unref: () => timer };
      set.push(timer);
      return timer;
    },
  });
  const clearTimer = t.intercept(globalThis, 'clearTimeout', {
    value: (timer: { isOver: boolean }) => void (timer.isOver = true),
  });
  act();
  return {
    set,
    run: () => {
      setTimer.restore();
      clearTimer.restore();
    },
  };
}

t.test('the error event is read, or not, and then the connection is cut', (t) => {
  const sink = new NotingSink();
  const { set, run } = timersOf(t, () => {
    finished(flowing(SSE), BROKEN, sink);
    sink.written?.(); // the system has it
  });
  run();
  t.same(
    set.map(({ ms, isOver }) => [ms, isOver]),
    [
      [5_000, true],
      [250, false],
    ],
  );
  t.notOk(sink.calls.includes('destroy'), 'its reader gets a moment');
  set[1]?.act();
  t.equal(sink.calls.at(-1), 'destroy');
  t.end();
});

t.test('after an error event that is a terminal event the response has its end', (t) => {
  const errors: ErrorShape = { ...chat.errors, endsStream: true };
  const sink = new NotingSink();
  const { set, run } = timersOf(t, () => {
    finished(flowing(SSE), BROKEN, sink, errors);
    sink.written?.(); // the system has it
  });
  run();
  t.match(sink.calls, [/^write data: .*It broke/, 'end']);
  t.same(
    set.map(({ ms, isOver }) => [ms, isOver]),
    [[5_000, true]],
  );
  t.end();
});

t.test('a client that does not read it is cut off', (t) => {
  const errors: ErrorShape = { ...chat.errors, endsStream: true };
  const sink = new NotingSink();
  const { set, run } = timersOf(t, () => void finished(flowing(SSE), BROKEN, sink, errors));
  run();
  t.notOk(sink.calls.includes('end'), 'what has its end is not cut any more');
  set[0]?.act();
  t.equal(sink.calls.at(-1), 'destroy');
  t.end();
});

t.test('nobody is written to who has left, but what is kept is made whole', (t) => {
  const left = new NotingSink();
  left.destroyed = true;
  for (const stage of [
    gathering(200, JSON_TYPE, '{}'),
    flowing(SSE),
    { is: 'connecting', since: 0 } as const,
  ]) {
    t.same(finished(stage, GONE), []);
    t.same(finished(stage, COMPLETE, left), []);
  }
  const kept = (ending: Ending): readonly string[] => {
    const sink = new NotingSink();
    sink.destroyed = sink.keeps = true;
    return finished(gathering(200, JSON_TYPE, '{}'), ending, sink);
  };
  t.same(kept({ ...GONE, readOn: 'whole' }).slice(0, 2), ['head 200', 'end {}']);
  t.same(kept({ ...GONE, readOn: 'broken' }), []);
  t.same(kept(GONE), []);
  t.equal(kept(COMPLETE)[0], 'head 200');
  t.end();
});
