// The end of alerts while spend is still compared with what is usual.
import t from 'tap';
import { AccessDirectory } from '../../../proxy/access/objects/directory.ts';
import { openHistoryStore } from '../../../proxy/items/history.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { openAlerts } from '../../../proxy/server/open-alerts.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
import { ManualClock } from '../../support/clock.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

t.test('a store that is slow to say what was spent does not hold up the end', async (t) => {
  const dataDir = tempDir(t);
  const clock = new ManualClock();
  const store = openHistoryStore({ dataDir, database: null });
  const pools = new Pools(clock.mono);
  t.teardown(() => {
    pools.destroy();
    return store.close();
  });
  const lines: string[] = [];
  const { log } = openLog('info', { write: (line: string) => void lines.push(line) });
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
  const spentBefore = (): Promise<never> => {
    asked.resolve();
    return answer.promise;
  };
  const spendAnomaly = { minPico: 1n, factor: 4, scopes: new Set(['proxy'] as const), days: 14 };
  const opened = await openAlerts(
    { dataDir, log },
    {
      store,
      settings: () => ({ channels: [], keyExpiryMs: 0, spendAnomaly }),
      directory: new AccessDirectory(),
      ledger: { spentBefore },
      pools,
      clock,
      count: () => undefined,
    },
  );
  opened.watch();
  await asked.promise;
  await opened.close();
  answer.reject(new Error('the store is closed'));
  await answer.promise.catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  t.same(lines, [], "what it comes to then is nobody's trouble");
});
