// The behaviour table and the rule by which a model name selects from it.
import t from 'tap';
import { BEHAVIOURS, behavioursOf, describeBehaviours } from '../../../proxy/demo-gateway/behaviours.ts';

const chosen = (model: string): string[] => [...behavioursOf(model)];

t.test('each behaviour is selected by its own name and selects nothing beside it', async (t) => {
  for (const { name } of BEHAVIOURS) t.same(chosen(`demo-${name}`), [name], name);
});

t.test('names combine, in any order and without a prefix', async (t) => {
  t.same(chosen('demo-slow-stream-cached-cut').sort(), ['cached', 'cut', 'slow-stream']);
  t.same(chosen('tools-usage-in-last-crlf').sort(), ['crlf', 'tools', 'usage-in-last']);
  t.same(chosen('demo-slow-429').sort(), ['429', 'slow']);
});

t.test('the longest name wins: cut-clean is not cut, slow-stream is not slow', async (t) => {
  t.same(chosen('demo-cut-clean'), ['cut-clean']);
  t.same(chosen('demo-cost-none'), ['cost-none']);
  t.same(chosen('demo-header-then-close'), ['header-then-close']);
});

t.test('only the last path segment counts and letter case does not', async (t) => {
  t.same(chosen('cut/echo/Demo-HUGE'), ['huge']);
  t.same(chosen('demo-cut/plain'), []);
});

t.test('real model names behave normally, names of Object members too', async (t) => {
  const names = [
    'gpt-4o',
    'claude-sonnet-4-5-20250929',
    'gpt-5.5',
    'text-embedding-3-large',
    'constructor',
    '',
    '-',
  ];
  for (const name of names) t.same(chosen(name), [], name);
});

t.test('the description has one line per behaviour, aligned and at most 120 columns wide', async (t) => {
  const lines = describeBehaviours().trimEnd().split('\n');
  t.equal(lines.length, BEHAVIOURS.length + 1);
  const start = lines[0]?.indexOf('a short sentence');
  for (const [at, { name, what }] of BEHAVIOURS.entries()) {
    t.ok(lines[at + 1]?.startsWith(`  demo-${name} `), name);
    t.equal(lines[at + 1]?.indexOf(what), start, name);
    t.ok((lines[at + 1]?.length ?? 0) <= 120, name);
  }
});
