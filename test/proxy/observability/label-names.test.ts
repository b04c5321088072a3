import t from 'tap';
import { LabelNames } from '../../../proxy/observability/label-names.ts';

t.test('the first values get names, and keep them until all processes say that they are gone', (t) => {
  const names = new LabelNames();
  const wish = (most: number, team: string[], gone: string[] = []) => ({
    most,
    wanted: { team, gateway: [] },
    gone: { team: gone, gateway: [] },
  });
  t.same(names.decide([wish(2, ['a']), wish(2, ['b', 'c'])]), { team: [], gateway: [] });
  t.same(names.named, { team: ['a', 'b'], gateway: [] });
  names.decide([wish(1, ['c'])]);
  t.same(names.named.team, ['a', 'b'], 'a lower limit takes no name away');
  t.same(
    names.decide([wish(2, ['c']), wish(2, [], ['a'])]).team,
    [],
    'one does not know it yet, or counts calls of it',
  );
  t.same(names.decide([wish(2, ['c'], ['a']), wish(2, ['d'], ['a', 'never'])]).team, ['a']);
  t.same(names.named.team, ['b', 'c']);
  t.end();
});
