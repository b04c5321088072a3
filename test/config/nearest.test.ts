import t from 'tap';
import { nearest, nearestNames } from '../../config/nearest.ts';

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

const NAMES = ['smart', 'fast', 'gpt-4o', 'gpt-4o-mini', 'anthropic/claude-sonnet-4-5', 'o3'];

t.test('a typo finds its name, whatever the case, and the nearest comes first', async (t) => {
  t.same(nearestNames('smrt', NAMES, 3), ['smart']);
  t.same(nearestNames('SMART', NAMES, 3), ['smart']);
  t.same(
    nearestNames('gpt-4o-mimi', NAMES, 3).toSorted(),
    ['gpt-4o', 'gpt-4o-mini'],
    'the whole in it is near, too',
  );
  t.equal(nearestNames('gpt4o', NAMES, 3)[0], 'gpt-4o');
});

t.test('a part of a name, or a name with more around it, finds it', async (t) => {
  t.same(nearestNames('claude-sonnet-4-5', NAMES, 3), ['anthropic/claude-sonnet-4-5']);
  t.same(nearestNames('smart-2025-01-01', NAMES, 3), ['smart']);
});

t.test('a name that is far from all finds none, and no more than asked for are named', async (t) => {
  t.same(nearestNames('text-embedding-ada', NAMES, 3), []);
  t.same(nearestNames('', NAMES, 3), []);
  t.same(nearestNames('x'.repeat(129), ['x'.repeat(129)], 3), [], 'not looked at: too long to be a typo');
  t.equal(nearestNames('model-0', ['model-1', 'model-2', 'model-3', 'model-4'], 3).length, 3);
});

t.test('no more than 2,000 names are looked at, because the request path pays', async (t) => {
  const looked: number[] = [];
  function* names(): Generator<string> {
    for (let n = 0; n < 10_000; n++) {
      looked.push(n);
      yield `model-${n}`;
    }
  }
  nearestNames('modle-9999', names(), 3);
  t.ok(looked.length <= 2_001, `${looked.length}`);
});
