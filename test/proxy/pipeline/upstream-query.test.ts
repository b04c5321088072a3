// Parameters that the API documents go upstream, and those that the operator allows; nothing else does in any spelling.
import fc from 'fast-check';
import t from 'tap';
import { pathWithQuery, type QueryDecision } from '../../../proxy/pipeline/upstream-query.ts';
import { ANY_CALL, LIST, MESSAGES, RETRIEVE, type QueryTable } from '../../../proxy/protocols/query.ts';
import { runs } from '../../support/runs.ts';

const NONE: ReadonlySet<string> = new Set();

function sent(query: string, documented: QueryTable = ANY_CALL, allowed = NONE, own = ''): string {
  return pathWithQuery('/p', query, { documented, allowed, own }, () => undefined);
}

t.test('what the APIs document', async (t) => {
  for (const [table, query, path] of [
    [ANY_CALL, '', '/p'],
    [ANY_CALL, 'api-version=2024-10-21', '/p?api-version=2024-10-21'],
    [ANY_CALL, 'beta=true', '/p'],
    [MESSAGES, 'beta=true&api-version=1', '/p?beta=true&api-version=1'],
    [LIST, 'limit=2&order=asc&after=a&before=b', '/p?limit=2&order=asc&after=a&before=b'],
    [LIST, 'stream=true', '/p'],
    [RETRIEVE, 'stream=true&starting_after=4&include_obfuscation=false', '/p?stream=true&starting_after=4&include_obfuscation=false'], // prettier-ignore
    [RETRIEVE, 'include[]=a&include%5B%5D=b', '/p?include%5B%5D=a&include%5B%5D=b'],
    [RETRIEVE, 'include=a&include=b', '/p?include=a&include=b'],
  ] as const)
    t.equal(sent(query, table), path, query);
});

t.test('a name is the same in every spelling, and no other name is it', async (t) => {
  t.equal(sent('%61pi-version=1'), '/p?api-version=1');
  t.equal(sent('api%2dversion=%31'), '/p?api-version=1');
  t.equal(sent('api-version=a+b;model=x'), '/p?api-version=a%20b%3Bmodel%3Dx');
  for (const other of [
    'API-VERSION',
    'api_version',
    'api-version[]',
    'api-version%00',
    ' api-version',
    '?api-version',
  ])
    t.equal(sent(`${other}=1`), '/p', other);
});

t.test('one that stands twice is refused where servers differ', async (t) => {
  for (const query of ['api-version=1&api-version=2', 'api-version=1&%61pi-version=1'])
    t.throws(() => sent(query), { code: 'duplicate_parameter', param: 'api-version' });
});

t.test('the operator allows more', async (t) => {
  const allowed = new Set(['deployment-id', 'tag']);
  t.equal(sent('deployment-id=d&tag=a&tag=b&model=x', ANY_CALL, allowed), '/p?deployment-id=d&tag=a&tag=b');
});

t.test('what the entry states wins, in every spelling', async (t) => {
  const own = 'api-version=2024-10-21';
  t.equal(sent('', ANY_CALL, NONE, own), `/p?${own}`);
  for (const query of ['api-version=1', '%61pi-version=1&api-version=2', 'API-VERSION=1', 'beta=true'])
    t.equal(sent(query, ANY_CALL, new Set(['api-version']), own), `/p?${own}`, query);
});

t.test('each decision is told', async (t) => {
  const told: QueryDecision[] = [];
  const note = (decision: QueryDecision): void => void told.push(decision);
  const rules = { documented: ANY_CALL, allowed: new Set(['mine']), own: '' };
  pathWithQuery('/p', 'api-version=1&mine=2&model=3', rules, note);
  t.match(told, [
    { name: 'api-version', action: 'forwarded', rule: 'a parameter of this endpoint' },
    { name: 'mine', action: 'forwarded', rule: 'allowed_query_parameters' },
    { name: 'model', action: 'dropped', rule: /no parameter of this endpoint/ },
  ]);
});

t.test('whatever a client writes, only known names go upstream', async (t) => {
  const piece = fc.constantFrom('model', '%6dodel', 'MODEL', 'api-version', '=', '&', ';', '+', '%26', '%3B', '[', ']', '?', 'x', '%', '%2', 'ｍodel'); // prettier-ignore
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      let path = '/p';
      try {
        path = sent(pieces.join(''));
      } catch {
        return;
      }
      t.match(path, /^\/p(?:\?api-version=[^&;=?+]*)?$/);
    }),
    { numRuns: runs(500) },
  );
});
