// Sixteen faults against config/samples/failover-strict.yaml, as it is, through the real program: what the client got, and
// what the upstream saw. The cases are those of Failover Bench; fixture/sixteen.ts has them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { serveCli } from '../../support/cli.ts';
import { KEY, send, type Row } from '../../support/rig.ts';
import { rowsOf } from '../harness/compare-rows.ts';
import { ResultRow } from '../harness/result-row.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { startScriptedUpstream, type ScriptedCall } from '../harness/scripted-upstream.ts';
import {
  ANSWER,
  CASES,
  serve,
  wholeStream,
  type Case,
  type FaultyCall,
  type Played,
} from './fixture/sixteen.ts';

const SAMPLE = join(import.meta.dirname, '../../../config/samples/failover-strict.yaml');
/** The bench's outage, and its calls: one every four seconds. */
const DOWN_MS = 60_000;
const [CALLS, EVERY_MS] = [20, 4_000] as const;
/** How soon after the outage the main upstream must serve again. */
const BACK_WITHIN_MS = 30_000;

/** What an upstream knows of the case that is played. */
interface Stage {
  /** What the main upstream does. */
  act: Case['act'];
  since: number;
  downMs: number;
  main: number[];
  backup: number;
  refused: number;
}

interface Said {
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

function readCall({ body }: ScriptedCall): Pick<FaultyCall, 'usage' | 'prefill'> {
  const { stream_options: options, messages } = JSON.parse(body) as Said;
  const last = messages.at(-1);
  return {
    usage: options?.include_usage === true,
    prefill: last?.role === 'assistant' ? last.content : null,
  };
}

const NO_PREFILL = JSON.stringify({
  error: {
    message: 'The conversation must end with a user message.',
    type: 'invalid_request_error',
    code: 'invalid_prefill',
  },
});

/** The backup: healthy, and one of its two models refuses prefills. */
function backUp(stage: Stage, call: ScriptedCall): void {
  const { usage, prefill } = readCall(call);
  stage.backup += 1;
  if (prefill !== null && call.model === 'closed-model-backup') {
    stage.refused += 1;
    call.socket.write(
      `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${NO_PREFILL.length}\r\n\r\n${NO_PREFILL}`,
    );
  } else call.socket.write(wholeStream('backup', usage, prefill));
}

function beMain(stage: Stage, call: ScriptedCall): void {
  const { socket } = call;
  const elapsedMs = performance.now() - stage.since;
  stage.main.push(elapsedMs);
  stage.act({
    socket,
    nth: stage.main.length,
    isDown: elapsedMs < stage.downMs,
    ...readCall(call),
  });
}

interface Answered {
  readonly outcome: Played['outcome'];
  readonly model: string | null;
  readonly hasUsage: boolean;
  readonly error: string;
}

/** One streamed call, read as an SDK reads it. */
async function ask(url: string, model: string, session: string): Promise<Answered> {
  const body = {
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'Say in sixty words what a proxy is for.' }],
  };
  const answer = await send(url, 'POST', '/v1/chat/completions', body, { 'x-litellm-session-id': session });
  const failed = { model: null, hasUsage: false, error: answer.text.slice(-400) };
  if (answer.status !== 200) return { outcome: 'error', ...failed };
  let [text, hasUsage, isFinished] = ['', false, false];
  let said: string | null = null;
  for (const [, data = ''] of answer.text.matchAll(/^data: (.*)$/gm)) {
    if (data === '[DONE]') continue;
    const event = JSON.parse(data) as {
      readonly error?: unknown;
      readonly model?: string;
      readonly usage?: unknown;
      readonly choices?: readonly { delta: { content?: string }; finish_reason: string | null }[];
    };
    if (event.error !== undefined) return { outcome: 'error', ...failed };
    said = event.model ?? said;
    hasUsage ||= event.usage !== undefined && event.usage !== null;
    for (const { delta, finish_reason: reason } of event.choices ?? []) {
      text += delta.content ?? '';
      isFinished ||= reason !== null;
    }
  }
  if (answer.broken || !isFinished) return { outcome: 'error', ...failed };
  return { outcome: text === ANSWER ? 'answer' : 'half an answer', model: said, hasUsage, error: '' };
}

/** A long file of short waits, for a run that has seconds. */
const hurried = (text: string): string =>
  text.replace(/(ttft_timeout|idle_timeout): 10/g, '$1: 1').replace(/(cooldown_time): 10/, '$1: 1');

async function run(scenario: ScenarioRun): Promise<readonly ResultRow[]> {
  const { quick } = scenario.options;
  const stage: Stage = { act: serve, since: 0, downMs: 0, main: [], backup: 0, refused: 0 };
  const main = await startScriptedUpstream(scenario, (call) => beMain(stage, call));
  const backup = await startScriptedUpstream(scenario, (call) => backUp(stage, call));
  const folder = scenario.folder();
  const config = join(folder, 'gateway.yaml');
  const text = readFileSync(SAMPLE, 'utf8');
  writeFileSync(config, quick ? hurried(text) : text);
  const env = {
    MASTER_KEY: KEY,
    MAIN_BASE: `${main.url}/v1`,
    MAIN_KEY: 'sk-main',
    BACKUP_BASE: `${backup.url}/v1`,
    BACKUP_KEY: 'sk-backup',
  };
  const { url } = await serveCli(scenario, config, join(folder, 'data'), ['--log-level', 'silent'], {
    env,
    patienceMs: 600_000,
  });

  const results: ResultRow[] = [];
  for (const one of CASES) {
    const result = new ResultRow(`${one.id} ${one.title}`);
    results.push(result);
    Object.assign(stage, { act: one.act, since: performance.now(), main: [], backup: 0, refused: 0 });
    if (one.isSequence === true) await playSequence(url, one, stage, result, quick);
    else {
      const answered = await ask(url, one.model, one.id);
      const elapsedMs = performance.now() - stage.since;
      const played = { ...stage, main: [...stage.main] };
      const { outcome } = await ask(url, 'open-model-backup', `alive-${one.id}`);
      const problem = problemOf(
        one,
        { ...played, ...answered, elapsedMs, isAlive: outcome === 'answer' },
        !quick,
      );
      result.check(problem === null, () => problem ?? '');
    }
    stage.act = serve;
    await untilBack(url, one.model);
  }
  checkRows(await rowsOf(url), results);
  return results;
}

function problemOf({ wanted, judge }: Case, played: Played, isTimed: boolean): string | null {
  if (played.outcome === wanted) return judge(played, isTimed);
  return `the client got ${played.outcome} in place of ${wanted}: ${played.error}`;
}

/** The bench has a model for each case, so none of them finds the main upstream cooling down from the one before. */
async function untilBack(url: string, model: string): Promise<void> {
  for (let n = 0; (await ask(url, model, `back-${n}`)).model !== 'main'; n += 1) {
    if (n === 200) throw new Error('the main upstream never served again');
    await pause(250);
  }
}

/** The main upstream is down, and comes back: each call is answered, and then by the main upstream again. */
async function playSequence(
  url: string,
  { id, model, wanted }: Case,
  stage: Stage,
  result: ResultRow,
  quick: boolean,
): Promise<void> {
  stage.downMs = quick ? 3_000 : DOWN_MS;
  let backAt: number | null = null;
  let n = 0;
  const [calls, everyMs] = quick ? [100, 200] : [CALLS, EVERY_MS];
  for (; n < calls && !(quick && backAt !== null); n += 1) {
    const answered = await ask(url, model, `${id}-${n}`);
    result.check(answered.outcome === wanted, () => `call ${n}: ${answered.outcome}: ${answered.error}`);
    const elapsedMs = performance.now() - stage.since;
    if (answered.model === 'main') backAt ??= elapsedMs;
    await pause(Math.max(0, everyMs - ((performance.now() - stage.since) % everyMs)));
  }
  result.check(
    backAt !== null && (quick || backAt - stage.downMs <= BACK_WITHIN_MS),
    () => `the main upstream served again after ${backAt} ms`,
  );
  result.notes.push(
    `${id}: ${n} calls, ${stage.main.filter((at) => at < stage.downMs).length} attempts at the main upstream while it was down.`,
  );
}

/** S16: one row, of the deployment that answered; what failed has no tokens and no cost. */
function checkRows(rows: readonly Row[], results: readonly ResultRow[]): void {
  const result = results.at(-1);
  const of = rows.filter((row) => row['session_id'] === 'S16');
  const [row] = of;
  const failed = (row?.['attempt_log'] ?? []) as readonly Row[];
  const isRight =
    of.length === 1 &&
    row?.['status'] === 'success' &&
    String(row['model_group']).startsWith('open-model') &&
    failed.length > 0 &&
    failed.every((attempt) => Number(attempt['spend'] ?? 0) === 0);
  result?.check(isRight, () => `the row is ${JSON.stringify(of).slice(0, 600)}`);
}

export const failoverBench: Scenario = {
  name: 'failover-bench',
  about:
    'the sixteen cases of Failover Bench, all with one configuration (config/samples/failover-strict.yaml)',
  run,
};
