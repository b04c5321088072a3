// What is kept of a stream so that another upstream can go on with it, and how that one's events are fitted to it.
import { Buffer } from 'node:buffer';
import t from 'tap';
import { ChatTranscript } from '../../../proxy/protocols/chat-transcript.ts';

type Json = Readonly<Record<string, unknown>>;

const event = (choice: Json, more: Json = {}): string =>
  `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', created: 7, model: 'm', choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`;
const says = (content: string, more: Json = {}): string => event({ delta: { content } }, more);
const told = (transcript: ChatTranscript, ...pieces: readonly string[]): string =>
  pieces.map((piece) => transcript.noteSent(Buffer.from(piece)).bytes?.toString() ?? '').join('');
const joined = (transcript: ChatTranscript, ...pieces: readonly string[]): string =>
  pieces.map((piece) => transcript.rewrite(Buffer.from(piece)).bytes?.toString() ?? '').join('');

t.test(
  'text is kept whatever the line ends, comments and cuts between events; bytes pass as they are',
  (t) => {
    const events = [
      event({ delta: { role: 'assistant', content: '' } }),
      ': ping\n\n',
      says('Grüße, '),
      says('Welt 🌍'),
    ];
    for (const end of ['\n', '\r\n', '\r']) {
      const pieces = events.map((one) => one.replaceAll('\n', end));
      const transcript = new ChatTranscript();
      t.equal(told(transcript, ...pieces), pieces.join(''));
      t.equal(transcript.prefix, 'Grüße, Welt 🌍');
      const whole = new ChatTranscript();
      whole.noteSent(Buffer.from(pieces.join('')));
      t.equal(whole.prefix, 'Grüße, Welt 🌍', 'also in one piece');
    }
    const late = new ChatTranscript();
    told(late, `${says('x')}`.replaceAll('\n', '\r\n').slice(0, -1), '\n', says('y'));
    t.equal(late.prefix, 'xy', 'the LF of the last CRLF may come late');
    t.end();
  },
);

t.test('there is nothing to go on with where that would not be the same answer', (t) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    'no text': [event({ delta: { role: 'assistant' } })],
    'white space alone': [says(' \n')],
    'half a character': [says('x\ud83d')],
    'no id': [`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' } }] })}\n\n`],
    'a tool call': [says('x'), event({ delta: { tool_calls: [{ index: 0 }] } })],
    'a function call': [says('x'), event({ delta: { function_call: { name: 'f' } } })],
    thoughts: [event({ delta: { reasoning_content: 'hm' } }), says('x')],
    'a refusal': [says('x'), event({ delta: { refusal: 'no' } })],
    'log probabilities': [event({ delta: { content: 'x' }, logprobs: { content: [{}] } })],
    'another choice': [says('x'), event({ index: 1, delta: { content: 'y' } })],
    'content in parts': [event({ delta: { content: [{ type: 'text', text: 'x' }] } })],
    'an end': [says('x'), event({ delta: {}, finish_reason: 'stop' })],
    'an error event': [says('x'), 'data: {"error":{"message":"no"}}\n\n'],
    DONE: [says('x'), 'data: [DONE]\n\n'],
    'half an event': [says('x'), 'data: {"id":"a","choices":[{"delta":{"content":"', 'y"}}]}\n\n'],
  };
  for (const [what, pieces] of Object.entries(cases)) {
    const transcript = new ChatTranscript();
    t.equal(told(transcript, ...pieces), pieces.join(''), `${what} is told all the same`);
    t.equal(transcript.prefix, null, what);
  }
  const empty = new ChatTranscript();
  told(
    empty,
    event({
      delta: { content: 'x', tool_calls: [], refusal: null, reasoning_content: '', extra: {} },
      logprobs: null,
    }),
  );
  t.equal(empty.prefix, 'x', 'empty members say nothing');
  const long = new ChatTranscript(10);
  told(long, says('12345'), says('12345'));
  t.equal(long.prefix, '1234512345');
  told(long, says('6'));
  t.equal(long.prefix, null, 'memory is bounded');
  const many = new ChatTranscript();
  for (let i = 0; i < 1_000; i += 1) told(many, says(`${i} `));
  t.equal(many.prefix, Array.from({ length: 1_000 }, (_, i) => i).join(' '), 'in order, however many');
  t.end();
});

t.test('an event that is not JSON is not told, and neither is what follows in the same piece', (t) => {
  const transcript = new ChatTranscript();
  const { bytes, broken } = transcript.noteSent(Buffer.from(`${says('x')}data: {"id":\n\n${says('y')}`));
  t.equal(bytes?.toString(), says('x'));
  t.match(broken, /not JSON/);
  t.equal(transcript.prefix, 'x', 'what came before it can go on');
  t.end();
});

t.test('events of the one that goes on become events of the stream that was begun', (t) => {
  const transcript = new ChatTranscript();
  told(transcript, event({ delta: { role: 'assistant', content: '' } }), says('one\n '));
  t.equal(transcript.prefix, 'one');
  transcript.resume();
  const other = { id: 'b', created: 9, model: 'n', system_fingerprint: 'f' };
  const text = joined(
    transcript,
    `: ping\n\n${event({ delta: { role: 'assistant', content: '' } }, other)}`,
    says('\n', other) + says(' two', other),
    event({ delta: {}, finish_reason: 'stop' }, other),
    `data: ${JSON.stringify({ ...other, choices: [], usage: { total_tokens: 3 } })}\n\n`,
    'data: [DONE]\n\n',
  );
  t.notMatch(text, /role|"b"|"n"|9/);
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Json);
  t.match(events, [
    { id: 'a', created: 7, model: 'm', system_fingerprint: 'f', choices: [{ delta: { content: 'two' } }] },
    { id: 'a', choices: [{ finish_reason: 'stop' }] },
    { id: 'a', choices: [], usage: { total_tokens: 3 } },
  ]);
  t.match(text, /^: ping\n\n[^]*data: \[DONE\]\n\n$/);
  t.equal(transcript.prefix, null, 'it has ended');
  t.end();
});

t.test('white space that differs from what was told is kept, and the next part begins after both', (t) => {
  const transcript = new ChatTranscript();
  told(transcript, says('one  '));
  transcript.resume();
  t.match(joined(transcript, says(' \ttwo ')), /"content":"\\ttwo "/);
  t.equal(transcript.prefix, 'one  \ttwo');
  transcript.resume();
  t.match(joined(transcript, says('three')), /"content":"three"/);
  t.equal(transcript.prefix, 'one  \ttwo three');
  t.end();
});

t.test(
  'a text may end in a tool call; what else is no text breaks the join, and keeps what was told',
  (t) => {
    const begun = (): ChatTranscript => {
      const transcript = new ChatTranscript();
      told(transcript, says('one'));
      transcript.resume();
      return transcript;
    };
    const calls = begun();
    t.match(joined(calls, event({ delta: { tool_calls: [{ index: 0, id: 'c' }] } })), /"id":"a".*"id":"c"/);
    t.equal(calls.prefix, null);
    for (const wrong of [
      event({ delta: { reasoning_content: 'hm' } }),
      event({ delta: { content: 'x' }, logprobs: { content: [{}] } }),
      event({ index: 1, delta: { content: 'x' } }),
      'data: nonsense\n\n',
      'data: {"cut',
    ]) {
      const transcript = begun();
      const { bytes, broken } = transcript.rewrite(Buffer.from(wrong));
      t.equal(bytes, null, wrong);
      t.ok(broken);
      t.equal(transcript.prefix, 'one', 'somebody else may go on');
    }
    t.end();
  },
);

t.test('of an answer that is given anew, what was sent already is left out, however it is cut', (t) => {
  const other = { id: 'b', created: 9, model: 'n' };
  const role = event({ delta: { role: 'assistant', content: '' } }, other);
  const usage = `data: ${JSON.stringify({ ...other, choices: [], usage: { total_tokens: 3 } })}\n\n`;
  for (const parts of [
    ['one ', 'two three'],
    ['o', 'ne', ' two', ' ', 'three'],
    ['one two three'],
    ['one two', ' three'],
  ]) {
    const transcript = new ChatTranscript();
    told(transcript, says('one'), says(' two'));
    transcript.repeat();
    const pieces = [
      `: ping\n\n${role}`,
      ...parts.map((part) => says(part, other)),
      event({ delta: {}, finish_reason: 'stop' }, other),
      usage,
      'data: [DONE]\n\n',
    ];
    const text = joined(transcript, ...pieces);
    const said = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join('');
    t.equal(said, ' three', parts.join('|'));
    t.match(text, /^data: [^]*"finish_reason":"stop"[^]*"total_tokens":3[^]*\[DONE\]\n\n$/);
    t.notMatch(text, /ping|role|"b"/, 'nothing before the seam comes through');
  }
  t.end();
});

t.test('an answer that is another one, or ends before the seam, is never joined', (t) => {
  for (const [what, wrong] of Object.entries({
    'another word': says('one too'),
    'the same, then another': says('one ') + says('three'),
    'other white space': says('one  two'),
    'an end': says('one') + event({ delta: {}, finish_reason: 'stop' }),
    'an end with the last of it': event({ delta: { content: 'one' }, finish_reason: 'stop' }),
    DONE: `${says('one')}data: [DONE]\n\n`,
    'an error': `${says('one')}data: {"error":{"message":"no"}}\n\n`,
    'a tool call': event({ delta: { tool_calls: [{ index: 0, id: 'c' }] } }),
    thoughts: event({ delta: { reasoning_content: 'hm' } }),
    'no JSON': 'data: nonsense\n\n',
  })) {
    const transcript = new ChatTranscript();
    told(transcript, says('one two'));
    transcript.repeat();
    const { bytes, broken } = transcript.rewrite(Buffer.from(wrong));
    t.equal(bytes, null, what);
    t.ok(broken, what);
    t.equal(transcript.prefix, 'one two', 'somebody else may go on');
    transcript.repeat();
    t.match(joined(transcript, says('one two, three')), /"content":", three"/, 'from the start');
  }
  t.end();
});
