// A thousand configuration changes, half of them invalid, while calls run and models are added and removed by the API:
// no call may fail, and what serves in the end is the last valid file.
import { renameSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { seededRandom } from '../../support/seeded-random.ts';
import { sendLoadCall } from '../../support/load-call.ts';
import { defaultConfig, send } from '../../support/rig.ts';
import { compareRows, rowsOf, MOST_ROWS } from '../harness/compare-rows.ts';
import { openProxySetup, type Served } from '../harness/proxy-setup.ts';
import { DEADLINE_MS, type Scenario } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const MODELS = ['demo', 'compat', 'demo-interval', 'compat-slow', 'demo-pings'];
const CALLERS = 12;
const RESULT = /^throughline_config_reloads_total\{result="(\w+)"\} (\d+)$/gm;

const INVALID = [
  (text: string) => text.replace('model_list:', 'model_lst:'),
  (text: string) => text.replace('litellm_proxy/demo,', 'bedrock/demo,'),
  (text: string) => text.replace('general_settings:', 'general_settings: ['),
  (text: string) => `${text}  drain_seconds: "soon"\n`,
  () => '',
] as const;

/** How often a reload came to which result. */
async function resultsOf(proxy: Served): Promise<Map<string, number>> {
  const { text } = await send(proxy.url, 'GET', '/metrics');
  return new Map([...text.matchAll(RESULT)].map(([, result = '', count]) => [result, Number(count)]));
}
export const reloadStorm: Scenario = {
  name: 'reload-storm',
  about:
    'configuration changes, half of them invalid, and models added by the API, under load: no call fails',
  run: async (scenario) => {
    const { seed } = scenario.options;
    const random = seededRandom(seed);
    const changes = scenario.count(1_000, 40, scenario.options.rounds);
    const calls = new ResultRow('calls during the storm', ['lost', 'doubled'], seed);
    const reloads = new ResultRow('changes', [], seed);
    const setup = await openProxySetup(scenario);
    const { configPath, demo } = setup;
    const proxy = await setup.serve(join(scenario.folder(), 'data'), ['--log-level', 'error']);
    const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
    const whole = new Set<string>();
    let over = false;
    let sent = 0;
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!over && sent < MOST_ROWS - 500) {
        sent += 1;
        const session = `call-${sent}`;
        const model = MODELS[sent % MODELS.length] as string;
        const end = await sendLoadCall({ agent, port: proxy.port, session, model, stream: sent % 2 === 0 });
        if (end === 'whole') whole.add(session);
        calls.check(end === 'whole', () => `${session} to ${model} was ${end}`);
      }
    });

    let last = '';
    for (let n = 0; n < changes; n += 1) {
      const isValid = n % 2 === 0;
      const text = defaultConfig(demo, `  drain_seconds: ${100 + n}\n`);
      const spoil = INVALID[Math.floor(random() * INVALID.length)] as (text: string) => string;
      const before = await resultsOf(proxy);
      writeFileSync(`${configPath}.new`, isValid ? text : spoil(text));
      renameSync(`${configPath}.new`, configPath);
      proxy.kill('SIGHUP');
      const result = isValid ? 'applied' : 'refused';
      const endsAt = performance.now() + DEADLINE_MS;
      // The watcher may see the former file once more, so it is this result that is waited for.
      let after = before;
      while ((after.get(result) ?? 0) <= (before.get(result) ?? 0) && performance.now() < endsAt)
        after = await resultsOf(proxy);
      reloads.check(
        (after.get(result) ?? 0) > (before.get(result) ?? 0),
        () => `change ${n} was not ${result}: ${JSON.stringify([...before])} ${JSON.stringify([...after])}`,
      );
      if (isValid) last = text;
      if (n % 10 !== 0) continue;
      const added = await send(proxy.url, 'POST', '/model/new', {
        model_name: `runtime-${n}`,
        litellm_params: { model: 'litellm_proxy/demo', api_base: demo.url, api_key: 'sk-runtime' },
        model_info: { id: `runtime-${n}` },
      });
      reloads.check(added.status === 200, () => `/model/new ${n}: ${added.status} ${added.text}`);
      if (n % 20 !== 0) continue;
      const gone = await send(proxy.url, 'POST', '/model/delete', { id: `runtime-${n}` });
      reloads.check(gone.status === 200, () => `/model/delete ${n}: ${gone.status} ${gone.text}`);
    }
    over = true;
    await Promise.all(callers);
    agent.destroy();
    writeFileSync(configPath, last);
    const { text } = await send(proxy.url, 'GET', '/v1/models');
    for (let n = 10; n < changes; n += 20)
      reloads.check(text.includes(`"runtime-${n}"`), () => `runtime-${n} was lost in a reload`);
    compareRows(calls, await rowsOf(proxy.url), { seen: setup.seen, whole });
    const results = [...(await resultsOf(proxy))].map(([result, count]) => `${result} ${count}`).join(', ');
    reloads.notes.push(`${changes} changes by file and signal, reloads: ${results}.`);
    return [calls, reloads];
  },
};
