// A process without a file descriptor to spare: it says whose fault that is, and goes on as soon as there are some.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { startUpstream } from '../support/call.ts';
import { folder, MAIN, serveCli } from '../support/cli.ts';
import { KEY } from '../support/rig.ts';

const LIMIT = 96;

t.test('no descriptor left: the call is refused as overloaded, and no gateway is blamed', async (t) => {
  const upstream = await startUpstream(t, ({ res }) => {
    res.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
    res.end('{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}');
  });
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  const entry = (name: string): string =>
    `  - { model_name: demo, model_info: { id: ${name} }, litellm_params: { model: openai/${name}, api_base: "${upstream}/v1", api_key: sk-up } }\n`;
  writeFileSync(
    config,
    `model_list:\n${entry('one')}${entry('two')}general_settings: { master_key: ${KEY} }\nrouter_settings: { allowed_fails: 0 }\n`,
  );
  const command = [
    '/bin/sh',
    '-c',
    `ulimit -n ${LIMIT}; exec "${process.execPath}" "${MAIN}" "$@"`,
    'sh',
  ] as const;
  const proxy = await serveCli(t, config, join(dir, 'data'), [], { command });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 }); // its connection is there before the others
  t.teardown(() => agent.destroy());
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const sent = request(proxy.url + path, { agent, method, headers });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [res] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const piece of res.setEncoding('utf8')) text += String(piece);
    return { status: res.statusCode, headers: res.headers, text };
  };
  const chat = () => ask('POST', '/v1/chat/completions', { model: 'demo', messages: [] });
  t.equal((await chat()).status, 200);

  const held: Socket[] = [];
  t.teardown(() => held.forEach((socket) => socket.destroy()));
  let answer = await chat();
  while (answer.status === 200) {
    const turnedAway = Promise.race(
      Array.from({ length: LIMIT }, () => {
        const socket = connect(proxy.port, '127.0.0.1').on('error', () => undefined);
        held.push(socket);
        return new Promise((resolve) => socket.once('close', resolve));
      }),
    );
    await turnedAway;
    answer = await chat();
  }
  t.equal(answer.status, 503);
  t.equal(answer.headers['retry-after'], '1');
  t.equal(answer.headers['x-litellm-error-source'], 'proxy');
  t.match(JSON.parse(answer.text), { error: { code: 'overloaded', message: /no file descriptor left/ } });

  held.forEach((socket) => socket.destroy());
  while (answer.status === 503) answer = await chat();
  t.equal(answer.status, 200);
  const { healthy_endpoints: healthy } = JSON.parse((await ask('GET', '/health')).text) as {
    readonly healthy_endpoints: readonly object[];
  };
  t.match(healthy, [{ breaker: 'closed' }, { breaker: 'closed' }], 'nobody cools down for it');
});
