// What the doctor says of a data directory.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { checkData } from '../../../proxy/doctor/data.ts';
import { Reporter, type Outcome } from '../../../proxy/doctor/finding.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

t.test('a data directory that is a file is no matter of its owner', async (t) => {
  const dataDir = join(tempDir(t), 'data');
  writeFileSync(dataDir, '');
  const said: Outcome[] = [];
  const report = new Reporter('data', dataDir, (outcome) => said.push(outcome));
  await checkData({ dataDir, database: null, timeoutMs: PATIENCE_MS }, report);
  t.match(said, [
    { check: 'directory', finding: { code: 'TL-1201', seen: 'it is no folder', fix: /--data-dir/ } },
    { check: 'store', status: 'skipped' },
  ]);
});

t.test('a damaged file of spend rows is told from a disk that is full or closed', async (t) => {
  const dataDir = tempDir(t);
  const file = join(dataDir, 'throughline.db');
  const found = async (): Promise<readonly Outcome[]> => {
    const said: Outcome[] = [];
    const report = new Reporter('data', dataDir, (outcome) => said.push(outcome));
    await checkData({ dataDir, database: null, timeoutMs: PATIENCE_MS }, report);
    return said.filter(({ check }) => check === 'store');
  };
  writeFileSync(file, 'no database at all '.repeat(500));
  t.match(await found(), [
    { finding: { code: 'TL-1209', seen: /is damaged/, fix: /move throughline\.db\* away/ } },
  ]);
  rmSync(file);
  mkdirSync(file);
  t.match(await found(), [{ finding: { code: 'TL-1206', fix: /^Free space/ } }]);
});
