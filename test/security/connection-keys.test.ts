// Requests of one connection: each is let in by its own key alone, whatever came before it there.
import t from 'tap';
import { defaultConfig, KEY, raw, startRig } from '../support/rig.ts';
import { managed, newKey } from '../support/manage.ts';

const AGENT = 'sk-agent-key-for-tests';

t.test('the key of an earlier request of a connection opens nothing for a later one', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo, `  inference_keys: [${AGENT}]\n`) });
  const virtual = await newKey(rig, { models: ['demo'] });
  const statusesOf = async (...keys: readonly (string | null)[]): Promise<readonly string[]> => {
    const requests = keys.map(
      (key, n) =>
        `GET /key/list HTTP/1.1\r\nhost: localhost\r\n${key === null ? '' : `authorization: Bearer ${key}\r\n`}` +
        `${n === keys.length - 1 ? 'connection: close\r\n' : ''}\r\n`,
    );
    const answers = await raw(Number(new URL(rig.url).port), requests.join(''));
    return [...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);
  };
  t.same(await statusesOf(KEY, 'sk-unknown', KEY, null, AGENT, KEY, `${KEY}x`, KEY.slice(0, -1)), [
    '200',
    '401',
    '200',
    '401',
    '403',
    '200',
    '401',
    '401',
  ]);
  t.same(await statusesOf(virtual, KEY, virtual, KEY.toUpperCase(), virtual), [
    '200',
    '200',
    '200',
    '401',
    '200',
  ]);
  await managed(rig, 'POST /key/block', { key: virtual });
  t.same(await statusesOf(KEY, virtual, KEY), ['200', '401', '200'], 'a key that was blocked meanwhile');
});
