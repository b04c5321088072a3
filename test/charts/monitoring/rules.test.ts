// Each alert against made-up series, by promtool: it fires, stays silent, resolves, and is not fooled by little traffic or by
// counters that begin anew.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { ALERTS, INHIBITIONS, PREFIX } from '../../../charts/monitoring/alerts.ts';
import { WITHOUT_COLLECTIONS } from '../../support/go-programs.ts';
import { folderFor, withoutProgram } from '../../support/prometheus.ts';
import { CASES } from './fixture/alert-cases.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const RULES = join(ROOT, 'charts/throughline/rules/throughline.yaml');
const skip = withoutProgram('promtool');

interface RuleFile {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly { readonly alert?: string; readonly record?: string }[];
  }[];
}

/** Whether an alert looks at this window of the recording rules. */
const isNeeded = (record: string, expr: string): boolean =>
  new RegExp(`:${record.split(':').at(-1)}\\b`).test(expr);

const promtool = (...args: string[]): { readonly status: number | null; readonly text: string } => {
  const { status, stdout, stderr } = spawnSync('promtool', args, {
    encoding: 'utf8',
    env: { ...process.env, ...WITHOUT_COLLECTIONS },
  });
  return { status, text: stdout + stderr };
};

t.test('promtool accepts the rules', { skip }, async (t) => {
  const { status, text } = promtool('check', 'rules', '--lint=all', '--lint-fatal', RULES);
  t.equal(status, 0, text);
});

t.test('every alert has cases: it fires, stays silent, resolves; counters begin anew', async (t) => {
  t.same(
    Object.keys(CASES),
    ALERTS.map(({ name }) => name),
  );
  for (const { name, expr } of ALERTS) {
    const cases = CASES[name] ?? [];
    const kinds = new Set(cases.map(({ kind }) => kind));
    const wanted = ['fires', 'silent', 'resolves', ...(/increase|rate/.test(expr) ? ['reset'] : [])];
    const missing = [...wanted, ...(/> 100|> 50/.test(expr) ? ['low traffic'] : [])].filter(
      (one) => !kinds.has(one),
    );
    t.same(missing, [], name);
  }
});

t.test('each alert does what it says', { skip }, async (t) => {
  const file = parse(readFileSync(RULES, 'utf8')) as RuleFile;
  const folder = folderFor(t);
  for (const { name, expr } of ALERTS) {
    const alertname = `${PREFIX}${name}`;
    // The alert alone, and what it may need: all rules at each step of three days would take a minute. In one group, which
    // is evaluated in order: between groups it is by chance whether an alert sees what was recorded in the same step.
    const rules = file.groups.flatMap((group) =>
      group.rules.filter(
        ({ alert, record }) => alert === alertname || (record !== undefined && isNeeded(record, expr)),
      ),
    );
    writeFileSync(join(folder, 'rules.yaml'), stringify({ groups: [{ name: 'tested', rules }] }));
    const cases = CASES[name] ?? [];
    const tests = cases.map(({ kind, series, at, firing, interval = '1m' }) => ({
      name: kind,
      interval,
      input_series: Object.entries(series).map(([one, values]) => ({ series: one, values })),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alertname}",alertstate="firing"}) or vector(0)`,
          eval_time: at,
          exp_samples: [{ labels: '{}', value: firing }],
        },
      ],
    }));
    const path = join(folder, 'test.yaml');
    writeFileSync(
      path,
      stringify({ rule_files: ['rules.yaml'], evaluation_interval: cases[0]?.interval ?? '1m', tests }),
    );
    const { status, text } = promtool('test', 'rules', path);
    t.equal(status, 0, `${name}\n${status === 0 ? '' : text}`);
  }
});

t.test('the inhibitions name alerts that there are', async (t) => {
  const names = new Set(ALERTS.map(({ name }) => name));
  const unknown = INHIBITIONS.flatMap(({ source, targets }) => [source, ...targets]).filter(
    (one) => !names.has(one),
  );
  t.same(unknown, []);
});
