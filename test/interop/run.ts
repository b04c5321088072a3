// `npm run interop`: plays suites with the real software of others, which npm and PyPI have, and prints a table of what
// ran. Not part of `npm test`: it installs packages, and takes minutes. Exit code 1 when something did not hold, 3 when
// nothing failed but a suite could not be played here.
//
//   npm run interop                          all suites
//   npm run interop -- --only agent-server   one of them
import { parseArgs } from 'node:util';
import { describeRun } from '../../bench/harness/machine.ts';
import { markdown } from '../../bench/harness/table.ts';
import { InteropRun, Missing, type Case, type Suite } from './harness/suite.ts';
import { agents } from './suites/agents.ts';
import { clients } from './suites/clients.ts';
import { gateways } from './suites/gateways.ts';
import { agentSettings } from './suites/agent-settings.ts';
import { sdk } from './suites/sdk.ts';
import { agentServer } from './suites/agent-server.ts';
import { grafana } from './suites/grafana.ts';
import { image } from './suites/image.ts';
import { openapi } from './suites/openapi.ts';
import { charts } from './suites/charts.ts';
import { clickhouse } from './suites/clickhouse.ts';
import { dashboards } from './suites/dashboards.ts';
import { platformClient } from './suites/platform-client.ts';
import { translations } from './suites/translations.ts';

/** One file each. */
const SUITES: readonly Suite[] = [
  sdk,
  agentServer,
  agentSettings,
  platformClient,
  charts,
  openapi,
  clickhouse,
  dashboards,
  grafana,
  image,
  translations,
  agents,
  clients,
  gateways,
];

const NOT_PLAYED = 3;

interface Played {
  readonly row: readonly string[];
  readonly end: 'held' | 'failed' | 'not played';
}

async function playCase({ name, missing = null, play }: Case, suite: string): Promise<Played> {
  if (missing !== null) return { row: [suite, name, 'not played', '', missing], end: 'not played' };
  const startedAt = performance.now();
  const took = (): string => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  try {
    const remark = await play();
    console.error(`held    ${suite}: ${name} (${took()})`);
    return { row: [suite, name, 'held', took(), remark], end: 'held' };
  } catch (error) {
    console.error(
      `FAILED  ${suite}: ${name}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    const [line = ''] = String(error instanceof Error ? error.message : error).split('\n');
    return { row: [suite, name, 'FAILED', took(), line.slice(0, 120)], end: 'failed' };
  }
}

async function playSuite({
  name,
  prepare,
}: Suite): Promise<{ readonly played: readonly Played[]; readonly note: string }> {
  const run = new InteropRun();
  const interrupted = (): void => void run.close().then(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const { software, cases } = await prepare(run);
    const played: Played[] = [];
    for (const one of cases) played.push(await playCase(one, name));
    return { played, note: `${name}: ${software}` };
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    console.error(`${name} is not played: ${error.message}`);
    return {
      played: [{ row: [name, '(all)', 'not played', '', ''], end: 'not played' }],
      note: `${name}: ${error.message}`,
    };
  } finally {
    process.removeListener('SIGINT', interrupted).removeListener('SIGTERM', interrupted);
    await run.close();
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { only: { type: 'string', multiple: true }, list: { type: 'boolean' } },
  });
  if (values.list === true)
    return console.log(SUITES.map(({ name, about }) => `${name.padEnd(16)}${about}`).join('\n'));
  const chosen = SUITES.filter(({ name }) => values.only?.includes(name) ?? true);
  if (chosen.length === 0)
    throw new Error(`--only names none of ${SUITES.map(({ name }) => name).join(', ')}`);
  const where = describeRun();
  const results = [];
  for (const suite of chosen) results.push(await playSuite(suite));
  const played = results.flatMap((result) => result.played);
  const table = {
    title: 'With the real software of others',
    columns: ['suite', 'case', 'result', 'took', 'remark'],
    rows: played.map(({ row }) => [...row]),
    notes: [...results.map(({ note }) => note), where],
  };
  console.log(markdown(table));
  if (played.some(({ end }) => end === 'failed')) process.exitCode = 1;
  else if (played.some(({ end }) => end === 'not played')) process.exitCode = NOT_PLAYED;
}

await main().catch((error: unknown) => {
  console.error(`interop: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exitCode = 1;
});
