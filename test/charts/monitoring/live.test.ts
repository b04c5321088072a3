// The boards and rules against a running proxy: every metric they name is exposed, promtool finds nothing wrong with
// /metrics, and a real Prometheus that scrapes the proxy evaluates every expression without an error and with data.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { BOARDS } from '../../../charts/monitoring/boards/table.ts';
import { beforeNextLook } from '../../support/patience.ts';
import { ownPrometheus, withoutProgram } from '../../support/prometheus.ts';
import { KEY, send } from '../../support/rig.ts';
import { busyProxy } from './fixture/busy-proxy.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const RULES = join(ROOT, 'charts/throughline/rules/throughline.yaml');
const skip = withoutProgram('prometheus', 'promtool');
const NEEDS_VALKEY = 'throughline_counters_degraded';

interface BoardFile {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
}
interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
}

const boards = BOARDS.map(
  ({ name }) =>
    JSON.parse(readFileSync(join(ROOT, `charts/throughline/dashboards/${name}.json`), 'utf8')) as BoardFile,
);
const rules = parse(readFileSync(RULES, 'utf8')) as RuleFile;
const ruleExpressions = rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr));
const boardExpressions = boards.flatMap(({ panels, annotations }) => [
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...annotations.list.map(({ expr }) => expr),
]);
const variableQueries = boards.flatMap(({ templating }) =>
  templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query)),
);

/** What Grafana puts in place of its variables. */
const filled = (expr: string): string =>
  expr
    .replaceAll(/\$(?:namespace|job|model|team)\b/g, '.*')
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$__range', '1h');

/** Names of metrics in an expression, those of recording rules left out. */
const namesIn = (expr: string): string[] => expr.match(/(?<![:\w])throughline_\w+/g) ?? [];

const { url, port, hasValkey, traffic } = await busyProxy(t);
const scrape = async (): Promise<string> => (await send(url, 'GET', '/metrics')).text;

t.test('every metric that a board or a rule names is one that a running proxy exposes', async (t) => {
  const exposed = new Set<string>();
  for (const [, name = '', type] of (await scrape()).matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    exposed.add(name);
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) exposed.add(`${name}_${part}`);
  }
  const named = new Set([...boardExpressions, ...variableQueries, ...ruleExpressions].flatMap(namesIn));
  t.ok(named.size > 50, 'names were really found');
  const unknown = [...named].filter((name) => !exposed.has(name));
  t.same(
    unknown.filter((name) => hasValkey || name !== NEEDS_VALKEY),
    [],
  );
});

t.test('promtool finds nothing wrong with /metrics', { skip }, async (t) => {
  await traffic();
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: await scrape(),
    encoding: 'utf8',
  });
  t.equal(status, 0, stdout + stderr);
  t.equal(stdout + stderr, '');
});

t.test(
  'a real Prometheus evaluates every expression, with data where there must be some',
  { skip },
  async (t) => {
    const prometheus = await ownPrometheus(t, {
      targets: { throughline: `127.0.0.1:${port}` },
      bearer: KEY,
      rules: RULES,
    });
    for (const expr of boardExpressions) await prometheus.query(filled(expr)); // throws on an error
    for (const query of variableQueries) {
      const inner = /^(?:label_values|query_result)\((.*?)(?:, \w+)?\)$/.exec(query)?.[1];
      if (inner !== undefined) await prometheus.query(filled(inner));
    }

    const awaited = new Map(
      BOARDS.flatMap(({ title, panels }) =>
        panels.flatMap((panel) =>
          panel.queries
            .filter(({ mayBeEmpty }) => mayBeEmpty === undefined)
            .map(({ expr, legend }) => [filled(expr), `${title} > ${panel.title} > ${legend}`] as const),
        ),
      ),
    );
    t.ok(awaited.size > 50, 'expressions were really found');
    while (awaited.size > 0) {
      await traffic();
      for (const expr of awaited.keys()) {
        if ((await prometheus.query(expr)).length > 0) awaited.delete(expr);
      }
      await beforeNextLook();
    }
    t.pass('each panel that must have data has data');

    interface Rules {
      readonly groups: readonly {
        readonly rules: readonly {
          readonly name: string;
          readonly health: string;
          readonly lastError?: string;
        }[];
      }[];
    }
    const { groups } = (await prometheus.get('/api/v1/rules')) as Rules;
    const all = groups.flatMap((group) => group.rules);
    t.equal(all.length, ruleExpressions.length);
    t.same(
      all.filter(({ health }) => health !== 'ok'),
      [],
      'each rule was evaluated without an error',
    );
    const slos = await prometheus.query('job:throughline_error_budget_burn:rate5m');
    t.same(
      [...new Set(slos.map(({ metric }) => metric['slo']))].toSorted(),
      ['chain', 'first_byte', 'proxy'],
      'the recording rules have data for each objective',
    );
    const [team] = await prometheus.query('max by (alias, team) (throughline_team_info{team="research"})');
    t.same(team?.metric, { alias: 'research', team: 'research' });
  },
);
