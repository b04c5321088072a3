// A stream that one attempt begins and another continues: what each of them may write, and when it is aborted.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import { ChatTranscript } from '../../../proxy/protocols/chat-transcript.ts';
import { ResumableSink } from '../../../proxy/relay/resumable-sink.ts';
import { NotingSink } from './fixture/exchange.ts';
import { DONE } from './fixture/streams.ts';

const SSE = ['content-type', 'text/event-stream; charset=utf-8'] as const;
const says = (content: string, id = 'a'): string =>
  `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created: 7, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const WATCHER = { onClose: () => undefined, onDrain: () => undefined, onInterrupt: () => undefined };

function begun(client = new NotingSink()): {
  client: NotingSink;
  transcript: ChatTranscript;
  sink: ResumableSink;
} {
  const transcript = new ChatTranscript();
  const abort = ({ message }: Fault): never => {
    throw new Error(`nothing aborts the attempt that begins: ${message}`);
  };
  const sink = new ResumableSink(client, transcript, abort);
  sink.watcher = WATCHER;
  return { client, transcript, sink };
}

/** Another attempt goes on after `Hel`. */
function resumed(): {
  client: NotingSink;
  sink: ResumableSink;
  aborted: string[];
  resumptions: () => number;
} {
  const { client, transcript, sink: first } = begun();
  first.writeHead(200, SSE);
  first.write(Buffer.from(says('Hel')));
  first.watcher = null;
  transcript.resume();
  client.calls.length = 0;
  let resumptions = 0;
  const aborted: string[] = [];
  const abort = ({ code, message }: Fault): void => void aborted.push(`${code}: ${message}`);
  const sink = new ResumableSink(client, transcript, abort, {
    comment: 'continued by b',
    isAnew: false,
    onResumed: () => (resumptions += 1),
  });
  sink.watcher = WATCHER;
  return { client, sink, aborted, resumptions: () => resumptions };
}

t.test('the attempt that begins is passed on as it is, and its text is noted', (t) => {
  const { client, transcript, sink } = begun();
  t.notOk(sink.hasWritten);
  sink.writeHead(200, SSE, 'OK');
  sink.flushHeaders();
  t.ok(sink.write(Buffer.from(says('Hel'))));
  client.isSlow = true;
  t.notOk(sink.write(Buffer.from(says('lo'))));
  t.same(client.calls, ['head 200 OK', 'flush', `write ${says('Hel')}`, `write ${says('lo')}`]);
  t.equal(transcript.prefix, 'Hello');
  t.ok(sink.hasWritten);
  t.end();
});

t.test('a response that is no plain stream is passed on, and nothing of it is noted', (t) => {
  for (const [status, headers] of [
    [500, SSE],
    [200, ['content-type', 'application/json']],
    [200, []],
    [200, [...SSE, 'content-encoding', 'gzip']],
  ] as const) {
    const { client, transcript, sink } = begun();
    sink.writeHead(status, headers);
    sink.write(Buffer.from(says('Hel')));
    t.same(client.calls, [`head ${status}`, `write ${says('Hel')}`]);
    t.equal(transcript.prefix, null);
  }
  t.end();
});

t.test('the attempt that continues writes no head, and a comment before its first event', (t) => {
  const { client, sink, aborted, resumptions } = resumed();
  sink.writeHead(200, [...SSE, 'content-encoding', 'identity']);
  sink.flushHeaders();
  t.same(client.calls, []);
  sink.write(Buffer.from(says('lo', 'b')));
  sink.write(Buffer.from(says('!', 'b')));
  t.equal(client.calls.length, 2);
  t.match(client.calls[0], /^write : continued by b\n\ndata: \{"id":"a".*"lo"/);
  t.match(client.calls[1], /^write data: \{"id":"a".*"!"/);
  t.equal(resumptions(), 1);
  t.ok(sink.hasWritten);
  t.same(aborted, []);
  t.end();
});

t.test('one that cannot continue is aborted, and nothing of it reaches the client', (t) => {
  const refused = resumed();
  refused.sink.writeHead(200, ['content-type', 'application/json']);
  t.ok(refused.sink.write(Buffer.from('{}')));
  t.same(refused.client.calls, []);
  t.match(refused.aborted, [/^stream_broken: .*is no stream/]);
  const broken = resumed();
  broken.sink.writeHead(200, SSE);
  broken.sink.write(Buffer.from('data: {"id":\n\n'));
  t.match(broken.aborted, [/^stream_broken: .*holds /]);
  t.notOk(broken.sink.hasWritten);
  t.end();
});

t.test('after its relay has ended only the error event goes out', (t) => {
  const { client, sink } = begun();
  sink.writeHead(200, SSE);
  sink.watcher = null;
  t.equal(client.watcher, null);
  t.ok(sink.write(Buffer.from('held back')));
  sink.write(Buffer.from('error event'), () => undefined);
  sink.end(Buffer.from(DONE));
  sink.destroy();
  t.same(client.calls, ['head 200', 'write error event', `end ${DONE}`, 'destroy']);
  t.end();
});

t.test('it says of the client what the client says', (t) => {
  const client = new NotingSink();
  const { sink } = begun(client);
  t.equal(client.watcher, WATCHER);
  t.match(sink, { watcher: WATCHER, destroyed: false, interrupted: null, keeps: false });
  client.destroyed = client.keeps = true;
  client.interrupted = new Fault('shutting_down', 'stops');
  t.match(sink, { destroyed: true, interrupted: { code: 'shutting_down' }, keeps: true });
  t.end();
});
