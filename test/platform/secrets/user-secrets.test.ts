// A user's secrets: written, renamed, listed and removed, but never told again; bounded; sealed at rest; not in the log.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { at, startPlatform, type Answered } from '../fixture/rig.ts';

const PATH = '/api/v1/secrets';
const VALUE = 'ghp_value-that-nobody-may-see';
const USERS = '[{ key: session-key-of-the-tests, user_id: alice }, { key: key-of-bob, user_id: bob }]';

const names = (page: Answered): unknown => (at(page, 'items') as { name: string }[]).map(({ name }) => name);

t.test(
  'a secret is stored, described, renamed and removed; its value is in no answer, file or line',
  async (t) => {
    const rig = await startPlatform(t);
    const answers: Answered[] = [];
    const api = async (method: string, path: string, body?: unknown): Promise<Answered> => {
      const answer = await rig.api(method, path, body);
      answers.push(answer);
      return answer;
    };
    t.same((await api('GET', `${PATH}/search`)).json, { items: [], next_page_id: null });
    const made = await api('POST', PATH, { name: 'GITHUB_TOKEN', value: VALUE, description: 'for clones' });
    t.equal(made.status, 201);
    t.same(made.json, { message: 'Secret saved successfully' });
    t.equal((await api('POST', PATH, { name: 'constructor', value: VALUE })).status, 201);
    t.same((await api('GET', `${PATH}/search`)).json, {
      items: [
        { name: 'GITHUB_TOKEN', description: 'for clones' },
        { name: 'constructor', description: null },
      ],
      next_page_id: null,
    });
    const renamed = await api('PUT', `${PATH}/GITHUB_TOKEN`, { name: 'GH_TOKEN', description: 'for pulls' });
    t.same(renamed.json, { message: 'Secret updated successfully' });
    t.same((await api('PUT', `${PATH}/GITHUB_TOKEN`, { name: 'X' })).status, 404);
    t.equal((await api('PUT', `${PATH}/GH_TOKEN`, { name: 'constructor' })).status, 400, 'the name is taken');
    t.equal((await api('PUT', `${PATH}/GH_TOKEN`, { name: 'GH_TOKEN' })).status, 200, 'says nothing new');
    t.equal((await api('POST', PATH, { name: 'GH_TOKEN', value: `${VALUE}-2` })).status, 201, 'replaces');
    t.same(at(await api('GET', `${PATH}/search?name__contains=gh_`), 'items'), [
      { name: 'GH_TOKEN', description: 'for pulls' },
    ]);
    const first = await api('GET', `${PATH}/search?limit=1`);
    t.same([names(first), at(first, 'next_page_id')], [['GH_TOKEN'], '1']);
    t.same(names(await api('GET', `${PATH}/search?limit=1&page_id=1`)), ['constructor']);
    t.same((await api('DELETE', `${PATH}/constructor`)).json, { message: 'Secret deleted successfully' });
    t.equal((await api('DELETE', `${PATH}/constructor`)).status, 404);
    t.equal((await api('GET', `${PATH}/GH_TOKEN`)).status, 405, 'there is no way to read one');

    for (const { text } of answers) t.notMatch(text, VALUE);
    t.notMatch(JSON.stringify(rig.log), VALUE);
    const files = readdirSync(rig.folder, { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    t.ok(files.some(({ name }) => name.startsWith('platform.db')));
    for (const { parentPath, name } of files)
      t.notOk(readFileSync(join(parentPath, name)).includes(VALUE), name); // `notMatch` prints both, 0.1 s for a megabyte
  },
);

t.test('names, values and numbers have bounds, and a refusal does not repeat the input', async (t) => {
  const rig = await startPlatform(t);
  const wrong = ['', '1A', '_A', 'A-B', 'A B', 'A\n', 'A\u0000', '../A', 'Ä', 'a'.repeat(65)];
  for (const name of wrong) {
    const answer = await rig.api('POST', PATH, { name, value: VALUE });
    t.equal(answer.status, 422, JSON.stringify(name));
    t.match(answer.json, { detail: [{ loc: ['body', 'name'], type: 'value_error' }] });
    t.notMatch(answer.text, VALUE);
  }
  for (const value of ['', '  ', '**********', 'a\u0000b', 'x'.repeat(32 * 1024 + 1), 'ü'.repeat(17_000)]) {
    const answer = await rig.api('POST', PATH, { name: 'A', value });
    t.match([answer.status, answer.json], [422, { detail: [{ loc: ['body', 'value'] }] }]);
  }
  for (const body of [{}, { name: 'A' }, { name: 'A', value: null }, { name: 'A', value: 5 }])
    t.equal((await rig.api('POST', PATH, body)).status, 422);
  t.equal(
    (await rig.api('POST', PATH, { name: 'A', value: 'b', description: 'x'.repeat(1_001) })).status,
    422,
  );
  for (let n = 0; n < 100; n += 1)
    t.equal(
      (await rig.api('POST', PATH, { name: `S${n}`, value: 'x'.repeat(n < 3 ? 32 * 1024 : 1) })).status,
      201,
    );
  const over = await rig.api('POST', PATH, { name: 'S100', value: 'x' });
  t.same(
    [over.status, over.json],
    [409, { detail: 'Secret limit reached (100). Delete a secret before saving a new one.' }],
  );
  t.equal((await rig.api('POST', PATH, { name: 'S99', value: 'y' })).status, 201, 'one can be replaced');
});

t.test('users have secrets of their own', async (t) => {
  const rig = await startPlatform(t, { users: USERS });
  await rig.api('POST', PATH, { name: 'A', value: VALUE });
  t.same(names(await rig.api('GET', `${PATH}/search`, undefined, 'key-of-bob')), []);
  t.equal((await rig.api('PUT', `${PATH}/A`, { name: 'B' }, 'key-of-bob')).status, 404);
  t.equal((await rig.api('DELETE', `${PATH}/A`, undefined, 'key-of-bob')).status, 404);
  t.same(names(await rig.api('GET', `${PATH}/search`)), ['A']);
});

t.test('the older interface has the same secrets', async (t) => {
  const rig = await startPlatform(t);
  const made = await rig.api('POST', '/api/secrets', { name: 'A', value: VALUE, description: 'a' });
  t.same([made.status, made.headers['deprecation']], [200, '@1775001600']);
  t.equal((await rig.api('POST', '/api/secrets', { name: 'A', value: 'other' })).status, 400);
  t.same((await rig.api('GET', '/api/secrets')).json, { custom_secrets: [{ name: 'A', description: 'a' }] });
  t.equal((await rig.api('PUT', '/api/secrets/A', { name: 'B', description: null })).status, 200);
  t.same(at(await rig.api('GET', `${PATH}/search`), 'items'), [{ name: 'B', description: null }]);
  t.equal((await rig.api('DELETE', '/api/secrets/B')).status, 200);
  t.same((await rig.api('GET', '/api/secrets')).json, { custom_secrets: [] });
});

t.test('a secret that is written at the same time as others is not lost', async (t) => {
  const rig = await startPlatform(t);
  const wanted = Array.from({ length: 20 }, (_, n) => `S${n}`);
  await Promise.all(wanted.map((name) => rig.api('POST', PATH, { name, value: 'v' })));
  t.same((names(await rig.api('GET', `${PATH}/search`)) as string[]).toSorted(), wanted.toSorted());
});
