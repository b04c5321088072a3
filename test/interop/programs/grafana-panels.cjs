// Reads dashboards (stdin: JSON) as Grafana's page does, with Grafana's own packages of npm from the folder in argv[2]: its
// scenes set the variables and run each panel's queries, its Prometheus data source interpolates and sends them. What
// Grafana's server does with a query stands here, in a few lines: its step, $__rate_interval, and Prometheus' HTTP interface
// (argv[3]). Prints what each variable offered, and of each panel its state, its errors, its queries and its series.
'use strict';
const Module = require('node:module');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const [, , folder, prometheusUrl] = process.argv;
const need = Module.createRequire(join(folder, 'package.json'));

// An editor, an assistant and pictures belong to what is seen; nothing of them is called.
const load = Module._load;
Module._load = function (request, ...rest) {
  if (/^(?:@grafana\/assistant|monaco)|\.(?:css|svg|png)$/.test(request))
    return new Proxy({}, { get: () => () => ({}) });
  return load.call(this, request, ...rest);
};

const { JSDOM } = need('jsdom');
const { window } = new JSDOM('<!doctype html>', { url: 'http://localhost/', pretendToBeVisual: true });
const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
for (const name of Object.getOwnPropertyNames(window)) if (!(name in globalThis)) define(name, window[name]);
for (const name of ['navigator', 'Event', 'CustomEvent', 'EventTarget', 'localStorage', 'sessionStorage'])
  define(name, window[name]);
define('window', window);
define('self', window);
class Observer {
  observe() {}
  unobserve() {}
  disconnect() {}
}
for (const name of ['ResizeObserver', 'IntersectionObserver']) {
  define(name, Observer);
  window[name] = Observer;
}
window.matchMedia = () => ({
  matches: false,
  addListener() {},
  removeListener() {},
  addEventListener() {},
  removeEventListener() {},
});
define('matchMedia', window.matchMedia);
window.HTMLCanvasElement.prototype.getContext = () => null;

const rxjs = need('rxjs');
const data = need('@grafana/data');
const runtime = need('@grafana/runtime');
const scenes = need('@grafana/scenes');
const { PrometheusDatasource } = need(
  join(folder, 'node_modules/@grafana/prometheus/dist/cjs/datasource.cjs'),
);

const UID = 'own-prometheus';
/** Of the test's Prometheus. */
const SCRAPE_MS = 1000;
const SETTINGS = {
  id: 1,
  uid: UID,
  type: 'prometheus',
  name: 'Prometheus',
  url: `/api/datasources/proxy/uid/${UID}`,
  access: 'proxy',
  isDefault: true,
  readOnly: false,
  meta: { id: 'prometheus', name: 'Prometheus', info: {}, module: '', baseUrl: '', type: 'datasource' },
  jsonData: {
    httpMethod: 'GET',
    timeInterval: '1s',
    prometheusType: 'Prometheus',
    prometheusVersion: '2.42.0',
  },
};

/** Queries as they were sent to the server, by their panel's title. */
const sent = [];

// What the page asks of Grafana's server.

async function prometheus(path, parameters) {
  const answer = await fetch(`${prometheusUrl}${path}?${new URLSearchParams(parameters)}`);
  const body = await answer.json();
  if (body.status !== 'success') throw new Error(`${body.error} in ${JSON.stringify(parameters)}`);
  return body.data;
}

/** pkg/promlib/models of Grafana: the step, and what stands for its own variables. */
async function answerOf(query, from, to) {
  const stepMs = Math.max(query.intervalMs, SCRAPE_MS);
  const rate = `${Math.max(stepMs + SCRAPE_MS, 4 * SCRAPE_MS)}ms`;
  const expr = query.expr
    .replaceAll(/\$(?:__rate_interval\b|\{__rate_interval\})/g, rate)
    .replaceAll(/\$(?:__interval\b|\{__interval\})/g, `${stepMs}ms`)
    .replaceAll(/\$(?:__range\b|\{__range\})/g, `${to - from}ms`);
  sent.push(expr);
  const { result } = query.instant
    ? await prometheus('/api/v1/query', { query: expr, time: to / 1000 })
    : await prometheus('/api/v1/query_range', {
        query: expr,
        start: from / 1000,
        end: to / 1000,
        step: stepMs / 1000,
      });
  return result.map(({ metric, values, value }) => {
    const points = values ?? [value];
    return {
      schema: {
        refId: query.refId,
        meta: { type: 'timeseries-multi', custom: { resultType: query.instant ? 'vector' : 'matrix' } },
        fields: [
          { name: 'Time', type: 'time', typeInfo: { frame: 'time.Time' } },
          { name: 'Value', type: 'number', typeInfo: { frame: 'float64' }, labels: metric },
        ],
      },
      data: { values: [points.map(([at]) => at * 1000), points.map(([, one]) => Number(one))] },
    };
  });
}

async function serve({ url, data: body }) {
  if (url.startsWith('/api/ds/query')) {
    const results = {};
    for (const query of body.queries) {
      try {
        results[query.refId] = {
          status: 200,
          frames: await answerOf(query, Number(body.from), Number(body.to)),
        };
      } catch (error) {
        results[query.refId] = { status: 400, error: error.message, frames: [] };
      }
    }
    return { results };
  }
  const [, path] = new RegExp(`^/api/datasources/uid/${UID}/resources(/.*)$`).exec(url) ?? [];
  if (path === undefined) throw new Error(`the page asked for ${url}`);
  const [place, query = ''] = path.split('?');
  return { status: 'success', data: await prometheus(place, new URLSearchParams(query)) };
}

const backend = {
  fetch: (request) =>
    rxjs.from(
      serve(request).then((body) => ({
        data: body,
        status: 200,
        ok: true,
        headers: new Headers(),
        config: request,
      })),
    ),
  get: async (url, parameters) => serve({ url: `${url}?${new URLSearchParams(parameters)}` }),
};
runtime.setBackendSrv(backend);
/** public/app/features/templating/template_srv.ts hands over to the scene in the same way. */
let scene;
const templates = {
  replace: (target, scoped = {}, format) =>
    scenes.sceneGraph.interpolate(scoped.__sceneObject?.value.valueOf() ?? scene, target, scoped, format),
  containsTemplate: (target) => /\$\w|\[\[/.test(target ?? ''),
  getVariables: () => [],
  getAdhocFilters: () => [],
  updateTimeRange() {},
};
runtime.setTemplateSrv(templates);
const source = new PrometheusDatasource(SETTINGS, templates);
runtime.setDataSourceSrv({
  get: async () => source,
  getList: () => [SETTINGS],
  getInstanceSettings: () => SETTINGS,
  reload() {},
});
/** public/app/features/query/state/runRequest.ts without its timers. */
runtime.setRunRequest((from, request, ask = (one) => from.query(one)) =>
  rxjs.from(ask(request)).pipe(
    rxjs.map(({ data: frames, error, errors, state }) => ({
      state:
        error === undefined && !errors?.length ? (state ?? data.LoadingState.Done) : data.LoadingState.Error,
      series: frames,
      errors: errors ?? (error === undefined ? [] : [error]),
      timeRange: request.range,
      request,
    })),
    rxjs.catchError((error) =>
      rxjs.of({
        state: data.LoadingState.Error,
        series: [],
        errors: [{ message: error?.data?.message ?? error?.message ?? JSON.stringify(error) }],
        timeRange: request.range,
        request,
      }),
    ),
  ),
);

// A dashboard as Grafana's transformSaveModelToScene makes it.

function variableOf(one) {
  const common = { name: one.name, label: one.label };
  if (one.type === 'datasource') return new scenes.DataSourceVariable({ ...common, pluginId: one.query });
  if (one.type !== 'query') throw new Error(`no variable of type ${one.type} is known here`);
  return new scenes.QueryVariable({
    ...common,
    value: one.current.value,
    text: one.current.text,
    query: one.query,
    datasource: one.datasource,
    sort: one.sort,
    refresh: one.refresh,
    regex: one.regex,
    allValue: one.allValue || undefined,
    includeAll: one.includeAll,
    defaultToAll: one.includeAll,
    isMulti: one.multi,
  });
}

const isBusy = (variable) => variable.state.loading === true;
const settled = (panels, variables) =>
  variables.every((one) => !isBusy(one)) &&
  panels.every(({ runner }) => {
    const state = runner.state.data?.state;
    return state === data.LoadingState.Done || state === data.LoadingState.Error;
  });

/** Until all panels have answered; the caller ends a run that never does. */
async function whenSettled(panels, variables) {
  do await new Promise((wake) => setTimeout(wake, 20));
  while (!settled(panels, variables));
}

async function show(board, chosen) {
  const variables = board.templating.list.map(variableOf);
  const panels = board.panels.map((panel) => ({
    panel,
    runner: new scenes.SceneQueryRunner({
      queries: panel.targets,
      datasource: panel.datasource,
      maxDataPoints: 500,
    }),
  }));
  scene = new scenes.EmbeddedScene({
    $timeRange: new scenes.SceneTimeRange({ from: 'now-15m', to: 'now', timeZone: board.timezone }),
    $variables: new scenes.SceneVariableSet({ variables }),
    body: new scenes.SceneFlexLayout({
      children: panels.map(
        ({ runner }) =>
          new scenes.SceneFlexItem({ $data: runner, body: new scenes.SceneCanvasText({ text: '' }) }),
      ),
    }),
  });
  const ends = [scene.activate()];
  for (const variable of variables) ends.push(variable.activate?.() ?? (() => {}));
  // Variables know their values before the panels ask: as on the page.
  await new Promise((wake) => setTimeout(wake, 0));
  while (variables.some(isBusy)) await new Promise((wake) => setTimeout(wake, 20));
  for (const [name, values] of Object.entries(chosen))
    variables.find(({ state }) => state.name === name)?.changeValueTo(values);
  for (const { runner } of panels) {
    runner.parent.activate();
    ends.push(runner.activate());
  }
  await whenSettled(panels, variables);
  const answer = {
    variables: Object.fromEntries(
      variables.map(({ state }) => [
        state.name,
        { values: (state.options ?? []).map(({ value }) => value), error: state.error ?? null },
      ]),
    ),
    panels: panels.map(({ panel, runner }) => {
      const { state, errors = [], series } = runner.state.data;
      return {
        title: panel.title,
        state,
        errors: errors.map(({ message }) => message),
        series: series.map((frame) => ({
          refId: frame.refId,
          rows: frame.length,
        })),
      };
    }),
    sent: sent.splice(0),
  };
  for (const end of ends) end();
  return answer;
}

(async () => {
  const { boards, chosen } = JSON.parse(readFileSync(0, 'utf8'));
  const answers = [];
  for (const board of boards) answers.push(await show(board, chosen));
  process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit(0));
})().catch((error) => {
  process.stderr.write(`${error?.stack ?? error}\n`, () => process.exit(1));
});
