// The dashboards as Grafana's page reads them: its own packages of npm (scenes, the Prometheus data source) set the variables,
// put them into every query and send it to a real Prometheus that scrapes a proxy with calls. Grafana's server is in no
// registry; programs/grafana-panels.cjs says what stands for it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { BOARDS } from '../../../charts/monitoring/boards/table.ts';
import { busyProxy, type BusyProxy } from '../../charts/monitoring/fixture/busy-proxy.ts';
import { ROOT } from '../../support/cli.ts';
import { npm } from '../../support/npm.ts';
import { ownPrometheus, withoutProgram } from '../../support/prometheus.ts';
import { KEY } from '../../support/rig.ts';
import { Missing, until, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

const PACKAGES = {
  '@grafana/data': '13.1.1',
  '@grafana/e2e-selectors': '13.1.1',
  '@grafana/i18n': '13.1.1',
  '@grafana/prometheus': '13.1.2',
  '@grafana/runtime': '13.1.1',
  '@grafana/scenes': '8.19.0',
  '@grafana/schema': '13.1.1',
  '@grafana/ui': '13.1.1',
  jsdom: '26.1.0',
  react: '18.3.1',
  'react-dom': '18.3.1',
  rxjs: '7.8.2',
};
const FOLDER = join(ROOT, 'node_modules', '.cache', 'throughline-interop', 'grafana');
const PROGRAM = join(ROOT, 'test/interop/programs/grafana-panels.cjs');
const DASHBOARDS = join(ROOT, 'charts/throughline/dashboards');

interface Shown {
  readonly variables: Readonly<
    Record<string, { readonly values: readonly string[]; readonly error: string | null }>
  >;
  readonly panels: readonly {
    readonly title: string;
    readonly state: string;
    readonly errors: readonly string[];
    readonly series: readonly { readonly refId: string; readonly rows: number }[];
  }[];
  /** Queries, as Prometheus got them. */
  readonly sent: readonly string[];
}

/** Installs the packages once; another list installs anew. @throws Missing */
function installed(): string {
  const wanted = JSON.stringify({ private: true, dependencies: PACKAGES });
  const complete = join(FOLDER, 'complete');
  if (existsSync(complete) && readFileSync(complete, 'utf8') === wanted) return FOLDER;
  console.error(`installing Grafana's packages of npm into ${FOLDER}`);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), wanted);
  // Each names exact versions of the others, which are not all published.
  const flags = ['--ignore-scripts', '--legacy-peer-deps', '--fetch-retries=3'];
  const { status, err } = npm(FOLDER, 'npm', 'install', ...flags);
  if (status !== 0) throw new Missing(`Grafana's packages cannot be installed: ${err.trim().slice(-300)}`);
  writeFileSync(complete, wanted);
  return FOLDER;
}

/** The panels of all boards, with some variables set by hand. */
async function shown(
  run: InteropRun,
  prometheus: string,
  chosen: Readonly<Record<string, readonly string[]>>,
  boards: readonly unknown[],
): Promise<readonly Shown[]> {
  const child = spawn(process.execPath, [PROGRAM, FOLDER, prometheus], { stdio: ['pipe', 'pipe', 'pipe'] });
  run.teardown(() => child.kill());
  child.stdin.end(JSON.stringify({ boards, chosen }));
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(err.slice(-2000));
  return JSON.parse(out.trim().split('\n').at(-1) ?? '') as Shown[];
}

export const grafana: Suite = {
  name: 'grafana',
  about: "the dashboards in Grafana's own page code (npm), with a real Prometheus and a proxy with calls",
  prepare: async (run) => {
    const lack = withoutProgram('prometheus');
    if (lack !== false) throw new Missing(lack);
    installed();
    const proxy = await busyProxy({ teardown: (act) => run.teardown(act), comment: console.error });
    const { url } = await ownPrometheus(run, {
      targets: { throughline: `127.0.0.1:${proxy.port}` },
      bearer: KEY,
      rules: join(ROOT, 'charts/throughline/rules/throughline.yaml'),
    });
    return {
      software: `@grafana/scenes ${PACKAGES['@grafana/scenes']}, @grafana/prometheus ${PACKAGES['@grafana/prometheus']}`,
      cases: casesOf(run, proxy, url),
    };
  },
};

function casesOf(run: InteropRun, proxy: BusyProxy, url: string): readonly Case[] {
  const boards: { readonly title: string }[] = readdirSync(DASHBOARDS).map(
    (name) => JSON.parse(readFileSync(join(DASHBOARDS, name), 'utf8')) as { title: string },
  );
  const errorsOf = (all: readonly Shown[]): string[] =>
    all.flatMap(({ variables, panels }, n) => [
      ...Object.entries(variables).flatMap(([name, { error }]) =>
        error === null ? [] : [`${boards[n]?.title}, variable ${name}: ${error}`],
      ),
      ...panels
        .filter(({ state, errors }) => state !== 'Done' || errors.length > 0)
        .map(({ title, state, errors }) => `${boards[n]?.title} > ${title}: ${state} ${errors.join('; ')}`),
    ]);
  /** Panels that must have data in a healthy system and have none. */
  const emptyOf = (all: readonly Shown[]): string[] =>
    BOARDS.flatMap((board) => {
      const at = boards.findIndex(({ title }) => title === board.title);
      return board.panels
        .filter(({ queries }) => queries.every(({ mayBeEmpty }) => mayBeEmpty === undefined))
        .filter(({ title, queries }) => {
          const panel = all[at]?.panels.find((one) => one.title === title);
          return queries.some(
            (_, i) => !panel?.series.some(({ refId, rows }) => refId === 'ABCDEFGH'.charAt(i) && rows > 0),
          );
        })
        .map(({ title }) => `${board.title} > ${title}`);
    });
  return [
    {
      name: 'every panel answers without an error, and has data where there must be some',
      play: async () => {
        let all: readonly Shown[] = [];
        await until('data in every panel', async () => {
          await proxy.traffic();
          all = await shown(run, url, {}, boards);
          const errors = errorsOf(all);
          if (errors.length > 0) throw new Error(errors.join('\n'));
          const empty = emptyOf(all);
          if (empty.length > 0) console.error(`waiting for data: ${empty.join(', ')}`);
          return empty.length === 0 ? true : null;
        });
        const left = all.flatMap(({ sent }) => sent).filter((expr) => expr.includes('$'));
        if (left.length > 0) throw new Error(`variables are left: ${left.join('\n')}`);
        return `${all.flatMap(({ panels }) => panels).length} panels, ${all.flatMap(({ sent }) => sent).length} queries`;
      },
    },
    {
      name: 'models with the marks of regular expressions in their names can be chosen, one and several',
      play: async () => {
        const chain = boards.filter(({ title }) => title.endsWith('Chain'));
        const odd = 'vendor/a.b+c(d)';
        for (const model of [[odd], [odd, 'demo']]) {
          const [one] = await shown(run, url, { model }, chain);
          if (one === undefined) throw new Error('no board');
          const errors = errorsOf([one]);
          if (errors.length > 0) throw new Error(errors.join('\n'));
          if (one.variables['model']?.values.includes(odd) !== true)
            throw new Error(`offered: ${JSON.stringify(one.variables)}`);
          const calls = one.panels.find(({ title }) => title === 'Calls');
          if (!calls?.series.some(({ rows }) => rows > 0)) throw new Error(`no data: ${one.sent.join('\n')}`);
        }
        return '';
      },
    },
  ];
}
