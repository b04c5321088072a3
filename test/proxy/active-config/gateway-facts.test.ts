// What the gateway behind says of its models, in our /model/info: on real sockets, with gateways that tell, fail, hang and lie.
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { KEY, send, startRig } from '../../support/rig.ts';
import { ManualClock } from '../../support/clock.ts';

interface Told {
  readonly port: number;
  readonly asked: string[];
}

async function gateway(t: Test, listener: RequestListener): Promise<Told> {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url} ${req.headers.authorization}`);
    listener(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  return { port: (server.address() as AddressInfo).port, asked };
}

const entry = (name: string, model: string, port: number, info = '{}'): string =>
  `  - { model_name: ${name}, litellm_params: { model: ${model}, api_base: "http://127.0.0.1:${port}${model.startsWith('openai') ? '/v1' : ''}", api_key: sk-up }, model_info: ${info} }\n`;
const config = (...entries: string[]): string =>
  `model_list:\n${entries.join('')}general_settings: { master_key: ${KEY} }\n`;

const LISTING = {
  data: [
    {
      model_name: 'team-model',
      litellm_params: { model: 'azure/secret-deployment', api_base: 'https://internal' },
      model_info: {
        id: 'theirs',
        db_model: true,
        mode: 'chat',
        max_tokens: 4_096,
        max_input_tokens: 100_000,
        supports_vision: true,
        supports_reasoning: false,
        supports_pdf_input: null,
        input_cost_per_token: 1e-6,
        litellm_provider: 'azure',
        team_id: 'their-team',
        base_model: 'azure/gpt-4o',
        'supports_<script>': true,
        max_output_tokens: 'many',
      },
    },
    { model_name: 'team-model', model_info: { mode: 'second' } },
    { model_name: 'gpt-4o', model_info: { max_input_tokens: 64_000 } },
    null,
    { model_name: 7 },
  ],
};

async function infoOf(url: string, more = ''): Promise<readonly Record<string, unknown>[]> {
  const response = await send(url, 'GET', `/model/info${more}`);
  t.equal(response.status, 200);
  const { data } = JSON.parse(response.text) as { data: { model_info: Record<string, unknown> }[] };
  return data.map((one) => one.model_info);
}

t.test('the entry wins over the gateway, the gateway over the catalogue', async (t) => {
  const told = await gateway(t, (_, res) => void res.end(JSON.stringify(LISTING)));
  const rig = await startRig(t, {
    config: () =>
      config(
        entry('a', 'litellm_proxy/team-model', told.port),
        entry('b', 'litellm_proxy/gpt-4o', told.port, '{ id: b, max_output_tokens: 99 }'),
        entry('c', 'openai/gpt-4o', told.port).replace('api_key', 'gateway: bifrost, api_key'),
        entry('d', 'litellm_proxy/nobody', told.port),
      ),
  });
  t.same(told.asked, [], 'nobody is asked before somebody wants to know');
  const [a, b, c, d] = await infoOf(rig.url);
  t.same(a, {
    key: 'team-model',
    litellm_provider: 'litellm_proxy',
    mode: 'chat',
    max_tokens: 4_096,
    max_input_tokens: 100_000,
    supports_vision: true,
    supports_reasoning: false,
    input_cost_per_token: 1e-6,
    id: a?.['id'],
    db_model: false,
  });
  t.match(b, {
    id: 'b',
    max_input_tokens: 64_000,
    max_output_tokens: 99,
    mode: 'chat',
    supports_vision: true,
  });
  t.match(c, { max_input_tokens: 128_000, supports_function_calling: true }, 'no LiteLLM behind it');
  t.equal(d?.['mode'], undefined, 'what nobody knows is not guessed');
  t.match(await infoOf(rig.url, '?litellm_model_id=b'), [{ max_input_tokens: 64_000 }]);
  t.same(told.asked, ['GET /v1/model/info Bearer sk-up'], 'asked once, with the key of the entry');
});

t.test('a gateway that fails costs no client its listing, and is asked again a minute later', async (t) => {
  const clock = new ManualClock();
  let answer: RequestListener = (_, res) => void res.writeHead(500).end();
  const told = await gateway(t, (req, res) => answer(req, res));
  const rig = await startRig(t, {
    config: () => config(entry('a', 'litellm_proxy/team-model', told.port)),
    clock,
  });
  for (const faulty of [
    answer,
    (_, res) => void res.end('<html>'),
    (_, res) => void res.end('{"data":{}}'),
    (req) => void req.socket.destroy(),
    (_, res) => void res.writeHead(302, { location: '/elsewhere' }).end(),
  ] as RequestListener[]) {
    answer = faulty;
    const before = told.asked.length;
    t.match(await infoOf(rig.url), [{ key: 'team-model' }]);
    t.match(await infoOf(rig.url), [{ key: 'team-model' }]);
    t.equal(told.asked.length, before + 1, 'not by every client');
    clock.advance(60_001);
  }
  t.match(await infoOf(rig.url), [{ key: 'team-model' }], 'asked once more, with the same failure');
  clock.advance(60_001);
  answer = (_, res) => void res.end(JSON.stringify(LISTING));
  t.match(await infoOf(rig.url), [{ mode: 'chat' }]);
  answer = (_, res) => void res.writeHead(500).end();
  clock.advance(300_001);
  t.match(await infoOf(rig.url), [{ mode: 'chat' }], 'what it last said is kept');
  const upstream = `http://127.0.0.1:${told.port}`;
  const failed = (why: string | RegExp): object => ({
    level: 40,
    upstream,
    why,
    msg: 'a gateway could not be asked for the facts of its models',
  });
  const lines = rig.log.filter(({ msg }) => String(msg).includes('the facts of its models'));
  t.match(
    lines,
    [
      failed(`GET ${upstream} model/info answered 500`),
      failed('its list is no JSON'),
      failed(`GET ${upstream} model/info answered no list`),
      failed(/\S/),
      failed(`GET ${upstream} model/info answered 302`),
      { level: 30, upstream, msg: 'a gateway tells the facts of its models again' },
      failed(`GET ${upstream} model/info answered 500`),
    ],
    'each change is told once',
  );
  t.equal(lines.length, 7);
});
