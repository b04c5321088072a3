// Reading sandboxes over the wire: how many at once, and what of a page.
import t from 'tap';
import { at, specs, startPlatform } from '../fixture/rig.ts';

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
