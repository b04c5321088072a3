import { inspect } from 'node:util';
import t from 'tap';
import { Secret } from '../../config/secret.ts';

t.test('a secret prints itself nowhere', async (t) => {
  const secret = new Secret('sk-hidden');
  const shown = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }, { depth: 9, showHidden: true }),
  ];
  for (const text of shown) t.notMatch(text, /sk-hidden/);
  t.strictSame(Object.keys(secret), []);
  t.equal(secret.reveal(), 'sk-hidden');
});

t.test('a secret equals its own text only', async (t) => {
  const secret = new Secret('sk-a');
  t.ok(secret.equals('sk-a'));
  for (const other of ['', 'sk-', 'sk-ab', 'SK-A', 'sk-a\0'])
    t.notOk(secret.equals(other), JSON.stringify(other));
  t.match(secret.sha256(), /^[0-9a-f]{64}$/);
});
