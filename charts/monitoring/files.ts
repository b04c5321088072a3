// The generated files as texts: dashboards for Grafana, rules for Prometheus, inhibitions for Alertmanager.
import { stringify } from 'yaml';
import { ALERTS, INHIBITIONS, PREFIX, type Alert } from './alerts.ts';
import { boardJson, uidOf } from './board.ts';
import { BOARDS } from './boards/table.ts';
import { RECORDINGS } from './recordings.ts';

/** Relative: where the pages are published is the operator's to know. docs/monitoring.md says how to make them links. */
const RUNBOOKS = 'docs/runbooks';
const HEAD = '# Generated from charts/monitoring by `npm run generate`; do not edit.\n';
const YAML_OPTIONS = { lineWidth: 0 } as const;

/** Folder of the board with the labels of the alert as its variables. */
const boardOf = ({ board }: Alert): string =>
  `/d/${uidOf(board)}?var-namespace={{ $labels.namespace }}&var-job={{ $labels.job }}`;

function alertRule(alert: Alert): object {
  const name = `${PREFIX}${alert.name}`;
  return {
    alert: name,
    expr: alert.expr,
    ...(alert.for === undefined ? {} : { for: alert.for }),
    labels: { severity: alert.severity },
    annotations: {
      summary: alert.summary,
      description: alert.description,
      runbook_url: `${RUNBOOKS}/${name}.md`,
      dashboard_url: boardOf(alert),
    },
  };
}

function rulesText(): string {
  const groups = [
    { name: 'throughline.recording', rules: RECORDINGS },
    { name: 'throughline.alerts', rules: ALERTS.map(alertRule) },
  ];
  return HEAD + stringify({ groups }, YAML_OPTIONS);
}

function inhibitionsText(): string {
  const rules = INHIBITIONS.map(({ source, targets, equal }) => ({
    source_matchers: [`alertname = ${PREFIX}${source}`],
    target_matchers: [`alertname =~ "${targets.map((name) => PREFIX + name).join('|')}"`],
    equal: ['namespace', 'job', ...equal],
  }));
  return HEAD + stringify({ inhibit_rules: rules }, YAML_OPTIONS);
}

/** A row for each alert, for the index of the runbooks. */
function indexTable(): string {
  const rows = ALERTS.map(
    ({ name, severity, for: held, summary }) =>
      `| [${PREFIX}${name}](${PREFIX}${name}.md) | ${severity} | ${held ?? 'at once'} | ${summary} |`,
  );
  return ['| Alert | Severity | After | Says |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function inhibitionTable(): string {
  const rows = INHIBITIONS.map(
    ({ source, targets, because }) => `| ${source} | ${targets.join(', ')} | ${because} |`,
  );
  return ['| While this fires | These are silent | Because |', '| --- | --- | --- |', ...rows].join('\n');
}

const MARK = '<!-- generated: node charts/monitoring/generate.ts -->';
const INDEX = `${RUNBOOKS}/README.md`;

/** Replaces what stands between the pairs of marks of a page. */
function withTables(page: string, tables: readonly string[]): string {
  const parts = page.split(MARK);
  if (parts.length !== 2 * tables.length + 1)
    throw new Error(`${INDEX} has ${parts.length - 1} marks, ${2 * tables.length} are needed: ${MARK}`);
  return parts.map((part, i) => (i % 2 === 1 ? `\n\n${tables[(i - 1) / 2] ?? ''}\n\n` : part)).join(MARK);
}

/** Every generated file by its path from the root. @param read the present text of a file that is generated in part */
export function generatedFiles(read: (path: string) => string): ReadonlyMap<string, string> {
  return new Map([
    ...BOARDS.map(
      (board) =>
        [
          `charts/throughline/dashboards/${board.name}.json`,
          JSON.stringify(boardJson(board), null, 2),
        ] as const,
    ),
    ['charts/throughline/rules/throughline.yaml', rulesText()],
    ['docs/examples/alertmanager-inhibitions.yaml', inhibitionsText()],
    [INDEX, withTables(read(INDEX), [indexTable(), inhibitionTable()])],
  ]);
}
