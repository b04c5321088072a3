// Which errors of SQLite say that the file is damaged.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { isDamage } from '../../../../../proxy/spend/store/sqlite/damage.ts';
import { tempDir } from '../fixture/temp-dir.ts';

function errorOf(file: string, sql: string): unknown {
  const db = new DatabaseSync(file);
  try {
    db.exec(sql);
    return null;
  } catch (error) {
    return error;
  } finally {
    db.close();
  }
}

t.test('a file that is no database, and one with a page that is none', async (t) => {
  const file = join(tempDir(t), 'a.db');
  writeFileSync(file, 'no database at all '.repeat(500));
  t.ok(isDamage(errorOf(file, 'CREATE TABLE t (a)')));
  const extended = Object.assign(new Error('database disk image is malformed'), { errcode: 11 + 256 });
  t.ok(isDamage(extended), 'an extended code (SQLITE_CORRUPT_VTAB)');
});

t.test('neither a wrong statement nor an error of something else', async (t) => {
  const file = join(tempDir(t), 'a.db');
  t.notOk(isDamage(errorOf(file, 'SELECT nothing FROM nowhere')));
  t.notOk(isDamage(Object.assign(new Error('disk I/O error'), { errcode: 10 })));
  for (const other of [new Error('a'), null, undefined, 11]) t.notOk(isDamage(other));
});
