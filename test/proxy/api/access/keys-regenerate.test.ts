// A key gets another value: alias, settings and spend stay; the old value ends at once or after its grace time.
import { hash } from 'node:crypto';
import t from 'tap';
import { manage, managed, newKey, type Json } from '../../../support/manage.ts';
import { chat, startRig, type Rig } from '../../../support/rig.ts';

const digest = (text: string): string => hash('sha256', text, 'hex');
const callWith = async (rig: Rig, key: string): Promise<number> =>
  (await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status;

t.test('without grace the old value is refused at once', async (t) => {
  const rig = await startRig(t);
  const old = await newKey(rig, { key_alias: 'kept', max_budget: 5, metadata: { a: 1 }, user_id: 'u' });
  const row = await managed(rig, `POST /key/${old}/regenerate`, {});
  const key = String(row['key']);
  t.not(key, old);
  t.match(row, {
    key_alias: 'kept',
    max_budget: 5,
    metadata: { a: 1 },
    user_id: 'u',
    token: digest(key),
    key_name: `sk-...${key.slice(-4)}`,
  });
  t.equal(await callWith(rig, old), 401);
  t.equal(await callWith(rig, key), 200);
  t.equal((await manage(rig, `GET /key/info?key=${old}`)).status, 404);
  t.match((await managed(rig, `GET /key/info?key=${key}`))['info'], { key_alias: 'kept' });
});

t.test('with grace both are accepted until it is over', async (t) => {
  const time = { ms: Date.UTC(2026, 10, 18) };
  const rig = await startRig(t, { clock: { now: () => time.ms, mono: () => performance.now() } });
  const old = await newKey(rig, {});
  const { key } = await managed(rig, 'POST /key/regenerate', { key: old, grace_period: '24h' });
  t.equal(await callWith(rig, old), 200);
  t.equal(await callWith(rig, String(key)), 200);
  const info = (await managed(rig, `GET /key/info?key=${old}`))['info'] as Json;
  t.equal(info['key_name'], `sk-...${String(key).slice(-4)}`, 'it is the same key');
  time.ms += 86_400_000;
  t.equal(await callWith(rig, old), 401);
  t.equal(await callWith(rig, String(key)), 200);
});

t.test('members of the body change on the way; by hash, with a value of the caller', async (t) => {
  const rig = await startRig(t);
  const old = await newKey(rig, { max_budget: 5 });
  const new_key = 'sk-chosen-for-the-next-year';
  t.match(
    await managed(rig, `POST /key/${digest(old)}/regenerate`, { new_key, max_budget: 9, duration: '1d' }),
    {
      key: new_key,
      max_budget: 9,
      expires: /^\d{4}-/,
    },
  );
  t.equal(await callWith(rig, new_key), 200);
  const other = await newKey(rig, {});
  const taken = await manage(rig, `POST /key/${other}/regenerate`, { new_key });
  t.equal(taken.status, 400);
  t.equal(await callWith(rig, other), 200, 'nothing was changed');
  t.equal((await manage(rig, `POST /key/${other}/regenerate`, { new_key: 'short' })).status, 400);
  t.equal((await manage(rig, `POST /key/${other}/regenerate`, { grace_period: 'long' })).status, 400);
});

t.test('what is not there is 404, without the key in the answer', async (t) => {
  const rig = await startRig(t);
  const { status, text } = await manage(rig, 'POST /key/sk-nowhere-0123456789/regenerate', {});
  t.equal(status, 404);
  t.notMatch(text, 'nowhere');
  t.equal((await manage(rig, 'POST /key/regenerate', {})).status, 422);
});

t.test('two at once: one new value, and one call that has to look again', async (t) => {
  const rig = await startRig(t);
  const old = await newKey(rig, { key_alias: 'raced' });
  const answers = await Promise.all([1, 2].map(() => manage(rig, `POST /key/${old}/regenerate`, {})));
  t.same(answers.map(({ status }) => status).toSorted(), [200, 404]);
  const { keys } = await managed(rig, 'GET /key/list?key_alias=raced');
  t.equal((keys as string[]).length, 1);
});
