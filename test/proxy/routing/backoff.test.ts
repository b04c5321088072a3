import t from 'tap';
import { pauseMs, retryAfterSeconds } from '../../../proxy/routing/backoff.ts';
import { parseRetryAfter } from '../../../proxy/routing/backoff.ts';

const [low, high] = [(): number => 0, (): number => 0.999_999];

t.test('pauses double from half a second to eight, half of each by chance', async (t) => {
  const range = (repeat: number): number[] =>
    [low, high].map((random) => Math.round(pauseMs(repeat, null, 0, random) ?? -1));
  t.same(range(1), [250, 500]);
  t.same(range(2), [500, 1_000]);
  t.same(range(5), [4_000, 8_000]);
  t.same(range(50), [4_000, 8_000]);
});

t.test(
  'the upstream’s wish and the operator’s floor are kept, a wish beyond a minute is not waited for',
  async (t) => {
    t.equal(pauseMs(1, 3_000, 0, low), 3_000);
    t.ok((pauseMs(1, 3_000, 0, high) ?? 0) <= 3_750, 'spread');
    t.equal(pauseMs(1, 1, 2_000, low), 2_000);
    t.equal(pauseMs(1, 60_000, 0, low), 60_000);
    t.equal(pauseMs(1, 60_001, 0, low), null);
  },
);

t.test('callers that are turned away come back one to three seconds later', async (t) => {
  const chances = [0, 0.4, 0.7, 0.999_999];
  t.same(
    chances.map((chance) => retryAfterSeconds(() => chance)),
    [1, 2, 3, 3],
  );
});

t.test('Retry-After is seconds or a date; anything else is not there', async (t) => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  t.equal(parseRetryAfter('5', now), 5_000);
  t.equal(parseRetryAfter(' 0.5 ', now), 500);
  t.equal(parseRetryAfter('Thu, 01 Jan 2026 00:00:09 GMT', now), 9_000);
  t.equal(parseRetryAfter('Wed, 31 Dec 2025 23:00:00 GMT', now), 0, 'a date that has passed');
  for (const odd of [null, '', 'soon', '-5', 'Infinity', '1e9'])
    t.equal(parseRetryAfter(odd, now), null, String(odd));
});
