import { hash } from 'node:crypto';
import t from 'tap';
import { CredentialDigest } from '../../../proxy/downstream/credential-digest.ts';

t.test('each credential has its own digest, in whatever order they come', async (t) => {
  const digest = new CredentialDigest();
  for (const credential of ['sk-one', 'sk-one', 'sk-two', '', 'sk-one', 'sk-onf', 'sk-on', 'sk-Ω'])
    t.equal(digest.of(credential), hash('sha256', credential, 'hex'), credential);
});
