// The end of a proxy whose parts do not all close: the spend records are a real ledger on a real directory.
import t from 'tap';
import { openLog } from '../../../proxy/observability/logger.ts';
import { closeAll, closeEach, type Closable } from '../../../proxy/server/close-all.ts';
import { lockHolder } from '../../../proxy/spend/store/lock.ts';
import { CLOSE_MS, allRows, ledgerOf } from '../spend/journal/fixture/ledgers.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

const ALL = ['platform', 'alerts', 'history', 'access', 'stops', 'capsules', 'valkey', 'spans'] as const;

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
  const rejecting = (name: string) => ({ close: () => Promise.reject(new Error(`${name} is stuck`)) });
  let isDestroyed = false;
  const opened: Closable = {
    platform: rejecting('platform'),
    alerts: rejecting('alerts'),
    history: rejecting('history'),
    access: rejecting('access'),
    stops: rejecting('stops'),
    capsules: rejecting('capsules'),
    valkey: rejecting('valkey'),
    ledger,
    spans: rejecting('spans'),
    pools: { destroy: () => (isDestroyed = true) },
  };
  const { log, lines } = logged();
  t.same(await closeAll(opened, log, { partsMs: CLOSE_MS, recordsMs: CLOSE_MS, spansMs: 0 }), ALL);
  t.ok(isDestroyed, 'connections to upstreams are closed');
  t.equal(lockHolder(dataDir), null);
  t.same(
    lines.map(({ part, err }) => [part, err?.message]),
    ALL.map((part) => [part, `${part} is stuck`]),
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
  const written = Promise.withResolvers<void>();
  const closed: string[] = [];
  const ends = (name: string) => ({
    close: () => {
      closed.push(name);
      return Promise.resolve();
    },
  });
  const opened: Closable = {
    platform: { close: () => written.promise },
    alerts: { close: () => new Promise<never>(() => undefined) },
    history: ends('history'),
    access: ends('access'),
    stops: ends('stops'),
    capsules: null,
    valkey: null,
    ledger: {
      close: async () => {
        await ledger.close(CLOSE_MS);
        written.resolve();
      },
    },
    spans: null,
    pools: { destroy: () => void closed.push('pools') },
  };
  const { log, lines } = logged();
  const deadlines = { partsMs: 1, recordsMs: 1, spansMs: 1 };
  t.same(await closeAll(opened, log, deadlines), ['alerts'], 'not the one that ended beside the records');
  t.same(closed, ['history', 'access', 'stops', 'pools']);
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
