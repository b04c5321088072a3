// What the events of each family tell: the end, an error, usage, id and model.
import t from 'tap';
import type { Family } from '../../../proxy/protocols/errors.ts';
import {
  DONE,
  FAMILIES,
  STRIP,
  USAGE,
  chunk,
  data,
  named,
  run,
  stateOf,
  usageOnly,
} from '../relay/fixture/streams.ts';

t.test('chat: the end is [DONE] or a finish reason; usage, id and model are read', (t) => {
  const { tap, all } = run('chat', [chunk(''), chunk('hi'), chunk('', 'stop')]);
  t.match(stateOf(tap), {
    terminal: true,
    finished: false,
    failed: null,
    usage: null,
    id: 'chatcmpl-1',
    model: 'gpt-x',
  });
  t.equal(all.toString(), chunk('') + chunk('hi') + chunk('', 'stop'));
  const whole = run('chat', [chunk('hi'), usageOnly, DONE]).tap;
  t.match(stateOf(whole), { terminal: true, finished: true, usage: USAGE, events: 3 });
  const cut = run('chat', [chunk('hi'), chunk('there')]).tap;
  t.match(stateOf(cut), { terminal: false, finished: false, usage: null });
  const azure = run('chat', [
    data({ id: '', model: '', choices: [], prompt_filter_results: [] }),
    chunk('x'),
  ]).tap;
  t.match(stateOf(azure), { id: 'chatcmpl-1', model: 'gpt-x' });
  const emptyReasons = run('chat', [data({ choices: [{ delta: {}, finish_reason: '' }] })]).tap;
  t.notOk(emptyReasons.terminal, 'an empty finish reason is none');
  t.end();
});

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
    const streams: [Family, string][] = [
      ['chat', chunk(text)],
      ['completions', data({ choices: [{ text, finish_reason: null }] })],
      ['responses', named('response.output_text.delta', { delta: text })],
      ['messages', named('content_block_delta', { delta: { type: 'text_delta', text } })],
      ['other', named('speech.audio.delta', { audio: text })],
    ];
    for (const [family, stream] of streams) {
      const { tap, all } = run(family, [stream], STRIP);
      t.match(
        stateOf(tap),
        { terminal: false, finished: false, failed: null, usage: null },
        `${family}: ${text}`,
      );
      t.equal(all.toString(), stream);
    }
  }
  t.end();
});

t.test(
  'responses: completed, failed and incomplete are ends; usage, id and model are the response’s',
  (t) => {
    const response = { id: 'resp_1', model: 'gpt-r', usage: null, error: null };
    const usage = {
      input_tokens: 4,
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 5,
    };
    const open =
      named('response.created', { response }) + named('response.output_text.delta', { delta: 'x' });
    t.match(stateOf(run('responses', [open]).tap), {
      terminal: false,
      id: 'resp_1',
      model: 'gpt-r',
      failed: null,
    });
    for (const name of ['response.completed', 'response.incomplete']) {
      const { tap } = run('responses', [open, named(name, { response: { ...response, usage } })]);
      t.match(stateOf(tap), { terminal: true, finished: true, failed: null, usage });
    }
    const error = { code: 'server_error', message: 'about your prompt' };
    const failed = run('responses', [
      open,
      named('response.failed', { response: { ...response, error } }),
    ]).tap;
    t.match(stateOf(failed), { terminal: true, failed: { type: null, code: 'server_error' } });
    const unnamed = run('responses', [data({ type: 'response.completed', response: { usage } })]).tap;
    t.strictSame(unnamed.usage, usage, 'the type counts where no event name is given');
    t.end();
  },
);

t.test(
  'messages: usage is put together from message_start and message_delta, the later value counts',
  (t) => {
    const start = {
      id: 'msg_1',
      model: 'claude-x',
      usage: { input_tokens: 9, cache_read_input_tokens: 5, output_tokens: 1 },
    };
    const stream = [
      named('message_start', { message: start }),
      named('ping', {}),
      named('content_block_delta', { delta: { text: 'x' } }),
      named('message_delta', {
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: 7, cache_read_input_tokens: null, input_tokens: 10 },
      }),
    ];
    const open = run('messages', stream).tap;
    t.match(stateOf(open), { terminal: false, id: 'msg_1', model: 'claude-x' });
    const { tap } = run('messages', [...stream, named('message_stop', {})]);
    t.match(stateOf(tap), { terminal: true, finished: true, events: 5 });
    t.strictSame(tap.usage, { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 7 });
    t.end();
  },
);

t.test('other streams end with [DONE] or with a type that says so', (t) => {
  const usage = { input_tokens: 1, output_tokens: 2 };
  for (const type of ['transcript.text.done', 'image_generation.completed', 'speech.audio.done']) {
    const { tap } = run('other', [
      named('transcript.text.delta', { delta: 'x.done' }),
      data({ type, usage }),
    ]);
    t.match(stateOf(tap), { terminal: true, failed: null, usage }, type);
  }
  t.match(stateOf(run('other', [named('job.failed', {})]).tap), {
    terminal: true,
    failed: { type: null, code: null },
  });
  t.match(stateOf(run('other', [DONE]).tap), { terminal: true, finished: true });
  t.notOk(run('other', [named('image_generation.partial_image', {})]).tap.terminal);
  t.end();
});

t.test('an error event is an end, and its kind is read without its message', (t) => {
  const cases: [string, object][] = [
    [
      data({ error: { message: 'prompt text', type: 'server_error', code: 500 } }),
      { type: 'server_error', code: '500' },
    ],
    [
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
      { type: 'overloaded_error', code: null },
    ],
    ['event: error\ndata: it broke\n\n', { type: null, code: null }],
    [
      data({ type: 'error', code: 'rate_limit', message: 'prompt text' }),
      { type: 'error', code: 'rate_limit' },
    ],
    [data({ error: 'prompt text' }), { type: null, code: null }],
    [data({ error: { type: 'a sentence with prompt text', code: null } }), { type: null, code: null }],
  ];
  for (const family of FAMILIES) {
    for (const [text, failed] of cases) {
      const { tap } = run(family, [chunk('x'), text]);
      t.match(stateOf(tap), { terminal: true, finished: true }, text);
      t.strictSame(tap.failed, failed);
    }
    t.equal(run(family, [data({ error: null })]).tap.failed, null);
  }
  t.end();
});

t.test('the event stream is read by the WHATWG rules', (t) => {
  const done = (text: string): boolean => run('chat', [text]).tap.terminal;
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
