// Rates and calls at a time: no edge lets twice the limit through, refusals consume nothing, waits are true.
import fc from 'fast-check';
import t from 'tap';
import {
  CALLS_KEPT_MS,
  RateBook,
  type LimitNeed,
  type LimitPermit,
} from '../../../../proxy/access/limits/rate-book.ts';

const rpm = (perMinute: number, limit = 'key:a:rpm'): LimitNeed => ({
  kind: 'requests',
  limit,
  perMinute,
  amount: 1,
});
const tpm = (perMinute: number, amount: number, limit = 'key:a:tpm'): LimitNeed => ({
  kind: 'tokens',
  limit,
  perMinute,
  amount,
});
const parallel = (most: number, limit = 'key:a:parallel'): LimitNeed => ({ kind: 'parallel', limit, most });

function permitted(book: RateBook, needs: readonly LimitNeed[], nowMs: number): LimitPermit {
  const limited = book.admit(needs, nowMs);
  if (!limited.ok) throw new Error(`refused by ${limited.refusal.need.limit}`);
  return limited.permit;
}

t.test('a limit of ten a minute lets ten in at once, then one every six seconds', (t) => {
  const book = new RateBook();
  const letIn = (nowMs: number): number => {
    let count = 0;
    while (book.admit([rpm(10)], nowMs).ok) count += 1;
    return count;
  };
  t.equal(letIn(1_000), 10);
  t.match(book.admit([rpm(10)], 1_000), { ok: false, refusal: { waitMs: 6_000, remaining: 0 } });
  t.equal(letIn(6_999), 0);
  t.equal(letIn(7_000), 1);
  t.equal(letIn(67_000), 10, 'a full minute later');
  t.end();
});

t.test('in no minute more than twice the limit less one, and over time no more than the rate', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.nat(20_000), { maxLength: 200 }),
      (perMinute, gaps) => {
        const book = new RateBook();
        const times: number[] = [];
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          if (book.admit([rpm(perMinute)], nowMs).ok) times.push(nowMs);
        }
        // GCRA's bound: a span of T minutes holds at most limit * (1 + T) calls.
        return times.every((from, i) =>
          times.every((to, k) => k < i || k - i + 1 <= perMinute * (1 + (to - from) / 60_000) + 1e-6),
        );
      },
    ),
  );
  t.end();
});

t.test('a refusal says what is left of each limit, behind the one that refused too', async (t) => {
  const book = new RateBook();
  permitted(book, [rpm(2), tpm(1_000, 400)], 0);
  permitted(book, [rpm(2), tpm(1_000, 400)], 0);
  t.match(book.admit([parallel(4), rpm(2), tpm(1_000, 400)], 0), {
    ok: false,
    refusal: { need: { kind: 'requests' }, remaining: 0, left: [4, 0, 200] },
  });
});

t.test('the wait that a refusal states is the wait that it takes', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 600 }),
      fc.array(fc.nat(3_000), { maxLength: 100 }),
      (perMinute, gaps) => {
        const book = new RateBook();
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          const limited = book.admit([rpm(perMinute)], nowMs);
          if (limited.ok) continue;
          const { waitMs } = limited.refusal;
          if (waitMs === null || book.admit([rpm(perMinute)], nowMs + waitMs - 0.01).ok) return false;
          nowMs += waitMs;
          if (!book.admit([rpm(perMinute)], nowMs).ok) return false;
        }
        return true;
      },
    ),
  );
  t.end();
});

t.test('what one limit refuses consumes nothing of the others', (t) => {
  const book = new RateBook();
  permitted(book, [parallel(1)], 0);
  t.equal(book.admit([rpm(1), tpm(100, 100), parallel(1)], 0).ok, false);
  t.equal(book.admit([rpm(1), tpm(100, 100)], 0).ok, true);
  t.end();
});

t.test('tokens that were not used are given back, and those beyond are charged', (t) => {
  const book = new RateBook();
  const first = permitted(book, [tpm(1_000, 800)], 0);
  t.match(book.admit([tpm(1_000, 300)], 0), { ok: false, refusal: { remaining: 200, waitMs: 6_000 } });
  first.settleTokens(100, 0);
  first.settleTokens(100, 0);
  t.equal(book.remaining(tpm(1_000, 1), 0), 900);
  const second = permitted(book, [tpm(1_000, 900)], 0);
  second.settleTokens(1_900, 0);
  t.match(book.admit([tpm(1_000, 100)], 0), { ok: false, refusal: { waitMs: 66_000 } });
  t.end();
});

t.test(
  'a call that needs more tokens than a minute has is refused, and told that waiting does not help',
  (t) => {
    t.match(new RateBook().admit([tpm(100, 101)], 0), {
      ok: false,
      refusal: { waitMs: null, remaining: 100 },
    });
    t.match(new RateBook().admit([rpm(0)], 0), { ok: false, refusal: { waitMs: null } });
    t.end();
  },
);

t.test('places of calls that ended are free, each once', (t) => {
  const book = new RateBook();
  const [one, two] = [permitted(book, [parallel(2)], 0), permitted(book, [parallel(2)], 0)];
  t.match(book.admit([parallel(2)], 0), { ok: false, refusal: { waitMs: null } });
  one.release();
  one.release();
  t.equal(book.admit([parallel(2)], 0).ok, true);
  t.equal(book.admit([parallel(2)], 0).ok, false);
  two.release();
  t.equal(book.admit([parallel(2)], 0).ok, true);
  t.end();
});

t.test('what is over is forgotten', (t) => {
  const book = new RateBook();
  for (let i = 0; i < 100; i += 1) permitted(book, [rpm(60, `end_user:${i}:rpm`)], 0).release();
  book.prune(999);
  t.equal(book.size, 100);
  book.prune(1_000);
  t.equal(book.size, 0);
  t.end();
});

t.test('calls in all: nobody gives one back, and a day after the last one they are forgotten', (t) => {
  const book = new RateBook();
  const calls = (most: number): LimitNeed => ({ kind: 'calls', limit: 'key:a:conversation:s:calls', most });
  t.same(permitted(book, [calls(2)], 0).remaining, [1]);
  permitted(book, [calls(2)], 1).release();
  const refused = book.admit([calls(2)], 2);
  t.match(refused, { ok: false, refusal: { waitMs: null, remaining: 0 } });
  t.notOk(book.admit([rpm(5), calls(2)], 3).ok);
  t.equal(book.remaining(rpm(5), 3), 5, 'what is refused consumes nothing elsewhere');
  t.same(permitted(book, [calls(3)], 4).remaining, [0], 'a higher one goes on with the count');
  book.prune(CALLS_KEPT_MS);
  t.notOk(book.admit([calls(3)], CALLS_KEPT_MS).ok);
  t.same(permitted(book, [calls(3)], CALLS_KEPT_MS + 5).remaining, [2]);
  t.notOk(book.admit([calls(0)], CALLS_KEPT_MS * 9).ok);
  t.end();
});
