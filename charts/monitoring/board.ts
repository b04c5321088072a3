// A board as our tables state it, and the JSON of it that Grafana loads. Every panel has a unit and a description, every
// query takes the variables of its board; nothing names a data source.
import type { BoardName } from './alerts.ts';

/** Units of Grafana that the boards use. */
type Unit =
  'short' | 'reqps' | 'percentunit' | 's' | 'ms' | 'bytes' | 'currencyUSD' | 'bool_yes_no' | 'ops' | 'none';

export interface Query {
  readonly expr: string;
  readonly legend: string;
  /** Why there may be no data in a healthy system; absent = there must be some. */
  readonly mayBeEmpty?: string;
}

export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: 'stat' | 'timeseries' | 'table';
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Of the 24 columns of a row. Default: stat 4, timeseries 12, table 12. */
  readonly width?: number;
  readonly stacked?: true;
  /** Green below the first one, orange from it, red from the second one; `falling`: the other way round. */
  readonly thresholds?: readonly [orange: number, red: number];
  readonly isFalling?: true;
  /** Upper end of the axis. */
  readonly max?: number;
}

export interface Board {
  readonly name: BoardName;
  readonly title: string;
  /** The one question that it answers. */
  readonly description: string;
  readonly variables: readonly ('model' | 'team')[];
  readonly panels: readonly Panel[];
}

/** What every query selects by. */
export const WHERE = 'namespace=~"$namespace",job=~"$job"';
export const OF_MODEL = `${WHERE},model=~"$model"`;
export const OF_TEAM = `${WHERE},team=~"$team"`;

export const uidOf = (name: BoardName): string => `throughline-${name}`;

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const STAT_HEIGHT = 4;
const HEIGHT = 8;
const COLUMNS = 24;

/** A query without data is no zero: it is said so. */
const NO_VALUE = 'no data';

function layOut(panels: readonly Panel[]): object[] {
  let [x, y, rowHeight] = [0, 0, 0];
  return panels.map((panel, index) => {
    const isStat = panel.kind === 'stat';
    const w = panel.width ?? (isStat ? 4 : 12);
    const h = isStat ? STAT_HEIGHT : HEIGHT;
    if (x + w > COLUMNS) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const gridPos = { x, y, w, h };
    x += w;
    rowHeight = Math.max(rowHeight, h);
    return { id: index + 1, ...panelJson(panel), gridPos };
  });
}

function panelJson(panel: Panel): object {
  const { title, description, kind } = panel;
  return {
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    targets: panel.queries.map(({ expr, legend }, i) => ({
      refId: 'ABCDEFGH'.charAt(i),
      datasource: DATASOURCE,
      editorMode: 'code',
      expr,
      legendFormat: legend,
      ...(kind === 'table'
        ? { format: 'table', instant: true, range: false }
        : { instant: false, range: true }),
    })),
    fieldConfig: { defaults: fieldsOf(panel), overrides: [] },
    options: OPTIONS[kind],
    ...(kind === 'table' ? { transformations: [{ id: 'merge', options: {} }] } : {}),
  };
}

const OPTIONS = {
  stat: {
    colorMode: 'value',
    graphMode: 'area',
    justifyMode: 'auto',
    orientation: 'auto',
    textMode: 'auto',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  },
  timeseries: {
    legend: { calcs: ['mean', 'max'], displayMode: 'table', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  table: { showHeader: true, cellHeight: 'sm' },
} as const;

function fieldsOf({ kind, unit, stacked, thresholds, isFalling, max }: Panel): object {
  const [good, bad] = isFalling === true ? ['red', 'green'] : ['green', 'red'];
  const steps =
    thresholds === undefined
      ? [{ color: 'green', value: null }]
      : [
          { color: good, value: null },
          { color: 'orange', value: thresholds[0] },
          { color: bad, value: thresholds[1] },
        ];
  return {
    unit,
    noValue: NO_VALUE,
    ...(unit === 'percentunit' || kind === 'timeseries' ? { min: 0 } : {}),
    ...(max === undefined ? {} : { max }),
    color: { mode: thresholds === undefined || kind !== 'stat' ? 'palette-classic' : 'thresholds' },
    thresholds: { mode: 'absolute', steps },
    ...(kind === 'timeseries' ? { custom: linesOf(stacked === true, thresholds !== undefined) } : {}),
  };
}

function linesOf(isStacked: boolean, hasLimits: boolean): object {
  return {
    drawStyle: 'line',
    lineWidth: 1,
    fillOpacity: isStacked ? 30 : 5,
    showPoints: 'never',
    spanNulls: false,
    stacking: { mode: isStacked ? 'normal' : 'none', group: 'A' },
    thresholdsStyle: { mode: hasLimits ? 'line' : 'off' },
  };
}

interface QueryVariable {
  readonly name: string;
  readonly label: string;
  readonly query: string;
  readonly regex?: string;
}

const QUERY_VARIABLES = {
  namespace: {
    name: 'namespace',
    label: 'Namespace',
    query: 'label_values(throughline_build_info, namespace)',
  },
  job: {
    name: 'job',
    label: 'Job',
    query: 'label_values(throughline_build_info{namespace=~"$namespace"}, job)',
  },
  model: {
    name: 'model',
    label: 'Model',
    query: `label_values(throughline_requests_total{${WHERE}}, model)`,
  },
  team: {
    name: 'team',
    label: 'Team',
    query: `query_result(max by (alias, team) (throughline_team_info{${WHERE}}))`,
    regex: '/alias="(?<text>[^"]*)".*team="(?<value>[^"]*)"/',
  },
} as const satisfies Record<string, QueryVariable>;

function variableJson({ name, label, query, regex = '' }: QueryVariable): object {
  return {
    type: 'query',
    name,
    label,
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: `variable-${name}` },
    regex,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
    hide: 0,
  };
}

/** A new version of the configuration appears: the mark stays as long as one step of a rate. */
const ANNOTATION =
  `count by (version) (throughline_config_info{${WHERE}})\n` +
  `unless count by (version) (throughline_config_info{${WHERE}} offset $__rate_interval)`;

/** The JSON of a board. The uid is fixed: links and alerts lead to it. */
export function boardJson({ name, title, description, variables, panels }: Board): object {
  return {
    uid: uidOf(name),
    title,
    description,
    tags: ['throughline'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    timezone: 'utc',
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    links: [
      {
        type: 'dashboards',
        title: 'Throughline',
        tags: ['throughline'],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
        icon: 'external link',
        targetBlank: false,
        tooltip: '',
        url: '',
      },
    ],
    annotations: {
      list: [
        {
          name: 'Configuration changes',
          enable: true,
          hide: false,
          iconColor: 'blue',
          datasource: DATASOURCE,
          expr: ANNOTATION,
          step: '60s',
          titleFormat: 'Configuration changed',
          textFormat: 'version {{version}}',
        },
      ],
    },
    templating: {
      list: [
        {
          type: 'datasource',
          name: 'datasource',
          label: 'Data source',
          query: 'prometheus',
          regex: '',
          refresh: 1,
          hide: 0,
          multi: false,
          includeAll: false,
          current: {},
        },
        ...(['namespace', 'job', ...variables] as const).map((one) => variableJson(QUERY_VARIABLES[one])),
      ],
    },
    panels: layOut(panels),
  };
}
