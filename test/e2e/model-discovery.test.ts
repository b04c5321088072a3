// discover_models on the wire: lists come in the background, the last good one is kept, what is missing is hidden.
import t from 'tap';
import { startUpstream, type ReceivedCall } from '../support/call.ts';
import { beforeNextLook } from '../support/patience.ts';
import { chat, KEY, send, startRig, type Rig } from '../support/rig.ts';
import { systemClock } from '../../proxy/base/clock.ts';

let models: readonly unknown[] | number = [
  { id: 'gpt-a' },
  { id: 'gpt-b' },
  { id: 'bad\u0000name' },
  { id: 7 },
];
const asked: ReceivedCall[] = [];
const gateway = await startUpstream(t, (call) => {
  if (call.req.method === 'POST')
    return void call.res.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[{}]}');
  asked.push(call);
  if (typeof models === 'number') return void call.res.writeHead(models).end();
  return void call.res.end(JSON.stringify({ data: models }));
});
let nowMs = 0;
const clock = { ...systemClock, mono: () => systemClock.mono() + nowMs };
const config = (more = ''): string => `
model_list:
  - model_name: "*"
    litellm_params: { model: openai/*, api_base: "${gateway}/v1", api_key: sk-of-the-gateway, discover_models: true }
  - model_name: ghost
    litellm_params: { model: openai/gone, api_base: "${gateway}/v1", api_key: sk-of-the-gateway, discover_models: true }
general_settings:
  master_key: ${KEY}
${more}`;
const rig = await startRig(t, { config: () => config(), clock });

const listed = async (of: Rig): Promise<string[]> => {
  const { text } = await send(of.url, 'GET', '/v1/models');
  return (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id);
};
const known = (count: number): Promise<unknown> =>
  rig.logged(({ msg, models: n }) => msg === 'the models of a gateway are known' && n === count);

t.test(
  'a list of the gateway takes the place of the pattern; a ghost is hidden, and can be called',
  async (t) => {
    await known(2);
    t.strictSame(await listed(rig), ['gpt-a', 'gpt-b']);
    t.equal(asked[0]?.req.headers.authorization, 'Bearer sk-of-the-gateway');
    const one = await send(rig.url, 'GET', '/v1/models/gpt-a');
    t.match(JSON.parse(one.text), { id: 'gpt-a', object: 'model' });
    t.equal((await chat(rig, 'ghost')).status, 200);
    t.equal(
      (await chat(rig, 'gpt-b')).status,
      200,
      'a name that is listed can be called, though it has no provider',
    );
    t.match((await chat(rig, 'gpt-x')).text, /provider_required/);
    const metrics = await send(rig.url, 'GET', '/metrics');
    t.match(
      metrics.text,
      new RegExp(`throughline_discovered_models\\{gateway="${new URL(gateway).host}"\\} 2`),
    );
  },
);

t.test('neither listings nor calls ask; a reload asks only for what is old', async (t) => {
  const before = asked.length;
  await Promise.all(Array.from({ length: 5 }, async () => [await listed(rig), await chat(rig, 'gpt-a')]));
  await rig.reconfigure(config('  model_discovery: { hide_missing: false }\n'));
  t.strictSame(await listed(rig), ['gpt-a', 'gpt-b', 'ghost']);
  t.equal(asked.length, before);
});

t.test('the last good list is kept while the gateway fails, and a new one is taken', async (t) => {
  models = 503;
  nowMs += 400_000;
  await rig.reconfigure(config());
  await rig.logged(({ msg }) => msg === 'the models of a gateway could not be asked for');
  t.strictSame(await listed(rig), ['gpt-a', 'gpt-b']);
  const metrics = await send(rig.url, 'GET', '/metrics');
  t.match(metrics.text, /throughline_model_discovery_failures_total\{gateway="[^"]+"\} 1/);
  models = [{ id: 'gone' }, { id: 'gpt-c' }, { id: 'gpt-d' }, { id: 'gpt-e' }];
  nowMs += 61_000;
  await rig.reconfigure(config('  model_discovery: { max_models: 3 }\n'));
  await known(3);
  t.strictSame(
    await listed(rig),
    ['gone', 'gpt-c', 'gpt-d', 'ghost'],
    'bounded; nothing is missing in a list that was cut',
  );
});

t.test('two keys of one gateway, one of them refused: each is told once, not at every look', async (t) => {
  const both = await startUpstream(t, ({ req, res }) => {
    if (req.headers.authorization === 'Bearer sk-good') res.end('{"data":[{"id":"gpt-a"}]}');
    else res.writeHead(401).end();
  });
  const entry = (name: string, key: string): string =>
    `  - model_name: "${name}/*"
    litellm_params: { model: openai/*, api_base: "${both}/v1", api_key: ${key}, discover_models: true }
`;
  const text = `model_list:
${entry('good', 'sk-good')}${entry('bad', 'sk-bad')}general_settings: { master_key: ${KEY} }
`;
  const rig = await startRig(t, { config: () => text, clock });
  const about = (line: Readonly<Record<string, unknown>>): boolean =>
    String(line['msg']).includes('of a gateway');
  const told = (): unknown[] => rig.log.filter(about).map(({ level }) => level);
  await rig.logged((line) => about(line) && line['level'] === 40);
  await rig.logged((line) => about(line) && line['level'] === 30);
  for (let failures = 2; failures < 5; failures += 1) {
    nowMs += 400_000;
    await rig.reconfigure(`${text}# ${failures}\n`);
    const counted = new RegExp(`throughline_model_discovery_failures_total\\{[^}]*\\} ${failures}\n`);
    while (!counted.test((await send(rig.url, 'GET', '/metrics')).text)) await beforeNextLook();
  }
  t.same(told().toSorted(), [30, 40]);
});

t.test('a model of the API is asked about, though no entry of the file asks a gateway', async (t) => {
  models = [{ id: 'gpt-a' }, { id: 'gpt-b' }];
  const rig = await startRig(t, { clock });
  const body = {
    model_name: 'added/*',
    litellm_params: { model: 'openai/*', api_base: `${gateway}/v1`, api_key: 'sk-x', discover_models: true },
  };
  t.equal((await send(rig.url, 'POST', '/model/new', body)).status, 200);
  await rig.logged(({ msg }) => msg === 'the models of a gateway are known');
  t.ok((await listed(rig)).includes('added/gpt-a'));
});
