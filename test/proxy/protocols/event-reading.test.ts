// What holds for the events of every protocol: whose marker counts, errors, and how an event is read. What each of them
// tells stands in the test of its protocol.
import t from 'tap';
import { audio } from '../../../proxy/protocols/audio.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import { completions } from '../../../proxy/protocols/completions.ts';
import { messages } from '../../../proxy/protocols/messages.ts';
import type { Protocol } from '../../../proxy/protocols/protocol.ts';
import { responses } from '../../../proxy/protocols/responses.ts';
import { DONE, PROTOCOLS, STRIP, chunk, data, named, run, stateOf } from '../relay/fixture/streams.ts';

t.test('a model may write any marker into its answer', (t) => {
  const texts = [
    '[DONE]',
    'data: [DONE]\n\n',
    '"finish_reason":"stop"',
    '"usage":{"prompt_tokens":9}',
    '"error":{"message":"x"}',
  ];
  texts.push(
    'event: error',
    'response.completed',
    'message_stop',
    'x.done',
    '\\"usage\\":{}',
    '"choices":[],"usage":{}',
  );
  for (const text of texts) {
    const streams: [Protocol, string][] = [
      [chat, chunk(text)],
      [completions, data({ choices: [{ text, finish_reason: null }] })],
      [responses, named('response.output_text.delta', { delta: text })],
      [messages, named('content_block_delta', { delta: { type: 'text_delta', text } })],
      [audio, named('speech.audio.delta', { audio: text })],
    ];
    for (const [protocol, stream] of streams) {
      const { tap, all } = run(protocol, [stream], STRIP);
      t.match(
        stateOf(tap),
        { terminal: false, finished: false, failed: false, usage: null },
        `${protocol.name}: ${text}`,
      );
      t.equal(all.toString(), stream);
    }
  }
  t.end();
});

t.test('an error event is an end, in every protocol', (t) => {
  const errors = [
    data({ error: { message: 'prompt text', type: 'server_error', code: 500 } }),
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
    'event: error\ndata: it broke\n\n',
    data({ type: 'error', code: 'rate_limit', message: 'prompt text' }),
    data({ error: 'prompt text' }),
    data({ error: { type: 'a sentence with prompt text', code: null } }),
  ];
  for (const protocol of PROTOCOLS) {
    for (const text of errors) {
      const { tap } = run(protocol, [chunk('x'), text]);
      t.match(stateOf(tap), { terminal: true, finished: true, failed: true }, text);
    }
    t.notOk(run(protocol, [data({ error: null })]).tap.failed);
  }
  t.end();
});

t.test('[DONE] alone ends nothing', (t) => {
  for (const protocol of PROTOCOLS) {
    const { tap, all } = run(protocol, [': ping\n\n', DONE]);
    t.match(stateOf(tap), { terminal: false, finished: true, failed: false }, protocol.name);
    t.equal(all.toString(), ': ping\n\n');
  }
  t.end();
});

t.test('[DONE] does not end an answer of responses, messages or Gemini that had no other end', (t) => {
  const endings: Readonly<Record<string, string>> = {
    responses: named('response.completed', { response: { id: 'r' } }),
    messages: named('message_stop', {}),
    gemini: data({ candidates: [{ index: 0, finishReason: 'STOP' }] }),
  };
  for (const protocol of PROTOCOLS) {
    const ending = endings[protocol.name];
    const isEnd = ending === undefined;
    const half = run(protocol, [chunk('half an answer'), DONE, DONE]);
    t.match(stateOf(half.tap), { terminal: isEnd, finished: true, failed: false }, protocol.name);
    t.equal(
      half.all.toString(),
      chunk('half an answer') + (isEnd ? DONE + DONE : ''),
      `${protocol.name}: SDKs would take it for the end`,
    );
    const whole = ending ?? chunk('', 'stop');
    const { tap, all } = run(protocol, [chunk('an answer'), whole, DONE]);
    t.match(stateOf(tap), { terminal: true, finished: true, failed: false }, `${protocol.name}, whole`);
    t.equal(all.toString(), chunk('an answer') + whole + DONE);
  }
  t.end();
});

t.test('the event stream is read by the WHATWG rules', (t) => {
  const done = (text: string): boolean => {
    const { terminal, finished } = run(chat, [text]).tap;
    return terminal || finished;
  };
  t.ok(done('\ufeffdata: [DONE]\n\n'), 'a byte order mark before the first line');
  t.ok(done('data:[DONE]\r\r'), 'CR line ends and no space after the colon');
  t.ok(
    done(': comment\nid: 4\ndata: {"choices":\ndata: [{"finish_reason":"stop"}]}\n\n'),
    'data over several lines',
  );
  t.ok(done('retry: 10\n\n\n\ndata: [DONE] \n\n'));
  t.notOk(done(': data: [DONE]\n\n'), 'a comment');
  t.notOk(done('x-data: [DONE]\n\n'), 'another field');
  t.notOk(done(' data: [DONE]\n\n'), 'a space before the name makes another field');
  t.ok(done('data: [DONE]\n'), 'the last blank line is left out by some upstreams');
  t.ok(done('data: [DONE]'));
  t.notOk(done('data: {"choices":[{"finish_reason":"stop"'), 'half an event says nothing');
  t.end();
});

t.test('a usage of zeros at the end takes nothing back; by itself it is what the gateway states', (t) => {
  const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
  const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const ended = (...usages: readonly object[]): unknown =>
    run(
      chat,
      usages.map((one) => data({ choices: [], usage: one })),
    ).tap.usage;
  t.strictSame(ended(usage, zeros), usage);
  t.strictSame(ended(usage, {}), usage);
  t.strictSame(ended(zeros, usage), usage);
  t.strictSame(ended({ ...usage, completion_tokens: 1 }, usage), usage, 'the later one counts');
  t.strictSame(ended(zeros), zeros);
  t.end();
});
