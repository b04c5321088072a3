// The end of a proxy whose parts do not all close: the spend records are a real ledger on a real directory.
import t from 'tap';
import { openLog } from '../../../proxy/observability/logger.ts';
import { closeEach, OpenedParts } from '../../../proxy/server/opened-parts.ts';
import { lockHolder } from '../../../proxy/spend/store/lock.ts';
import { CLOSE_MS, allRows, ledgerOf } from '../spend/journal/fixture/ledgers.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

interface Logged {
  readonly log: ReturnType<typeof openLog>['log'];
  readonly lines: readonly {
    readonly part?: string;
    readonly msg?: string;
    readonly err?: { readonly message: string };
  }[];
}

function logged(): Logged {
  const lines: Logged['lines'][number][] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Logged['lines'][number]);
  return { log: openLog('info', { write }).log, lines };
}

t.test('parts that cannot be closed keep no row from the store, and the directory is free', async (t) => {
  const dataDir = tempDir(t);
  const { ledger } = await ledgerOf(t, dataDir);
  const record = settleOf(beginOf('id-1'));
  await ledger.begin(beginOf('id-1'));
  await ledger.settle(record);
  await ledger.begin(beginOf('id-2'));
  const { log, lines } = logged();
  const parts = new OpenedParts(log);
  const stuck = (name: string) => () => Promise.reject(new Error(`${name} is stuck`));
  parts.addWritten('spans', stuck('spans'));
  parts.addWritten('spend records', ({ recordsMs }) => ledger.close(recordsMs));
  for (const name of ['platform', 'access', 'alerts']) parts.add(name, stuck(name));
  const all = ['alerts', 'access', 'platform', 'spans'];
  t.same(
    await parts.close({ partsMs: CLOSE_MS, recordsMs: CLOSE_MS, spansMs: 0 }),
    all,
    'the last one first',
  );
  t.equal(lockHolder(dataDir), null);
  t.same(
    lines.map(({ part, err }) => [part, err?.message]),
    all.map((part) => [part, `${part} is stuck`]),
  );
  const next = await ledgerOf(t, dataDir);
  t.match(next.ledger.status, { recovered: 1 }, 'only the call that had no end is recovered');
  t.same((await allRows(next.ledger)).map(({ requestId }) => requestId).toSorted(), ['id-1', 'id-2']);
});

t.test('a part that does not end keeps no row from the store, and is named', async (t) => {
  const dataDir = tempDir(t);
  const { ledger } = await ledgerOf(t, dataDir);
  await ledger.begin(beginOf('id-1'));
  await ledger.settle(settleOf(beginOf('id-1')));
  const { log, lines } = logged();
  const written = Promise.withResolvers<void>();
  const closed: string[] = [];
  const parts = new OpenedParts(log);
  parts.addWritten('spend records', async () => {
    await ledger.close(CLOSE_MS);
    written.resolve();
  });
  parts.add('access', () => void closed.push('access'));
  parts.add('platform', () => written.promise);
  parts.add('history', () => void closed.push('history'));
  parts.add('alerts', () => new Promise<never>(() => undefined));
  const unclosed = await parts.close({ partsMs: 1, recordsMs: 1, spansMs: 0 });
  t.same(unclosed, ['alerts'], 'not the one that ended beside the records');
  t.same(closed, ['history', 'access']);
  t.match(lines, [{ part: 'alerts', msg: 'a part of the proxy was not closed in time' }]);
  const next = await ledgerOf(t, dataDir);
  t.match(next.ledger.status, { recovered: 0 });
  t.equal((await allRows(next.ledger)).length, 1);
});

t.test('a part that throws at once counts as one that rejects', async (t) => {
  const { log } = logged();
  const closed: string[] = [];
  const failed = await closeEach(log, {
    first: () => {
      throw new Error('no');
    },
    second: () => void closed.push('second'),
  });
  t.same([failed, closed], [['first'], ['second']]);
});
