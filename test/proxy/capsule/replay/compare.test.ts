// Two responses compared: what is the same, where they first differ, and how late they were.
import t from 'tap';
import { compare, timesOf, type ComparedResponse } from '../../../../proxy/capsule/replay/compare.ts';

const STREAM = 'text/event-stream; charset=utf-8';
const event = (id: string, content: string): string =>
  `data: ${JSON.stringify({ id, created: id.length, choices: [{ delta: { content } }] })}\n\n`;

function response(text: string, more: Partial<ComparedResponse> = {}): ComparedResponse {
  const body = Buffer.from(text);
  return {
    status: 200,
    headers: [['Content-Type', STREAM]],
    body,
    pieces: [[1, body.length]],
    headMs: 1,
    end: 'whole',
    isCut: false,
    ...more,
  };
}

t.test('the verdict', async (t) => {
  const recorded = response(`${event('a', 'x')}${event('a', 'y')}data: [DONE]\n\n`);
  t.match(compare(recorded, recorded), { verdict: 'same_bytes', bytes: { first_difference: null } });
  const otherIds = response(`${event('bbb', 'x')}: ping\n\n${event('bbb', 'y')}data: [DONE]\n\n`);
  t.match(compare(recorded, otherIds), { verdict: 'same_events', bytes: { first_difference: 13 } });
  t.match(compare(recorded, response(`${event('a', 'x')}${event('a', 'z')}data: [DONE]\n\n`)), {
    verdict: 'different',
    events: { recorded: 3, replayed: 3, first_difference: { event: 2, recorded: /"y"/, replayed: /"z"/ } },
  });
  t.match(compare(recorded, response(event('a', 'x'))), {
    verdict: 'different',
    bytes: { first_difference: event('a', 'x').length },
    events: { first_difference: { event: 2, replayed: null } },
  });
  t.equal(compare(recorded, { ...recorded, end: 'broken' }).verdict, 'different');
  t.match(compare(recorded, { ...recorded, status: 429 }), {
    verdict: 'different',
    status: { replayed: 429 },
  });
  t.match(compare(recorded, { ...recorded, headers: [] }), {
    verdict: 'different',
    headers: [{ name: 'content-type', recorded: STREAM, replayed: null }],
  });
  const crlf = response(recorded.body.toString().replaceAll('\n', '\r\n'));
  t.equal(compare(recorded, crlf).verdict, 'same_events');
});

t.test('documents, and what is no JSON', async (t) => {
  const json = { headers: [['content-type', 'application/json']] as const };
  const a = response('{"id":"1","usage":{"total_tokens":3}}', json);
  t.equal(compare(a, response('{"id":"2","usage":{"total_tokens":3}}', json)).verdict, 'same_events');
  t.equal(compare(a, response('{"id":"2","usage":{"total_tokens":4}}', json)).verdict, 'different');
  t.equal(compare(response('<p>', json), response('<b>', json)).verdict, 'different');
  t.equal(compare(response('', json), response('', json)).verdict, 'same_bytes');
});

t.test('what was cut at its bound is compared up to there', async (t) => {
  const whole = `${event('a', 'x')}${event('a', 'y')}${event('a', 'z')}`;
  const cut = response(whole.slice(0, -10), { isCut: true });
  t.match(compare(cut, response(whole)), { verdict: 'same_bytes', is_cut: true });
  t.equal(compare(cut, response(event('a', 'x'))).verdict, 'different');
});

t.test('times', async (t) => {
  const pieces = [
    [10, 1],
    [12.34, 1],
    [50, 1],
  ] as const;
  t.same(timesOf({ headMs: 5, pieces }), {
    head_ms: 5,
    first_byte_ms: 10,
    last_byte_ms: 50,
    longest_gap_ms: 37.7,
    pieces: 3,
  });
  t.match(timesOf({ headMs: null, pieces: [] }), { first_byte_ms: null, longest_gap_ms: null });
});
