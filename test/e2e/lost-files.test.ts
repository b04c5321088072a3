// Files of the data directory that somebody removes under a running proxy: nothing is answered with 200 that nobody keeps, and the
// log says which file it was.
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { send, startRig } from '../support/rig.ts';

t.test('keys: what cannot be kept is refused, and the log says why', async (t) => {
  const rig = await startRig(t);
  const made = await send(rig.url, 'POST', '/key/generate', { key_alias: 'first' });
  t.equal(made.status, 200);
  const { key } = JSON.parse(made.text) as { readonly key: string };
  for (const path of globSync(join(rig.folder, 'data', 'access.db*'))) rmSync(path);
  const refused = await send(rig.url, 'POST', '/key/generate', { key_alias: 'second' });
  t.equal(refused.status, 503);
  t.match(refused.text, /nothing was changed/);
  t.notMatch(refused.text, /access\.db/, 'no path of the server');
  const line = await rig.logged(({ error, msg }) => error === 'store_unavailable' && msg === 'rejected');
  t.match(line, {
    why: /does not answer; nothing was changed\. \(the database .*access\.db was removed while it was in use - /,
  });
  const call = { model: 'demo', messages: [{ role: 'user', content: 'hi' }] };
  const served = await send(rig.url, 'POST', '/v1/chat/completions', call, {
    authorization: `Bearer ${key}`,
  });
  t.equal(served.status, 200, 'keys that were there go on');
});
