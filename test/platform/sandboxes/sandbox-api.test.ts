// Sandboxes over the wire: how many are read at once, what of a page, and what a reload changes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { at, specs, startPlatform, until } from '../fixture/rig.ts';
import { killMarked } from '../fixture/sandbox-processes.ts';

const PATH = '/api/v1/sandboxes';

t.test(
  'at most 100 sandboxes are read at once; what is not there is null; wrong pages are told',
  async (t) => {
    const rig = await startPlatform(t, { platform: specs('', 'none') });
    const ids = (count: number): string => Array.from({ length: count }, (_, n) => `id=a${n}`).join('&');
    t.same(
      (await rig.api('GET', `${PATH}?${ids(100)}`)).json,
      Array.from({ length: 100 }, () => null),
    );
    const many = await rig.api('GET', `${PATH}?${ids(101)}`);
    t.equal(many.status, 400);
    t.same(many.json, { detail: 'Cannot request more than 100 sandboxes at once, got 101' });
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'page_id=zzz'])
      t.match(
        await rig.api('GET', `${PATH}/search?${query}`),
        { status: 422, json: { detail: [{ loc: ['query', query.split('=')[0]] }] } },
        query,
      );
    const none = await rig.api('GET', `${PATH}/search`);
    t.same(at(none, 'items'), []);
  },
);

t.test('a reload changes specs and limits, and leaves what runs', async (t) => {
  const rig = await startPlatform(t, { platform: specs('', 'none') });
  t.teardown(() => killMarked(join(rig.folder, 'data')));
  const first = String(at(await rig.api('POST', PATH), 'id'));
  await until(rig, first, 'RUNNING');
  const config = readFileSync(rig.configPath, 'utf8');
  await rig.reconfigure(
    config
      .replace('max_running: 2', 'max_running: 1')
      .replace('  sandbox_specs:\n', '  sandbox_specs:\n    - { id: added, command: ["/bin/false"] }\n'),
  );
  const listed = await rig.api('GET', '/api/v1/sandbox-specs/search');
  t.match(at(listed, 'items'), [{ id: 'added' }, { id: 'default' }]);
  await until(rig, first, 'RUNNING');
  const second = String(at(await rig.api('POST', `${PATH}?sandbox_spec_id=default`), 'id'));
  await until(rig, second, 'RUNNING');
  await until(rig, first, 'PAUSED');
});
