// Two hundred streams at once, each with a nonce of its own, and upstreams among them that send what nobody asked for:
// second answers, surplus bytes, other framings. No byte of one call may be seen by another.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveCli } from '../../support/cli.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { KEY, send } from '../../support/rig.ts';
import { rowsOf } from '../harness/compare-rows.ts';
import { startScriptedUpstream, type ScriptedCall } from '../harness/scripted-upstream.ts';
import type { Scenario, ScenarioRun } from '../harness/scenario-run.ts';
import { ResultRow } from '../harness/result-row.ts';

const ROUNDS = 5;
const EVENTS = 40;
const NONCE = /nonce-\d+-[0-9a-f]{8}-end/g;

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const event = (nonce: string, finish: string | null): string =>
  `data: ${JSON.stringify({ id: nonce, choices: [{ index: 0, delta: { content: nonce }, finish_reason: finish }] })}\n\n`;
const STREAM = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';

/** Ways to try to reach another call's client; the last ones are honest. */
const MANNERS: readonly ((nonce: string) => { readonly end: string; readonly hostile: boolean })[] = [
  (nonce) => ({ end: `0\r\n\r\n${STREAM}content-length: 9999\r\n\r\n${event(nonce, null)}`, hostile: true }),
  (nonce) => ({
    end: `0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: ${nonce.length}\r\n\r\n${nonce}`,
    hostile: true,
  }),
  (nonce) => ({ end: `0\r\n\r\n${event(nonce, null)}`, hostile: true }),
  (nonce) => ({
    end: `0\r\nset-cookie: ${nonce}\r\n\r\nHTTP/1.1 100 Continue\r\nx: ${nonce}\r\n\r\n`,
    hostile: true,
  }),
  (nonce) => ({ end: `zz\r\n${event(nonce, null)}`, hostile: true }),
  () => ({ end: '0\r\n\r\n', hostile: false }),
  () => ({ end: '0\r\n\r\n', hostile: false }),
  () => ({ end: '0\r\n\r\n', hostile: false }),
];

function answer({ socket, model }: ScriptedCall): void {
  const manner = MANNERS[Number(model.split('-')[1]) % MANNERS.length] ?? MANNERS.at(-1);
  socket.write(`${STREAM}transfer-encoding: chunked\r\n\r\n`);
  let left = EVENTS;
  // One event for each turn: two hundred streams then lie across each other byte by byte.
  const next = (): void => {
    if (socket.destroyed) return;
    left -= 1;
    if (left > 0) {
      socket.write(chunk(event(model, null)));
      setImmediate(next);
      return;
    }
    socket.write(chunk(`${event(model, 'stop')}data: [DONE]\n\n`) + (manner?.(model).end ?? ''));
  };
  next();
}

async function run(scenario: ScenarioRun): Promise<readonly ResultRow[]> {
  const { seed } = scenario.options;
  const random = seededRandom(seed);
  const streams = scenario.count(200, 60, scenario.options.rounds);
  const result = new ResultRow(
    `${streams} streams at once, five of eight upstreams hostile`,
    ['lost', 'doubled', 'crossed'],
    seed,
  );
  const upstream = await startScriptedUpstream(scenario, answer);
  const folder = scenario.folder();
  const config = join(folder, 'gateway.yaml');
  writeFileSync(
    config,
    `model_list:\n  - model_name: "*"\n    litellm_params: { model: "litellm_proxy/*", api_base: "${upstream.url}" }\n` +
      `general_settings:\n  master_key: ${KEY}\n`,
  );
  const flags = ['--log-level', 'silent'];
  const proxy = await serveCli(scenario, config, join(folder, 'data'), flags, { patienceMs: 600_000 });
  const nonces: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(
      Array.from({ length: streams }, async (_, n) => {
        const nonce = `nonce-${n}-${Math.floor(random() * 2 ** 32)
          .toString(16)
          .padStart(8, '0')}-end`;
        nonces.push(nonce);
        const body = { model: nonce, stream: true, messages: [] };
        const answered = await send(proxy.url, 'POST', '/v1/chat/completions', body, {
          'x-litellm-session-id': nonce,
        });
        const said = `${answered.rawHeaders.join('\n')}\n${answered.text}`;
        const foreign = new Set([...said.matchAll(NONCE)].map(([one]) => one).filter((one) => one !== nonce));
        result.violations(
          'crossed',
          [...foreign].map((one) => `${one} in the answer of ${nonce}`),
        );
        const own = answered.text.split(event(nonce, null)).length - 1;
        result.check(
          answered.status === 200 && own === EVENTS - 1 && answered.text.endsWith('data: [DONE]\n\n'),
          () =>
            `${nonce}: ${answered.status}, ${own} events, ends ${JSON.stringify(answered.text.slice(-60))}`,
        );
      }),
    );
  }
  const rows = Map.groupBy(await rowsOf(proxy.url), (row) => String(row['session_id']));
  result.violations(
    'lost',
    nonces.filter((nonce) => !rows.has(nonce)),
  );
  result.violations(
    'doubled',
    nonces.filter((nonce) => (rows.get(nonce)?.length ?? 0) > 1),
  );
  result.violations(
    'crossed',
    nonces
      .filter((nonce) => (rows.get(nonce) ?? []).some((row) => row['model_group'] !== nonce))
      .map((nonce) => `row of ${nonce}`),
  );
  return [result];
}

export const isolation: Scenario = {
  name: 'isolation',
  about: 'parallel streams with a nonce each, hostile upstreams among them: no byte crosses',
  run,
};
