// Lists of keys: exact filters, pages, order; what a caller may not see is in none of them.
import { hash } from 'node:crypto';
import t from 'tap';
import { list, manage, managed, newKey } from '../../../support/manage.ts';
import { startRig, type Rig } from '../../../support/rig.ts';

const digest = (text: string): string => hash('sha256', text, 'hex');
const keysOf = async (rig: Rig, query: string, key?: string): Promise<string[]> =>
  (await managed(rig, `GET /key/list${query}`, undefined, key))['keys'] as string[];

t.test('all keys of a user come without paging: an eleventh is not forgotten', async (t) => {
  const rig = await startRig(t);
  const keys = await Promise.all(Array.from({ length: 13 }, () => newKey(rig, { user_id: 'u-1' })));
  await newKey(rig, { user_id: 'u-10' });
  await newKey(rig, { user_id: 'u-1 ' });
  const answer = await managed(rig, 'GET /key/list?user_id=u-1');
  t.same((answer['keys'] as string[]).toSorted(), keys.map(digest).toSorted(), 'hashes, and exactly his');
  t.match(answer, { total_count: 13, current_page: 1, total_pages: 1 });
});

t.test('pages do not overlap and leave nothing out', async (t) => {
  const rig = await startRig(t);
  for (let n = 0; n < 25; n += 1) await newKey(rig, { key_alias: `k${String(n).padStart(2, '0')}` });
  const pages = await Promise.all(
    [1, 2, 3, 4].map((page) => managed(rig, `GET /key/list?page=${page}&size=10`)),
  );
  t.same(
    pages.map(({ keys }) => (keys as string[]).length),
    [10, 10, 5, 0],
  );
  t.equal(new Set(pages.flatMap(({ keys }) => keys as string[])).size, 25);
  t.match(pages[2], { total_count: 25, current_page: 3, total_pages: 3 });
  for (const query of ['page=0', 'page=x', 'size=101', 'size=0', 'page=-1', 'size=1.5']) {
    const { status, json } = await manage(rig, `GET /key/list?${query}`);
    t.equal(status, 422, query);
    t.match(json, { detail: [{ loc: ['query', query.split('=')[0]] }] });
  }
});

t.test('filters match exactly, and together', async (t) => {
  const rig = await startRig(t);
  const one = await newKey(rig, { user_id: 'u', team_id: 't', key_alias: 'user u, org o' });
  const two = await newKey(rig, { user_id: 'u', team_id: 't2' });
  await newKey(rig, { user_id: 'user', team_id: 'team' });
  t.same(await keysOf(rig, '?team_id=t'), [digest(one)]);
  t.same(await keysOf(rig, '?user_id=u&team_id=t2'), [digest(two)]);
  t.same(await keysOf(rig, '?user_id=us'), [], 'no part of a name');
  t.same(await keysOf(rig, '?key_alias=user%20u,%20org%20o'), [digest(one)]);
  t.same(await keysOf(rig, '?key_alias=user'), []);
  t.same(await keysOf(rig, `?key_hash=${digest(two)}`), [digest(two)]);
  await managed(rig, 'POST /key/block', { key: one });
  t.same(await keysOf(rig, '?status=revoked'), [digest(one)]);
  t.equal((await keysOf(rig, '?status=active')).length, 2);
  t.same(await keysOf(rig, '?status=deleted'), []);
  t.equal((await manage(rig, 'GET /key/list?status=odd')).status, 422);
  const kept = await newKey(rig, { project_id: 'p', agent_id: 'a', access_group_ids: ['g', 'h'] });
  for (const [name, value] of [
    ['project_id', 'p'],
    ['agent_id', 'a'],
    ['access_group_id', 'g'],
  ] as const) {
    t.same(await keysOf(rig, `?${name}=${value}`), [digest(kept)], name);
    t.same(await keysOf(rig, `?${name}=other`), [], name);
    t.same((await managed(rig, `GET /key/aliases?${name}=other`))['aliases'], [], name);
  }
  t.match(await manage(rig, 'GET /key/list?expires=x'), {
    status: 400,
    json: { error: { message: /^There is no filter expires/ } },
  });
});

t.test('parts of aliases and users, where they are asked for', async (t) => {
  const rig = await startRig(t);
  const one = await newKey(rig, { key_alias: 'Project-1-a', user_id: 'ada@example.com' });
  const two = await newKey(rig, { key_alias: 'project-2-a', user_id: 'bob' });
  const both = [one, two].map(digest).toSorted();
  const found = async (query: string, key?: string): Promise<string[]> =>
    (await keysOf(rig, query, key)).toSorted();
  t.same(await found('?key_alias=project'), [], 'exact unless it is asked for');
  t.same(await found('?key_alias=PROJECT&substring_matching=true'), both);
  t.same(await found('?key_alias=project-1&substring_matching=true'), [digest(one)]);
  t.same(await found('?user_id=ADA&substring_matching=true'), [digest(one)]);
  t.same(await found('?search=PROJECT-2'), [digest(two)]);
  t.same(await found(`?search=${digest(one)}`), [digest(one)]);
  t.same(await found('?search=other'), []);
  t.same(await found('?key_alias=project&substring_matching=true', two), [digest(two)], 'what it may see');
  t.same(await found('?search=project', two), [digest(two)]);
  t.equal(
    (await manage(rig, 'GET /key/list?user_id=ada&substring_matching=true', undefined, two)).status,
    403,
  );
});

t.test('whole objects, sorted', async (t) => {
  const rig = await startRig(t);
  for (const [key_alias, max_budget] of [
    ['b', 2],
    ['a', 3],
    ['c', 1],
  ])
    await newKey(rig, { key_alias, max_budget });
  const aliases = async (query: string): Promise<unknown[]> =>
    list((await managed(rig, `GET /key/list?return_full_object=true&${query}`))['keys']).map(
      ({ key_alias }) => key_alias,
    );
  t.same(await aliases('sort_by=key_alias&sort_order=asc'), ['a', 'b', 'c']);
  t.same(await aliases('sort_by=max_budget'), ['a', 'b', 'c']);
  t.same((await aliases('sort_by=spend')).length, 3);
  t.equal((await manage(rig, 'GET /key/list?sort_by=metadata')).status, 400);
  t.equal((await manage(rig, 'GET /key/list?sort_by=__proto__')).status, 400);
  t.equal((await manage(rig, 'GET /key/list?sort_order=up')).status, 422);
});

t.test('who is no administrator sees their own keys, and those of teams that they administer', async (t) => {
  const rig = await startRig(t);
  await managed(rig, 'POST /team/new', {
    team_id: 'core',
    members_with_roles: [
      { user_id: 'lead', role: 'admin' },
      { user_id: 'dev', role: 'user' },
    ],
  });
  const lead = await newKey(rig, { user_id: 'lead' });
  const dev = await newKey(rig, { user_id: 'dev', team_id: 'core' });
  const stranger = await newKey(rig, { user_id: 'stranger' });
  t.same(await keysOf(rig, '', stranger), [digest(stranger)]);
  t.same(await keysOf(rig, '', lead), [digest(lead)]);
  t.same((await keysOf(rig, '?include_team_keys=true', lead)).toSorted(), [lead, dev].map(digest).toSorted());
  t.same(await keysOf(rig, '?team_id=core', lead), [digest(dev)]);
  t.equal((await manage(rig, 'GET /key/list?user_id=dev', undefined, stranger)).status, 403);
  t.equal((await manage(rig, 'GET /key/list?team_id=core', undefined, stranger)).status, 403);
  t.same(await keysOf(rig, `?key_hash=${digest(dev)}`, stranger), []);
  await newKey(rig, { key_alias: 'hidden' });
  t.same(await managed(rig, 'GET /key/aliases', undefined, stranger), {
    aliases: [],
    total_count: 0,
    current_page: 1,
    total_pages: 0,
    size: 100,
  });
});

t.test('aliases', async (t) => {
  const rig = await startRig(t);
  for (const key_alias of ['b, two', 'a one', 'c']) await newKey(rig, { key_alias });
  await newKey(rig, {});
  t.match(await managed(rig, 'GET /key/aliases'), { aliases: ['a one', 'b, two', 'c'], total_count: 3 });
  t.match(await managed(rig, 'GET /key/aliases?search=TWO'), { aliases: ['b, two'] });
  t.match(await managed(rig, 'GET /key/aliases?page=2&size=2'), { aliases: ['c'], total_pages: 2 });
});
