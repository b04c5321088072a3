// Whatever a caller or an upstream sends, in every pair of protocols: a request becomes another one or a 400 that says why, and
// a stream becomes one that a strict client of the caller's protocol can read to its end. Seeded chance breaks valid JSON.
import t from 'tap';
import type { Json } from '../../../../proxy/bodies/json.ts';
import { Fault } from '../../../../proxy/errors/fault.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { ANSWERS } from './fixture/answers.ts';
import { PAIRS } from './fixture/golden.ts';
import { readStream } from './fixture/grammar.ts';
import { mutated } from './fixture/mutate.ts';
import { NAMES, REQUESTS, type Name } from './fixture/requests.ts';
import { between, eventsOf, streamed } from './fixture/talk.ts';
import { UPSTREAMS } from './fixture/upstreams.ts';

const REQUEST_ROUNDS = 250;
const STREAM_ROUNDS = 120;
const [MODEL_OF, SEED] = [
  { chat: 'm', messages: 'claude-opus-4-6', responses: 'gpt-5', gemini: 'gemini-3-pro' },
  17,
];

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/** What was thrown, unless it is a Fault of the status 400 with a text. */
function isBug(thrown: unknown): boolean {
  return !(thrown instanceof Fault) || thrown.status !== 400 || thrown.message.length < 10;
}

t.test('a broken request is translated or refused with 400, never with a bug', (t) => {
  const chance = seededRandom(SEED);
  for (const [from, to] of PAIRS) {
    let refused = 0;
    for (let round = 0; round < REQUEST_ROUNDS; round++) {
      let request: unknown = REQUESTS[from];
      for (let times = chance() * 3; times > 0; times--) request = mutated(request, chance);
      try {
        const { body } = between(from, to, asObject(request), {
          model: MODEL_OF[to],
          dropParams: chance() < 0.5,
        });
        JSON.parse(body.toString());
      } catch (thrown) {
        refused++;
        if (isBug(thrown)) {
          t.error(thrown, `${from} to ${to}: ${JSON.stringify(request)}`);
          return t.end();
        }
      }
    }
    t.ok(refused > REQUEST_ROUNDS / 10 && refused < REQUEST_ROUNDS, `${from} to ${to}: ${refused} refused`);
  }
  return t.end();
});

/** Events of which some are broken, dropped, doubled or cut short. */
function brokenEvents(events: readonly string[], chance: () => number): readonly string[] {
  const broken = [...events];
  for (let times = 1 + chance() * 3; times > 0; times--) {
    const at = Math.floor(chance() * broken.length);
    const [event] = eventsOf(broken[at] ?? '');
    const way = chance();
    if (way < 0.15) broken.splice(at, 1);
    else if (way < 0.3) broken.splice(at, 0, broken[at] ?? '');
    else if (way < 0.4) broken.splice(at);
    else if (event?.data.startsWith('{') === true) {
      const name = event.name === '' ? '' : `event: ${event.name}\n`;
      const data = JSON.stringify(mutated(JSON.parse(event.data), chance));
      broken[at] = `${name}data: ${chance() < 0.03 ? data.slice(1) : data}\n\n`;
    }
  }
  return broken;
}

t.test('a broken stream becomes one that strict clients read to an end', (t) => {
  const chance = seededRandom(SEED);
  for (const [from, to] of PAIRS) {
    const translation = between(from, to, REQUESTS[from], { dropParams: true });
    const ends = { whole: 0, failed: 0 };
    for (let round = 0; round < STREAM_ROUNDS; round++) {
      const upstream = brokenEvents(UPSTREAMS[to], chance);
      try {
        ends[readStream(from, streamed(translation, upstream)).end]++;
      } catch (thrown) {
        t.error(thrown, `${from} from ${to}: ${upstream.join('')}`);
        return t.end();
      }
    }
    t.ok(ends.whole > 0 && ends.failed > 0, `${from} from ${to}: ${JSON.stringify(ends)}`);
  }
  return t.end();
});

t.test('a broken answer is translated or is a fault of the upstream', (t) => {
  const chance = seededRandom(SEED);
  for (const [from, to] of PAIRS) {
    const translation = between(from, to, REQUESTS[from], { dropParams: true, stream: false });
    for (let round = 0; round < STREAM_ROUNDS; round++) {
      let answer: unknown = ANSWERS[to];
      for (let times = chance() * 3; times > 0; times--) answer = mutated(answer, chance);
      try {
        JSON.parse(translation.answer(asObject(answer)).toString());
      } catch (thrown) {
        if (thrown instanceof Fault && thrown.code === 'bad_upstream_answer') continue;
        t.error(thrown, `${from} from ${to}: ${JSON.stringify(answer)}`);
        return t.end();
      }
    }
  }
  return t.end();
});

t.test('whole answers say the same as streamed ones', (t) => {
  for (const [from, to] of PAIRS) {
    const translation = between(from, to, REQUESTS[from], { dropParams: true, stream: false });
    const text = translation.answer(ANSWERS[to]).toString();
    for (const said of ['hi', 'hm', 'read_file']) t.match(text, said, `${from} from ${to}`);
  }
  t.equal(PAIRS.length, NAMES.length * (NAMES.length - 1));
  t.end();
});

t.test('a request of very many parts or turns is translated too', (t) => {
  const many = <T>(one: T): T[] => Array.from({ length: 130_000 }, () => one);
  const text = { type: 'text', text: 'a' };
  const requests: Readonly<Record<Name, readonly Json[]>> = {
    chat: [
      { messages: many({ role: 'assistant', content: 'a' }) },
      { messages: [{ role: 'user', content: many(text) }] },
    ],
    messages: [{ messages: [{ role: 'user', content: many(text) }] }],
    responses: [{ input: many({ role: 'assistant', content: 'a' }) }],
    gemini: [{ contents: many({ role: 'model', parts: [{ text: 'a', thoughtSignature: 'c2ln' }] }) }],
  };
  for (const from of NAMES) {
    const to = from === 'messages' ? 'chat' : 'messages';
    for (const request of requests[from]) t.ok(between(from, to, request).body.length > 130_000, from);
  }
  t.end();
});
