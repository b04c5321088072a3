// A runbook for each alert: a page with its four sections, commands to paste, and nothing named that is not there.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { ALERTS, PREFIX } from '../../charts/monitoring/alerts.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'docs/runbooks');
const SECTIONS = ['Meaning', 'Impact', 'Diagnosis', 'Mitigation'];
const pages = readdirSync(FOLDER).filter((name) => name !== 'README.md');
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const OPERATING = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');

t.test('each alert has a page, and each page an alert', async (t) => {
  t.same(pages.toSorted(), ALERTS.map(({ name }) => `${PREFIX}${name}.md`).toSorted());
});

t.test('each page has its sections in order, each says something, and Diagnosis has commands', async (t) => {
  for (const name of pages) {
    const text = read(name);
    t.equal(text.split('\n', 1)[0], `# ${name.replace('.md', '')}`);
    const parts = text.split(/^## /m).slice(1);
    t.same(
      parts.map((part) => part.split('\n', 1)[0]),
      SECTIONS,
      name,
    );
    for (const part of parts)
      t.ok(part.split('\n').slice(1).join('').trim().length > 20, `${name}: ${part.slice(0, 10)}`);
    t.match(parts[2], /```(?:sh|promql)\n/, name);
    t.match(parts[3], /^- /m, name);
  }
});

t.test('metrics that a page names are documented ones', async (t) => {
  const table = (OPERATING.match(/^\| `throughline_[^|]*\|/gm) ?? []).join('');
  const documented = new Set(table.match(/throughline_[a-z_]+/g));
  for (const name of pages) {
    const whole = read(name).match(/throughline_[a-z_]+(?![a-z_*(])/g) ?? [];
    const known = (metric: string): boolean =>
      documented.has(metric.replace(/_(?:bucket|sum|count)$/, '')) ||
      [...documented].some((one) => one.startsWith(metric));
    t.same(
      whole.filter((metric) => !known(metric)),
      [],
      name,
    );
  }
});

t.test('pods and objects that a page names are called so by the chart', async (t) => {
  const chart = readFileSync(join(ROOT, 'test/charts/golden/production.yaml'), 'utf8');
  const texts = [...pages, 'README.md'].map(read);
  const labels = texts.flatMap((text) => [...text.matchAll(/ -l (\S+)=(\S+)/g)]);
  const objects = texts.flatMap((text) => [...text.matchAll(/\b(?:deployment|statefulset)\/(\S+)/g)]);
  t.ok(labels.length > 1 && objects.length > 1);
  for (const [, name, value] of labels) t.ok(chart.includes(`${name}: ${value}\n`), `${name}=${value}`);
  for (const [, name = ''] of objects) {
    t.ok(chart.includes(`name: ${name.replace('RELEASE', 'openhands')}\n`), name);
  }
});

const NO_JQ = spawnSync('jq', ['--version']).status === 0 ? false : 'jq is not installed';

t.test('commands on the log read past its sentences', { skip: NO_JQ }, async (t) => {
  const cwd = t.testdir();
  const lines = ['throughline serves 2 models on http://127.0.0.1:4000', '{"level":40,"msg":"request"}'];
  writeFileSync(join(cwd, 'throughline.log'), `${lines.join('\n')}\n`);
  const commands = pages.flatMap((name) => read(name).match(/^jq .*throughline\.log.*$/gm) ?? []);
  t.ok(commands.length > 10);
  for (const command of commands) {
    const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', command], {
      cwd,
      encoding: 'utf8',
    });
    t.same({ status, stderr }, { status: 0, stderr: '' }, command);
  }
});
