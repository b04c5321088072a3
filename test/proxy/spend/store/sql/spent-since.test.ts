// What a budget has spent is found by an index, however many sums there are: SQLite says so itself.
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { spentSqls } from '../../../../../proxy/spend/store/sql/spent-since.ts';
import { SQLITE_DIALECT } from '../../../../../proxy/spend/store/sqlite/dialect.ts';
import { migrate } from '../../../../../proxy/spend/store/sqlite/migrations.ts';

t.test(
  'sums of a key, team, user, end user, tag or organization are read without those of all others',
  (t) => {
    const db = new DatabaseSync(':memory:');
    migrate(db);
    for (const [column, index] of [
      ['apiKeyHash', 'key'],
      ['team', 'team'],
      ['user', 'user'],
      ['endUser', 'end_user'],
      ['tag', 'tag'],
      ['organization', 'organization'],
    ] as const)
      for (const ids of [['one'], ['one', 'two']]) {
        const [sql] = spentSqls({ by: [column], ids, sinceMs: 0 }, SQLITE_DIALECT);
        const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql?.text}`).all(...(sql?.values ?? []));
        t.match(plan[0]?.['detail'], new RegExp(`USING INDEX spend_daily_${index} `), column);
      }
    db.close();
    t.end();
  },
);

t.test('many ids are bound as one value', (t) => {
  const bound = (count: number): number[] => {
    const ids = Array.from({ length: count }, (_, i) => `id-${i}`);
    const sqls = spentSqls({ by: ['apiKeyHash'], ids, sinceMs: 1 }, SQLITE_DIALECT);
    return sqls.map(({ values }) => values.length);
  };
  t.same(bound(30_000), bound(1));
  t.end();
});
