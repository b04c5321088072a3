// The boards as Grafana reads them: what makes a panel legible, and nothing that belongs to one installation.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { BOARDS } from '../../../charts/monitoring/boards/table.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'charts/throughline/dashboards');

interface PanelFile {
  readonly id: number;
  readonly title: string;
  readonly description: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource: { readonly uid: string };
  readonly fieldConfig: { readonly defaults: { readonly unit: string } };
  readonly targets: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly datasource: { readonly uid: string };
  }[];
}
interface BoardFile {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly panels: readonly PanelFile[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

const files = readdirSync(FOLDER).map(
  (name) => [name, JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as BoardFile] as const,
);

t.test('there is a file for each board, with an identity of its own', async (t) => {
  t.same(files.map(([name]) => name).toSorted(), BOARDS.map(({ name }) => `${name}.json`).toSorted());
  for (const [name, { uid, title, description }] of files) {
    t.equal(uid, `throughline-${name.replace('.json', '')}`);
    t.ok(title.startsWith('Throughline / ') && description.length > 30, name);
    t.ok(readFileSync(join(FOLDER, name)).length < 1 << 20, 'it fits into a ConfigMap');
  }
});

t.test(
  'each panel has a title, a description, a unit and queries by the variables of its board',
  async (t) => {
    for (const [name, { panels, templating }] of files) {
      t.ok(panels.length > 0 && panels.length <= 20, `${name}: ${panels.length} panels`);
      const variables = new Set(templating.list.map((one) => one.name));
      t.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
      for (const { title, description, fieldConfig, targets, datasource } of panels) {
        const what = `${name}: ${title}`;
        t.ok(title.length > 3 && description.length > 15, what);
        t.not(fieldConfig.defaults.unit, undefined, what);
        for (const one of [datasource, ...targets.map((target) => target.datasource)])
          t.equal(one.uid, '${datasource}', what);
        for (const { expr } of targets) {
          const used = [...expr.matchAll(/\$(\w+)/g)].map(([, variable = '']) => variable);
          const foreign = used.filter(
            (one) => !variables.has(one) && !['__rate_interval', '__range'].includes(one),
          );
          t.same(foreign, [], what);
          if (!expr.includes('predict_linear'))
            t.notMatch(expr, /\[\d+[smhd]\]/, `${what}: a rate follows the step of the graph`);
        }
      }
    }
  },
);

t.test('no panel lies on another one, and none beyond the grid', async (t) => {
  for (const [name, { panels }] of files) {
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      t.ok(gridPos.x + gridPos.w <= 24, `${name}: ${title}`);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          t.notOk(taken.has(`${x} ${y}`), `${name}: ${title}`);
          taken.add(`${x} ${y}`);
        }
    }
  }
});

t.test('the generated files are those of the tables', async (t) => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'charts/monitoring/generate.ts'), '--check'],
    { encoding: 'utf8' },
  );
  t.equal(status, 0, stderr);
});
