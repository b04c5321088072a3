// What the runtime of a sandbox is told when it starts.
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import { environmentOf } from '../../../platform/sandboxes/environment.ts';

type Variables = readonly (readonly [string, Secret])[];

const KEY = new Secret('key');

function shown(given: Variables, initialEnv: Variables = [], apiUrl: string | null = null): string[] {
  const all = environmentOf({ spec: { initialEnv }, given, key: KEY, apiUrl });
  return all.map(([name, value]) => `${name}=${value.reveal()}`);
}

const KEYS = ['SESSION_API_KEY=key', 'OH_SESSION_API_KEYS_0=key'];

t.test('its key has both names, and nothing that is given replaces it', async (t) => {
  const given = [['SESSION_API_KEY', new Secret('other')]] as const;
  t.same(shown(given).slice(-2), KEYS, 'the last one wins');
});

t.test('what is typed into its shells is written nowhere, unless the operator says where', async (t) => {
  t.same(shown([]), ['HISTFILE=/dev/null', ...KEYS]);
  t.same(shown([], [['HISTFILE', new Secret('/tmp/history')]]), KEYS);
  t.same(
    shown([['HISTFILE', new Secret('/tmp/history')]]).slice(0, 2),
    ['HISTFILE=/dev/null', 'HISTFILE=/tmp/history'],
    'what is given wins',
  );
});

t.test('it learns where its webhooks go where that can be reached', async (t) => {
  t.same(shown([], [], 'http://127.0.0.1:4000/api/v1').slice(1), [
    'OH_WEBHOOKS_0_BASE_URL=http://127.0.0.1:4000/api/v1/webhooks',
    ...KEYS,
  ]);
});
