// docs/doctor.md explains each code as the program does, and none that is not there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CODES } from '../../../proxy/doctor/codes.ts';
import { ROOT } from '../../support/cli.ts';

t.test('the table of docs/doctor.md is that of the program', (t) => {
  const page = readFileSync(join(ROOT, 'docs/doctor.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(TL-\d{4})` *\| (\w+) *\| (\w+) *\| (.*?) *\| (.*?) *\|$/gm)];
  const documented = rows.map(([, code = '', level, hop, meaning, fix]) => [
    code,
    { level, hop, meaning, fix },
  ]);
  t.same(Object.fromEntries(documented), CODES);
  t.same(
    rows.map(([, code]) => code),
    Object.keys(CODES),
    'in their order',
  );
  t.end();
});
