// The page of figures: what a run writes, and what it leaves alone.
import t from 'tap';
import { withSections } from '../../../bench/harness/page.ts';

t.test('a section replaces its older self and nothing else of the page', (t) => {
  const begin = '<!-- figures: begin (npm run bench -- --write) -->';
  const page = `# P\n\nbefore\n\n${begin}\n\n### a\n\nold a\n\n### b\n\nold b\n\n<!-- figures: end -->\n\nafter\n`;
  const next = withSections(page, [
    { name: 'b', text: 'new b' },
    { name: 'c', text: 'new c' },
  ]);
  t.equal(next, page.replace('old b\n', 'new b\n\n### c\n\nnew c\n'));
  t.throws(() => withSections('# P\n', []), /lost its marks/);
  t.end();
});
