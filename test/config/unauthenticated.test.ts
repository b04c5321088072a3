import t from 'tap';
import { Secret } from '../../config/secret.ts';
import { unauthenticated } from '../../config/unauthenticated.ts';

t.test('without a master key everybody is served, and one sentence says so', (t) => {
  t.match(
    unauthenticated({ masterKey: null }),
    /^nobody is authenticated: .* - set general_settings\.master_key/,
  );
  t.equal(unauthenticated({ masterKey: new Secret('sk-m') }), null);
  t.end();
});
