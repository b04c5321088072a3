// Which clock runs at which stage, to the millisecond, and in what words its end is reported.
import t from 'tap';
import { overdue, type Clocked, type Waits } from '../../../proxy/relay/timeouts.ts';
import { NO_CLOCKS } from './fixture/exchange.ts';

const STARTED = 1_000;
const SENT = 1_010;
/** Where a connection that was used before was closed meanwhile. */
const AGAIN = 1_050;
const HEARD = 1_100;
const response = { lastByteAt: HEARD };
const STAGES: readonly Waits[] = [
  { is: 'connecting', since: AGAIN },
  { is: 'waiting', sentAt: SENT },
  { is: 'gathering', response },
  { is: 'holding', response, sentAt: SENT },
  { is: 'flowing', response, isPaused: false },
  { is: 'flowing', response, isPaused: true },
];
const titleOf = (stage: Waits): string => ('isPaused' in stage && stage.isPaused ? 'paused' : stage.is);

const clocked = (clocks: Partial<Clocked['clocks']>, more: Partial<Clocked> = {}): Clocked => ({
  apiBase: 'http://up.example/v1',
  clocks: { ...NO_CLOCKS, ...clocks },
  firstByteMs: 0,
  firstByteOf: 'entry',
  firstTokenMs: 0,
  ...more,
});

t.test(
  'each clock runs at its stages alone, from its own beginning, and ends after its last millisecond',
  (t) => {
    const table: readonly [code: string, request: Clocked, since: number, stages: readonly string[]][] = [
      [
        'total_timeout',
        clocked({ totalMs: 500 }),
        STARTED,
        ['connecting', 'waiting', 'gathering', 'holding', 'flowing', 'paused'],
      ],
      ['connect_timeout', clocked({ connectMs: 500 }), AGAIN, ['connecting']],
      ['first_byte_timeout', clocked({}, { firstByteMs: 500 }), SENT, ['waiting']],
      ['first_token_timeout', clocked({}, { firstTokenMs: 500 }), SENT, ['waiting', 'holding']],
      ['idle_timeout', clocked({ idleMs: 500 }), HEARD, ['gathering', 'holding', 'flowing']],
    ];
    for (const [code, request, since, stages] of table) {
      for (const stage of STAGES) {
        const title = `${code} while ${titleOf(stage)}`;
        t.equal(overdue(request, stage, since + 500, STARTED), null, `${title}: on time`);
        const expected = stages.includes(titleOf(stage)) ? code : undefined;
        t.equal(overdue(request, stage, since + 500.1, STARTED)?.code, expected, title);
      }
    }
    t.end();
  },
);

t.test('a clock of 0 is off', (t) => {
  for (const stage of STAGES) t.equal(overdue(clocked({}), stage, Infinity, STARTED), null, titleOf(stage));
  t.end();
});

t.test('of several that have run out the widest is reported; the text names upstream and time', (t) => {
  const all = clocked(
    { totalMs: 1, connectMs: 2, idleMs: 3 },
    { firstByteMs: 4, firstByteOf: 'entry', firstTokenMs: 5 },
  );
  for (const stage of STAGES) t.equal(overdue(all, stage, 9_999, STARTED)?.code, 'total_timeout');
  const some = { ...all, clocks: { ...all.clocks, totalMs: 0 } };
  t.equal(overdue(some, { is: 'waiting', sentAt: SENT }, 9_999, STARTED)?.code, 'first_byte_timeout');
  t.equal(
    overdue(some, { is: 'holding', sentAt: SENT, response }, 9_999, STARTED)?.code,
    'first_token_timeout',
  );
  t.match(overdue(some, { is: 'connecting', since: STARTED }, 9_999, STARTED), {
    message: 'No connection to the upstream http://up.example/v1 within 2 ms.',
    status: 504,
  });
  t.end();
});
