// Every fault of the table, streamed and not, through the real program: what the client got, what the row says, and
// that the next call on the same gateway is served. No client ever sees an end that the upstream did not send.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveCli } from '../../support/cli.ts';
import { KEY, send, type Answer } from '../../support/rig.ts';
import { rowsOf } from '../harness/compare-rows.ts';
import { startScriptedUpstream } from '../harness/scripted-upstream.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';
import { FAULTS, type Fault, type Outcome } from './fixture/faults.ts';

/** The deadline that ends a fault. No other one is short: a busy machine must not change what a fault comes to. */
const DEADLINES: Readonly<Record<string, string>> = {
  first_byte_timeout: 'timeout: 0.4, stream_timeout: 0.4',
  idle_timeout: 'idle_timeout: 0.4',
  total_timeout: 'total_timeout: 3',
};
const deadlineOf = ({ stream: [, , code] }: Fault): string => DEADLINES[code ?? ''] ?? 'timeout: 600';

/** Codes of the proxy's own errors about an upstream; an upstream's own are others. */
const OWN = /"code":\s*"(upstream_\w+|stream_\w+|\w+_timeout)"/;

/** What the client got, in the words of the table. */
function outcomeOf(answer: Answer, endReason: unknown): Outcome {
  const code = OWN.exec(answer.text)?.[1] ?? null;
  const how = answer.broken ? (code === null ? 'cut' : 'told') : code === null ? 'passed' : 'error';
  return [how, answer.status, code, String(endReason)];
}

/** What no client may see, whatever came from upstream; null when all is well. */
function lieIn(answer: Answer, [how]: Outcome): string | null {
  if (how !== 'passed' && answer.text.includes('[DONE]')) return 'an end was made up';
  if (/smuggled|surplus/.test(answer.text)) return 'bytes of another answer came through';
  if (answer.headers['transfer-encoding'] !== undefined && answer.headers['content-length'] !== undefined)
    return 'two framings in one answer';
  return null;
}

const configOf = (url: string): string => `
model_list:
  - model_name: unreached
    litellm_params: { model: litellm_proxy/x, api_base: "http://127.0.0.1:1", num_retries: 0 }
${FAULTS.map((fault, n) => `  - { model_name: fault-${n}, litellm_params: { model: litellm_proxy/fault-${n}, api_base: "${url}", ${deadlineOf(fault)}, num_retries: 0 } }`).join('\n')}
general_settings:
  master_key: ${KEY}
`;

async function run(scenario: ScenarioRun): Promise<readonly ResultRow[]> {
  const acts = new Map(FAULTS.map(({ act }, n) => [`fault-${n}`, act]));
  const upstream = await startScriptedUpstream(scenario, (call) => acts.get(call.model)?.(call));
  const folder = scenario.folder();
  const config = join(folder, 'gateway.yaml');
  writeFileSync(config, configOf(upstream.url));
  const flags = ['--log-level', 'silent'];
  const proxy = await serveCli(scenario, config, join(folder, 'data'), flags, { patienceMs: 600_000 });
  const ask = (model: string, stream: boolean, session: string): Promise<Answer> =>
    send(
      proxy.url,
      'POST',
      '/v1/chat/completions',
      { model, stream, messages: [] },
      { 'x-litellm-session-id': session },
    );

  const results = [false, true].map((stream) => {
    return {
      stream,
      result: new ResultRow(`upstream faults, ${stream ? 'streamed' : 'not streamed'}`, ['lost', 'doubled']),
    };
  });
  for (const { stream, result } of results) {
    const answers = new Map<Fault, Answer>();
    for (const [n, fault] of FAULTS.entries()) {
      const model = fault.act === null ? 'unreached' : `fault-${n}`;
      answers.set(fault, await ask(model, stream, `${n}-${stream}`));
      // Whatever it left on its connection must not be the answer to the next one.
      const next = await ask('fault-0', false, `next-${n}-${stream}`);
      if (next.status !== 200 || next.broken || lieIn(next, ['passed', 200, null, '']) !== null)
        result.fail(`behind "${fault.name}" the next call got ${next.status} ${next.text.slice(0, 100)}`);
    }
    const rows = Map.groupBy(await rowsOf(proxy.url), (row) => String(row['session_id']));
    for (const [n, fault] of FAULTS.entries()) {
      const answer = answers.get(fault) as Answer;
      const [row, ...more] = rows.get(`${n}-${stream}`) ?? [];
      const wanted = stream ? fault.stream : fault.json;
      const got = outcomeOf(answer, row?.['end_reason']);
      const lie = lieIn(answer, got);
      result.check(
        lie === null && (got.join() === wanted.join() || (stream && got.join() === fault.inOneRead?.join())),
        () =>
          `"${fault.name}" gave ${got.join(' ')} in place of ${wanted.join(' ')}${lie === null ? '' : `; ${lie}`}`,
      );
      result.violations('lost', row === undefined ? [fault.name] : []);
      result.violations('doubled', more.length > 0 ? [fault.name] : []);
    }
  }
  return results.map(({ result }) => result);
}

export const upstreamFaults: Scenario = {
  name: 'upstream-faults',
  about: 'every upstream fault has its stated outcome, and no client sees a made-up end',
  run,
};
