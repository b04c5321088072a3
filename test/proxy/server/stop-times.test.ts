// Whoever stops a proxy waits as long as its steps may take.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { STOP_MS } from '../../../proxy/server/stop-times.ts';

const SAID_MS = 30_000;
const textOf = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

t.test('the chart leaves the time that all steps take, and so does what operators are told', (t) => {
  t.ok(STOP_MS < SAID_MS);
  const chart = textOf('charts/throughline/templates/_config.tpl');
  t.match(chart, `(max (sub $left ${STOP_MS / 1000}) (div $left 2))`, 'of a stated drain');
  t.match(chart, `of which what follows the drain needs ${STOP_MS / 1000} (`);
  t.match(chart, `(max (sub $left ${SAID_MS / 1000}) (div $left 2))`, 'of one that follows the grace period');
  t.match(textOf('docs/operating.md'), `Give the orchestrator \`drain_seconds\` and ${SAID_MS / 1000} s`);
  t.end();
});
