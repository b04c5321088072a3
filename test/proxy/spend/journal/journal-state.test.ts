// What each state of the journal takes, and what follows a retry.
import t from 'tap';
import {
  afterRetry,
  errorOf,
  isSpaceError,
  JournalUnwritable,
  outageOf,
  refusalOf,
  takesSettle,
  WRITABLE,
  type JournalState,
} from '../../../../proxy/spend/journal/journal-state.ts';

const FULL = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
const BROKEN = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });

t.test(
  'settle entries are written where they can be, those of refused calls never on the reserve',
  async (t) => {
    const retry = setTimeout(() => undefined).unref();
    const states: readonly (readonly [JournalState, boolean, boolean, Error | null])[] = [
      [WRITABLE, true, true, null],
      [{ is: 'full', error: FULL, retry }, true, false, FULL],
      [{ is: 'unwritable', error: BROKEN, retry }, false, false, BROKEN],
      [{ is: 'closed', error: null }, false, false, null],
      [{ is: 'closed', error: BROKEN }, false, false, BROKEN],
    ];
    for (const [state, takes, takesRefused, error] of states) {
      t.equal(takesSettle(state, false), takes, state.is);
      t.equal(takesSettle(state, true), takesRefused, state.is);
      t.equal(errorOf(state), error, state.is);
      t.equal(outageOf(state), 'retry' in state ? state : null, state.is);
    }
  },
);

for (const [is, failure, isOnReserve, next] of [
  ['full', null, false, null],
  ['full', null, true, { is: 'full', error: FULL }],
  ['full', BROKEN, true, { is: 'full', error: BROKEN }],
  ['full', BROKEN, false, { is: 'unwritable', error: BROKEN }],
  ['unwritable', null, false, null],
  ['unwritable', null, true, { is: 'full', error: FULL }],
  ['unwritable', BROKEN, true, { is: 'unwritable', error: BROKEN }],
  ['unwritable', BROKEN, false, { is: 'unwritable', error: BROKEN }],
] as const)
  void t.test(
    `${is}, a retry that ${failure === null ? 'succeeds' : 'fails'}, ${isOnReserve ? 'on the reserve' : 'beside it'}: ${next?.is ?? 'writable'}`,
    async (t) => t.same(afterRetry({ is, error: FULL }, failure, isOnReserve), next),
  );

t.test('a full disk or quota is told from a broken one', async (t) => {
  t.ok(isSpaceError(FULL));
  t.ok(isSpaceError(Object.assign(new Error('quota'), { code: 'EDQUOT' })));
  t.notOk(isSpaceError(BROKEN));
  t.notOk(isSpaceError(new Error('without a code')));
});

t.test('a refusal says where and why, and what mends it', async (t) => {
  const refusal = refusalOf('/data/journal', FULL);
  t.ok(refusal instanceof JournalUnwritable);
  t.match(
    refusal.message,
    /^the spend journal in \/data\/journal cannot be written \(ENOSPC.*free space on that disk/,
  );
  t.match(refusalOf('/data/journal', null).message, 'closed: the proxy is stopping');
});
