// Which attempt answers, what became of the others, and how much time went by before the one that answers.
import t from 'tap';
import { AttemptLog, type AttemptStart } from '../../../proxy/pipeline/attempt-log.ts';
import { firstOf, servicesOf, liveOf } from '../../support/services.ts';
import type { Attempt } from '../../../proxy/spend/record/record.ts';

const selected = firstOf(
  liveOf(
    t,
    'model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k } }]',
    await servicesOf(t),
  ),
  'm',
);

const start = (sentAt: number, retries = 0, fallbacks = 0): AttemptStart => ({
  selected,
  sentAt,
  sentMs: sentAt,
  firstByteMs: 0,
  retries,
  fallbacks,
});

const row = (error: string): Attempt => ({
  modelId: 'id',
  model: 'up',
  apiBase: 'http://127.0.0.1:1',
  startMs: 0,
  durationMs: 1,
  status: null,
  error,
  usage: null,
  spendPico: null,
});

t.test('a call that was never sent has no attempt and has lost no time', async (t) => {
  const log = new AttemptLog();
  t.same([log.answering, log.retries, log.fallbacks, log.replacedMs, log.others()], [null, 0, 0, 0, null]);
});

t.test('one attempt that answers is all there is', async (t) => {
  const log = new AttemptLog();
  const only = start(50);
  log.begun(only);
  t.equal(log.answering, only);
  t.same([log.retries, log.replacedMs, log.others()], [0, 0, null]);
});

t.test('the last one that began answers, and the time before it is not ours', async (t) => {
  const log = new AttemptLog();
  const [first, second, third] = [start(50), start(80, 1), start(95, 1, 1)];
  log.begun(first);
  log.replaced(first, row('timeout'));
  log.begun(second);
  log.replaced(second, row('server'));
  log.begun(third);
  t.equal(log.answering, third);
  t.same([log.retries, log.fallbacks, log.replacedMs], [1, 1, 45]);
  t.same(
    (await log.others())?.map(({ error }) => error),
    ['timeout', 'server'],
  );
});

t.test('what was replaced does not answer, also where no other attempt begins', async (t) => {
  const log = new AttemptLog();
  const [first, second] = [start(50), start(80, 1)];
  log.begun(first);
  log.begun(second);
  log.replaced(first, row('timeout'));
  t.equal(log.answering, second);
  log.replaced(second, row('server'));
  t.same([log.answering, log.last, log.retries, log.replacedMs], [null, second, 1, 30]);
});

t.test('an attempt that began before another one may be the answer; what was tried was tried', async (t) => {
  const log = new AttemptLog();
  const [first, hedge] = [start(50), start(80, 1)];
  log.begun(first);
  log.begun(hedge);
  log.answers(first);
  log.replaced(hedge, row('cancelled'));
  t.equal(log.answering, first);
  t.same([log.retries, log.replacedMs], [1, 0]);
});

t.test('the others are told in the order in which they began, whichever was over first', async (t) => {
  const log = new AttemptLog();
  const [first, second] = [start(50), start(80, 1)];
  log.begun(first);
  log.begun(second);
  log.replaced(second, row('cancelled'));
  const counted = Promise.withResolvers<Attempt>();
  log.replaced(first, counted.promise); // its tokens are still counted
  counted.resolve(row('stream_broken'));
  t.same(
    (await log.others())?.map(({ error }) => error),
    ['stream_broken', 'cancelled'],
  );
});
