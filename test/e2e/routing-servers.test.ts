// What two servers on one Valkey know together of their deployments: a cooldown that one of them found holds for both, and a
// session has the same deployment on both, also while one of them cools down. Seen from outside.
import t from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder } from '../support/cli.ts';
import { beforeNextLook } from '../support/patience.ts';
import { KEY, send, startRig, type Rig } from '../support/rig.ts';
import { ownValkey } from '../support/valkey.ts';

const SESSIONS = Array.from({ length: 24 }, (_, n) => `session-${n}`);

interface Served {
  readonly deployment: string;
  readonly retries: string;
}

async function serve(url: string, session: string): Promise<Served> {
  const body = { model: 'm', messages: [{ role: 'user', content: 'one two three' }] };
  const headers = { 'x-litellm-session-id': session };
  const answer = await send(url, 'POST', '/v1/chat/completions', body, headers);
  if (answer.status !== 200) throw new Error(answer.text);
  return {
    deployment: String(answer.headers['x-litellm-model-id']),
    retries: String(answer.headers['x-litellm-attempted-retries']),
  };
}

/** Of each session. */
async function servedBy(url: string): Promise<Map<string, Served>> {
  const served = new Map<string, Served>();
  for (const session of SESSIONS) served.set(session, await serve(url, session));
  return served;
}

const deployments = (served: ReadonlyMap<string, Served>): string[] =>
  [...served.values()].map((one) => one.deployment);

async function breakerOf(url: string, id: string): Promise<unknown> {
  const { text } = await send(url, 'GET', '/health');
  const { healthy_endpoints, unhealthy_endpoints } = JSON.parse(text);
  return [...healthy_endpoints, ...unhealthy_endpoints].find(({ model_id }) => model_id === id)?.breaker;
}

async function learned(url: string): Promise<number> {
  const { text } = await send(url, 'GET', '/metrics');
  return Number(/^throughline_cooldowns_from_others_total\{model="m"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

t.test('two servers agree on cooldowns, and on the deployment of each session', async (t) => {
  const valkey = await ownValkey(t);
  if (valkey === null) return;
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const entry = (id: string, model: string): string =>
    `  - { model_name: m, model_info: { id: ${id} }, litellm_params: { model: "openai/acme/${model}", api_base: "${demo.url}/compat/v1", api_key: k } }\n`;
  const config = (): string => `
model_list:
${entry('one', 'demo')}${entry('two', 'demo')}${entry('three', 'demo')}${entry('busy', 'demo-429')}
general_settings: { master_key: ${KEY} }
router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port}, cooldown_time: 300 }
`;
  const dataOfA = folder(t);
  const start = (place: string): Promise<Rig> => startRig(t, { config, folder: place });
  const [a, b] = [await start(dataOfA), await start(folder(t))];
  const onA = await servedBy(a.url);
  t.equal(new Set(deployments(onA)).size, 3, 'the fourth answers 429');
  t.equal([...onA.values()].filter(({ retries }) => retries !== '0').length, 1, 'and cools down at once');
  while ((await breakerOf(b.url, 'busy')) !== 'open') await beforeNextLook();
  const asked = (): number => demo.seen.filter(({ body }) => String(body).includes('demo-429')).length;
  const before = asked();
  const onB = await servedBy(b.url);
  t.same(deployments(onB), deployments(onA), 'each session has the same deployment on both');
  t.equal(asked(), before, 'the other server does not find it out by calls of its own');
  t.same([await learned(a.url), await learned(b.url)], [0, 1]);

  await valkey.kill();
  await a.stop();
  t.same(deployments(await servedBy(b.url)), deployments(onA), 'without Valkey what is known stays known');
  await valkey.start();
  const c = await start(dataOfA);
  while ((await breakerOf(c.url, 'busy')) !== 'open') await beforeNextLook();
  t.same(deployments(await servedBy(c.url)), deployments(onA), 'a server that starts anew hears of it');
  t.equal(asked(), before);
});
