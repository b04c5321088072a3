// Gemini: shapes as Google and gateways before it send them.
import t from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import { gemini } from '../../../proxy/protocols/gemini.ts';
import { readTokens } from '../../../proxy/protocols/usage.ts';
import { data, run, stateOf } from '../relay/fixture/streams.ts';
import { readAnswer } from './fixture/read.ts';

const USAGE = { promptTokenCount: 10, candidatesTokenCount: 4, thoughtsTokenCount: 6, totalTokenCount: 20 };
const frame = (text: string, more: object = {}): string =>
  data({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
    responseId: 'r-1',
    modelVersion: 'gemini-x',
  });

t.test('an answer states its usage, id and model', async (t) => {
  const answer = {
    candidates: [{ finishReason: 'STOP' }],
    usageMetadata: USAGE,
    responseId: 'r-1',
    modelVersion: 'g',
  };
  t.match(readAnswer(gemini, answer), { usage: USAGE, id: 'r-1', model: 'g' });
});

t.test('a stream ends with its finish reason; nothing follows but the end of the response', async (t) => {
  const tap = run(gemini, [frame('one'), frame('two')]).tap;
  t.match(stateOf(tap), { terminal: false, finished: false, failed: false });
  const whole = run(gemini, [
    frame('one'),
    data({ candidates: [{ index: 0, finishReason: 'STOP' }], usageMetadata: USAGE }),
  ]).tap;
  t.match(stateOf(whole), { terminal: true, finished: false, failed: false });
  t.match(whole.usage, USAGE);
  t.equal(whole.usageIsPartial, false);
  const blocked = run(gemini, [data({ promptFeedback: { blockReason: 'SAFETY' } })]).tap;
  t.match(stateOf(blocked), { terminal: true });
  const failed = run(gemini, [
    frame('one'),
    data({ error: { code: 503, message: 'no', status: 'UNAVAILABLE' } }),
  ]).tap;
  t.match(stateOf(failed), { failed: true, finished: true });
});

t.test(
  'thoughts are output, beside the candidates or among them; tools of the vendor are prompt',
  async (t) => {
    const tokens = (usage: object) => readTokens({ ...usage }).tokens;
    t.match(tokens(USAGE), { prompt: 10, completion: 10, reasoning: 6, total: 20 });
    const inside = {
      promptTokenCount: 10,
      candidatesTokenCount: 10,
      thoughtsTokenCount: 6,
      totalTokenCount: 20,
    };
    t.match(tokens(inside), { prompt: 10, completion: 10, reasoning: 6, total: 20 });
    const tools = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 1,
      totalTokenCount: 16,
    };
    t.match(tokens(tools), { prompt: 15, completion: 1, total: 16 });
    const parts = {
      promptTokenCount: 100,
      cachedContentTokenCount: 40,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 70 },
        { modality: 'AUDIO', tokenCount: 30 },
      ],
      cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 10 }],
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 7 }],
      candidatesTokenCount: 7,
      totalTokenCount: 107,
    };
    t.match(tokens(parts), { prompt: 100, cacheRead: 40, inputAudio: 20, outputImage: 7, completion: 7 });
    const wrong = readTokens({ promptTokenCount: 'many', candidatesTokenCount: 3 });
    t.match(wrong, { tokens: { prompt: null, completion: 3 }, doubts: [/prompt_tokens is no count/] });
  },
);

t.test('an error is one that the SDKs of Google raise on', async (t) => {
  const fault = new Fault('rate_limit_exceeded', 'slow down');
  t.match(JSON.parse(gemini.errors.body(fault).toString()), {
    error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' },
  });
  t.match(gemini.errors.event(new Fault('stream_broken', 'x')).toString(), /^data: \{"error":.*\}\n\n$/);
});

t.test('a conversation has pieces: what is said, calls by name, results', async (t) => {
  const pieces = (element: object) => gemini.conversation?.pieces({ ...element });
  t.same(pieces({ role: 'model', parts: [{ functionCall: { name: 'look', args: { a: 1 } } }] }), [
    { kind: 'call', id: 'look', name: 'look', input: { a: 1 } },
  ]);
  t.same(
    pieces({ role: 'user', parts: [{ functionResponse: { name: 'look', response: { error: 'no' } } }] }),
    [{ kind: 'result', id: 'look', content: { error: 'no' }, isError: true }],
  );
  t.match(pieces({ parts: [{ text: 'hi' }] }), [{ kind: 'user' }]);
});
