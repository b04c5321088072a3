// A key in a query is found in the spellings that some server would read.
import fc from 'fast-check';
import t from 'tap';
import { carriesCredentials } from '../../../proxy/server/query-credentials.ts';

const found = (query: string): boolean => carriesCredentials(query, (value) => value === 'my own key');

const NAMES = [
  'key', 'api_key', 'api-key', 'apikey', 'apiKey', 'API_KEY', 'x-api-key', 'x-goog-api-key', 'x-litellm-api-key',
  'access_token', 'access-token', 'token', 'auth', 'authorization', 'subscription-key', 'Ocp-Apim-Subscription-Key',
  'client_secret', 'password', 'session_api_key', 'x-portkey-virtual-key', 'x-bf-vk', 'X-Amz-Security-Token', 'sig',
  'X-Amz-Signature', 'master_key', 'id_token', 'jwt', 'api_key[]', 'params[key]', 'auth.token', ' api_key', 'api%5Fkey',
]; // prettier-ignore

t.test('by name', async (t) => {
  for (const name of NAMES) {
    for (const spelt of [
      name,
      name.toUpperCase(),
      encodeURIComponent(name),
      `a=1&${name}`,
      `a=1;${name}`,
      `a=1%26${name}`,
    ])
      t.ok(found(`${spelt}=abc`), spelt);
  }
  for (const query of [
    '%61pi_key=x',
    '%2561pi_key=x',
    '%252561pi_key=x',
    'api_key%3Dx',
    'ａpi_key=x',
    '%EF%BD%81pi_key=x',
    'a?key=x',
    'api_key=+x',
    'key=%00x',
  ])
    t.ok(found(query), query);
});

t.test('by value', async (t) => {
  for (const query of [
    'x=sk-quickstart',
    'x=%73k-quickstart',
    'sk-quickstart',
    'x=Bearer+abc',
    'x=bearer%20abc',
    'x=my+own+key',
    'x=my%20own%20key',
  ])
    t.ok(found(query), query);
});

t.test('what is none', async (t) => {
  const digest = 'a'.repeat(64);
  for (const query of [
    '',
    'api-version=1',
    'beta=true',
    'limit=1&order=asc',
    'include[]=reasoning.encrypted_content',
    `api_key=${digest}`,
    'key',
    'api_key=',
    'starting_after=3',
    'page_id=2',
    'ids=1&ids=2',
    'user_id=a',
    'keyword=x',
    'monkey=x',
    'max_tokens=3',
    'title__contains=basic',
    'q=sky',
    'session_id=s',
    'include_obfuscation=false',
    'start_date=2026-01-01&group_by=api_key',
    '%',
    '%zz',
  ])
    t.notOk(found(query), query);
});

t.test('one letter in another spelling hides none', async (t) => {
  const letters = [...'api_key'];
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: letters.length - 1 }),
      fc.integer({ min: 1, max: 3 }),
      (at, rounds) => {
        let spelt = `%${letters[at]?.charCodeAt(0).toString(16)}`;
        for (let n = 1; n < rounds; n += 1) spelt = spelt.replace('%', '%25');
        t.ok(found(`a=b&${letters.with(at, spelt).join('')}=c`));
      },
    ),
  );
});
