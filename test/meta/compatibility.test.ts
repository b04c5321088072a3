// docs/compatibility.md is what a run of `npm run interop -- --only gateways` writes from the checks and the limits of each gateway:
// here without the run, with the versions that the page states.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { CHECKS } from '../interop/gateways/checks.ts';
import { GATEWAYS } from '../interop/gateways/list.ts';
import { compatibilityPage, PAGE, versionsOf } from '../interop/gateways/page.ts';

t.test('the page of compatibility is the one that the checks write', async (t) => {
  const page = readFileSync(PAGE, 'utf8');
  const versions = versionsOf(page);
  t.equal(page, compatibilityPage(versions), 'npm run interop -- --only gateways');
  for (const version of Object.values(versions)) t.match(version, /^\d+\.\d/);
  const ids = CHECKS.map(({ id }) => id);
  t.equal(new Set(ids).size, ids.length);
  for (const { name, limits } of GATEWAYS)
    for (const [id, { why }] of Object.entries(limits)) {
      t.ok(ids.includes(id), `${name}: ${id} is a check`);
      t.match(why, /^\S.*\.$/s);
    }
});
