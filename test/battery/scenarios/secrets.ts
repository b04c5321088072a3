// A canary in every slot that can hold a secret, the program provoked in every way it can fail, and then everything it
// said or wrote: answers, logs, metrics, files, other upstreams' requests. No canary may be where it does not belong.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli, serveCli } from '../../support/cli.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { send } from '../../support/rig.ts';
import { FAULTS } from './fixture/faults.ts';
import { startScriptedUpstream } from '../harness/scripted-upstream.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const SLOTS = [
  'master',
  'salt',
  'upstreamA',
  'upstreamB',
  'credential',
  'entryHeader',
  'commonHeader',
  'environment',
  'runtime',
  'runtimeHeader',
  'wrongKey',
  'foreignKey',
  'cookie',
  'query',
  'bodyKey',
  'prompt',
] as const;
type Slot = (typeof SLOTS)[number];
type Canaries = Readonly<Record<Slot, string>>;

/** Sixteen letters each, so that the first ten tell them apart in a text that was shortened. */
function canariesOf(random: () => number): Canaries {
  const letters = (): string =>
    Array.from({ length: 16 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('');
  return Object.fromEntries(SLOTS.map((slot) => [slot, `sk-${letters()}`])) as Canaries;
}

/** Slots whose canary stands in the text, plain or in base64. */
function found(canaries: Canaries, text: string): Slot[] {
  return SLOTS.filter((slot) => {
    const mark = canaries[slot].slice(3, 13);
    const coded = Buffer.from(canaries[slot].slice(3, 12)).toString('base64');
    return text.includes(mark) || text.includes(coded);
  });
}

function configOf(a: string, b: string, canaries: Canaries): string {
  return `
model_list:
  - model_name: "fault-*"
    litellm_params:
      model: "litellm_proxy/fault-*"
      api_base: "${a}"
      api_key: os.environ/UPSTREAM_A
      extra_headers: { x-entry: os.environ/ENTRY_HEADER }
      timeout: 0.3
      idle_timeout: 0.3
      total_timeout: 0.8
      num_retries: 0
  - model_name: b
    litellm_params: { model: litellm_proxy/fault-0, api_base: "${b}", api_key: os.environ/UPSTREAM_B }
  - model_name: listed
    litellm_params: { model: litellm_proxy/fault-0, litellm_credential_name: shared }
credential_list:
  - credential_name: shared
    credential_values: { api_base: "${b}", api_key: ${canaries.credential} }
general_settings:
  master_key: os.environ/MASTER
  forward_client_headers_to_llm_api: true
  store_model_in_db: true
router_settings:
  default_litellm_params:
    extra_headers: { x-common: ${canaries.commonHeader} }
`;
}

function bytesBelow(path: string): string {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

async function run(scenario: ScenarioRun): Promise<readonly ResultRow[]> {
  const { seed } = scenario.options;
  const canaries = canariesOf(seededRandom(seed));
  const result = new ResultRow(`${SLOTS.length} canaries through every sink`, ['leaked'], seed);
  const look = (sink: string, text: string, allowed: readonly Slot[] = []): void => {
    const leaked = found(canaries, text).filter((slot) => !allowed.includes(slot));
    result.check(leaked.length === 0, () => `${leaked.join(', ')} in ${sink}`);
    result.violations(
      'leaked',
      leaked.map((slot) => `${slot} in ${sink}`),
    );
  };
  const heard = { a: '', b: '' };
  const acts = new Map(FAULTS.map(({ act }, n) => [`fault-${n}`, act]));
  const upstreams = [];
  for (const side of ['a', 'b'] as const)
    upstreams.push(
      await startScriptedUpstream(scenario, (call) => {
        heard[side] += `${call.head}\n${call.body}\n`;
        acts.get(call.model)?.(call);
      }),
    );
  const [a, b] = upstreams.map(({ url }) => url) as [string, string];
  const folder = scenario.folder();
  const config = join(folder, 'gateway.yaml');
  const dataDir = join(folder, 'data');
  writeFileSync(config, configOf(a, b, canaries));
  const env = {
    MASTER: canaries.master,
    LITELLM_SALT_KEY: canaries.salt,
    UPSTREAM_A: canaries.upstreamA,
    UPSTREAM_B: canaries.upstreamB,
    ENTRY_HEADER: canaries.entryHeader,
    UNRELATED_SECRET: canaries.environment,
  };
  const proxy = await serveCli(scenario, config, dataDir, ['--log-level', 'debug'], {
    env,
    patienceMs: 600_000,
  });
  const auth = { authorization: `Bearer ${canaries.master}` };
  const call = async (
    name: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = auth,
  ): Promise<void> => {
    const answer = await send(proxy.url, method, path, body, headers);
    look(`the answer to ${name}`, `${answer.rawHeaders.join('\n')}\n${answer.text}`);
  };
  const CHAT = '/v1/chat/completions';
  const chat = (model: string, stream: boolean): object => ({
    model,
    stream,
    messages: [{ role: 'user', content: canaries.prompt }],
  });
  const others = {
    cookie: `session=${canaries.cookie}`,
    'proxy-authorization': `Basic ${canaries.foreignKey}`,
    'x-session-api-key': canaries.foreignKey,
    'x-api-key': canaries.foreignKey,
    'api-key': canaries.foreignKey,
    'x-copied': canaries.master,
    'x-within': `key=${canaries.master};`,
  };
  for (const [n, { act, name }] of FAULTS.entries()) {
    if (act === null) continue;
    await call(`"${name}"`, 'POST', CHAT, chat(`fault-${n}`, false), { ...auth, ...others });
    await call(`"${name}", streamed`, 'POST', CHAT, chat(`fault-${n}`, true), { ...auth, ...others });
  }
  for (const model of ['b', 'listed', 'none']) await call(model, 'POST', CHAT, chat(model, false));
  await call('a wrong key', 'POST', CHAT, chat('b', false), { authorization: `Bearer ${canaries.wrongKey}` });
  await call('a key in the query', 'POST', `${CHAT}?api_key=${canaries.query}`, chat('b', false));
  await call('an upstream in the body', 'POST', CHAT, { ...chat('b', false), api_key: canaries.bodyKey });
  await call('half a body', 'POST', CHAT, Buffer.from(`{"model":"b","user":"${canaries.bodyKey}"`));
  const entry = {
    model_name: 'runtime',
    model_info: { id: 'runtime-1' },
    litellm_params: {
      model: 'litellm_proxy/fault-0',
      api_base: b,
      api_key: canaries.runtime,
      extra_headers: { 'x-runtime': canaries.runtimeHeader },
    },
  };
  await call('/model/new', 'POST', '/model/new', entry);
  await call('a refused /model/new', 'POST', '/model/new', {
    ...entry,
    litellm_params: {
      ...entry.litellm_params,
      api_key: `${canaries.runtime}\r\n`,
      aws_secret: canaries.runtime,
    },
  });
  await call('the runtime model', 'POST', CHAT, chat('runtime', false));
  for (const path of ['/model/info', '/v1/models', '/health', '/health/readiness', '/metrics', '/spend/logs'])
    await call(path, 'GET', path);
  const spoilt = `master_key: { a: ${canaries.environment} }`;
  writeFileSync(config, configOf(a, b, canaries).replace('master_key: os.environ/MASTER', spoilt));
  proxy.kill('SIGHUP');
  await proxy.said(/configuration refused/);
  await call('readiness after a refused file', 'GET', '/health/readiness');
  proxy.kill('SIGTERM');
  const { out, err } = await proxy.ended;
  look('standard output', out);
  look('standard error', err);
  look('the data directory', bytesBelow(dataDir));
  look('requests to upstream A', heard.a, ['upstreamA', 'entryHeader', 'commonHeader', 'prompt']);
  look('requests to upstream B', heard.b, [
    'upstreamB',
    'credential',
    'runtime',
    'runtimeHeader',
    'commonHeader',
    'prompt',
  ]);
  result.check(
    heard.a.includes(canaries.upstreamA) && heard.b.includes(canaries.runtime),
    () => 'keys did not go where they belong',
  );
  for (const args of [['check'], ['explain', '--model', 'b'], ['serve', '--port', '0']]) {
    const ended = await runCli(scenario, [...args, '--config', config], { env, cwd: folder });
    look(`throughline ${args[0]}`, ended.out + ended.err);
  }
  return [result];
}

export const secrets: Scenario = {
  name: 'secrets',
  about: 'a canary in every slot that can hold a secret: none where it does not belong',
  run,
};
