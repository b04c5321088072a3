// Tokens that nobody stated are counted in a thread of its own: near enough, soon, and with bounds on time and memory.
import t from 'tap';
import type { Test } from 'tap';
import { Estimator, type EstimatorOptions } from '../../../../proxy/spend/estimate/estimator.ts';
import { tokensIn } from '../../../../proxy/spend/estimate/count.ts';
import { chat } from '../../../../proxy/protocols/chat.ts';
import { embeddings } from '../../../../proxy/protocols/embeddings.ts';

/** No machine is so busy that the thread starts later. */
const NEVER_LATE_MS = 600_000;

function estimatorOf(t: Test, options: EstimatorOptions = {}): Estimator {
  const estimator = new Estimator({ waitMs: NEVER_LATE_MS, ...options });
  t.teardown(() => estimator.close());
  return estimator;
}

const TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(20);
const body = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const REQUEST = body({ model: 'm', messages: [{ role: 'user', content: TEXT }] });
const events = (count: number): Buffer =>
  Buffer.from(
    Array.from(
      { length: count },
      () => `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" dog"}}]}\n\n`,
    ).join(''),
  );

t.test('prompt and answer are counted by the vocabulary', async (t) => {
  const estimator = estimatorOf(t);
  const head = events(50);
  const found = await estimator.estimate({
    protocol: chat,
    request: REQUEST,
    answer: { form: 'events', head, bytes: head.length },
  });
  t.same(found, { prompt: tokensIn(TEXT) + 4, completion: 50, by: 'o200k_base' });
  const half = await estimator.estimate({
    protocol: chat,
    request: REQUEST,
    answer: { form: 'events', head, bytes: 2 * head.length },
  });
  t.equal(half.completion, 100, 'a stream that outgrew what is held is extrapolated');
  const json = body({ choices: [{ message: { role: 'assistant', content: ' dog dog' } }] });
  const whole = {
    protocol: chat,
    request: REQUEST,
    answer: { form: 'json', head: json, bytes: json.length },
  } as const;
  t.equal((await estimator.estimate(whole)).completion, 2);
  t.match(
    await estimator.estimate({
      protocol: embeddings,
      request: body({ input: [[1, 2, 3], [4]] }),
      answer: null,
    }),
    {
      prompt: 4,
      completion: 0,
    },
  );
});

t.test(
  'many at once are each answered with their own count, and it works again after an idle time',
  async (t) => {
    const estimator = estimatorOf(t, { idleMs: 1 });
    const counts = Array.from({ length: 30 }, (_, i) => i + 1);
    const ask = async (words: number): Promise<number> => {
      const request = body({ input: ' dog'.repeat(words) });
      return (await estimator.estimate({ protocol: embeddings, request, answer: null })).prompt;
    };
    t.same(await Promise.all(counts.map(ask)), counts);
    t.equal(await ask(7), 7);
  },
);

t.test('what the thread does not count in time, or cannot hold, is counted by its bytes', async (t) => {
  const late = estimatorOf(t, { waitMs: 1 });
  const head = events(10);
  const answer = { form: 'events', head, bytes: 2_000 } as const;
  t.same(await late.estimate({ protocol: chat, request: Buffer.alloc(400, 'a'), answer }), {
    prompt: 100,
    completion: 10,
    by: 'bytes',
  });
  const full = estimatorOf(t);
  const large = Buffer.alloc(1_048_576, 'word ');
  const all = await Promise.all(
    Array.from({ length: 20 }, () => full.estimate({ protocol: chat, request: large, answer: null })),
  );
  t.ok(all.filter(({ by }) => by === 'bytes').length >= 4, 'at most 16 MiB wait');
});

t.test('after the end everything is counted by its bytes', async (t) => {
  const estimator = new Estimator();
  const asked = estimator.estimate({ protocol: chat, request: REQUEST, answer: null });
  await estimator.close();
  t.match(await asked, { by: 'bytes' });
});

t.test('texts that are the worst for the vocabulary take no long time, and any text is text', async (t) => {
  const cases = ['a'.repeat(100_000), '漢字仮名'.repeat(20_000), ' '.repeat(100_000), '\ud800'.repeat(1_000)];
  const started = process.cpuUsage();
  for (const text of cases) t.ok(tokensIn(text) > 0);
  const { user } = process.cpuUsage(started);
  t.ok(user < 20_000_000, `in pieces ${user / 1e6} s of CPU, in one piece more than 30`);
  t.ok(tokensIn('a <|endoftext|> b') > 3, 'no control token');
});
