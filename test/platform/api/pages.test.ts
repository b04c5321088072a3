// Pages of every operation that has them, asked over HTTP.
import t from 'tap';
import { description } from '../../../platform/api/description.ts';
import { at, startPlatform } from '../fixture/rig.ts';

/** Pages of events begin behind the id of an event, which is the agent server's. */
const PAGED = Object.entries(description().paths)
  .filter(([, operations]) => operations['get']?.parameters?.some(({ name }) => name === 'page_id'))
  .map(([path]) => path)
  .filter((path) => !path.includes('/events/'));

t.test('a page_id that no page gave is 422 with its place, in every list', async (t) => {
  const rig = await startPlatform(t);
  t.ok(PAGED.length >= 8, PAGED.join(' '));
  const organization = String(at(await rig.api('GET', '/api/organizations'), 'items.0.id'));
  for (const path of PAGED.map((one) => one.replace('{org_id}', organization))) {
    for (const id of ['zzz', '-1', '1.5', '0x10', '1e3', '%20', '%EF%BC%91', '9999999999']) {
      const response = await rig.api('GET', `${path}?page_id=${id}`);
      t.equal(response.status, 422, `${path} ${id}`);
      t.match(at(response, 'detail.0'), { loc: ['query', 'page_id'], type: 'int_parsing' });
      t.notMatch(response.text, /zzz/, 'the input is never repeated');
    }
  }
});

t.test('none, an empty one and the first one are the first page', async (t) => {
  const rig = await startPlatform(t);
  for (const query of ['', '?page_id=', '?page_id=0']) {
    const response = await rig.api('GET', `/api/v1/app-conversations/search${query}`);
    t.same(response.json, { items: [], next_page_id: null }, query);
  }
});
