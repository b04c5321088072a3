import t from 'tap';
import { nearest } from '../../config/nearest.ts';

t.test('a typo finds its word', async (t) => {
  const known = ['api_base', 'api_key', 'timeout', 'model'];
  t.equal(nearest('api_bsae', known), 'api_base', 'swapped letters');
  t.equal(nearest('apibase', known), 'api_base', 'a missing letter');
  t.equal(nearest('API_KEY', known), 'api_key', 'other case');
  t.equal(nearest('timeoutt', known), 'timeout', 'one letter more');
});

t.test('a word that is far from all finds none', async (t) => {
  t.equal(nearest('organization', ['api_base', 'model']), null);
  t.equal(nearest('x', []), null);
  t.equal(nearest('', ['model']), null);
});
