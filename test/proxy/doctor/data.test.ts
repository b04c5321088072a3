// What the doctor says of a data directory.
import { writeFileSync } from 'node:fs';
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
