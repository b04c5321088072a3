// Without a key everybody may call: then the proxy is reachable from this machine only, unless the operator says the
// word - at the start and at every later change of the configuration.
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { CannotStart } from '../../proxy/errors/cannot-start.ts';
import { startProxy } from '../../proxy/server/proxy.ts';
import type { RunningProxy } from '../../proxy/server/running-proxy.ts';
import { openLog } from '../../proxy/observability/logger.ts';
import { folder } from '../support/cli.ts';
import { send } from '../support/rig.ts';

const MODELS = `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:1" }
`;
const KEYED = `${MODELS}general_settings: { master_key: sk-no-key-test }\n`;
const OPEN = `${MODELS}general_settings: { allow_unauthenticated: true }\n`;

interface Started {
  readonly gateway: RunningProxy;
  readonly log: string[];
  rewrite(config: string): Promise<void>;
}

async function start(
  t: Test,
  config: string,
  host?: string,
  env: Record<string, string> = {},
): Promise<Started> {
  const dir = folder(t);
  const configPath = join(dir, 'gateway.yaml');
  writeFileSync(configPath, config);
  const log: string[] = [];
  const proxy = await startProxy({
    configPath,
    dataDir: join(dir, 'data'),
    host,
    port: 0,
    env,
    log: openLog('info', { write: (line) => void log.push(line) }).log,
  });
  t.teardown(() => proxy.stop({ minMs: 0, maxMs: 0 }));
  return {
    gateway: proxy,
    log,
    rewrite: async (text) => {
      writeFileSync(configPath, text);
      await proxy.reload();
    },
  };
}

/** An address of this machine that is not loopback; null where there is none. */
const OUTSIDE =
  Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address ?? null;

function reachable(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

t.test('without a key the proxy binds to loopback and serves without one', async (t) => {
  const { gateway } = await start(t, MODELS);
  t.equal(gateway.host, '127.0.0.1');
  t.equal((await send(gateway.url, 'GET', '/v1/models', undefined, { authorization: '' })).status, 200);
  t.equal(
    (await send(gateway.url, 'GET', '/v1/models', undefined, { authorization: 'Bearer anything' })).status,
    200,
  );
  if (OUTSIDE !== null) t.equal(await reachable(OUTSIDE, gateway.port), false, 'not reachable from outside');
});

t.test('without a key any other address is refused, in one sentence that says how to mend it', async (t) => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com', '127.example.com', '1270.0.0.1']) {
    const error: unknown = await start(t, MODELS, host).catch((one: unknown) => one);
    t.ok(error instanceof CannotStart, host);
    t.equal(
      (error as Error).message,
      `no master key is configured, so ${host} would be open to everybody - set general_settings.master_key ` +
        `(or PROXY_MASTER_KEY), or general_settings.allow_unauthenticated: true, or --host 127.0.0.1`,
    );
  }
});

t.test('an empty key in the environment is none', async (t) => {
  const error: unknown = await start(t, MODELS, '0.0.0.0', { PROXY_MASTER_KEY: '' }).catch(
    (one: unknown) => one,
  );
  t.ok(error instanceof CannotStart);
});

t.test('loopback may be named in all its forms', async (t) => {
  for (const host of ['127.0.0.1', 'localhost', '127.0.0.2']) {
    const { gateway } = await start(t, MODELS, host);
    t.equal(gateway.host, host);
  }
});

t.test('with a key, or with the word of the operator, all addresses are bound', async (t) => {
  for (const [config, env] of [
    [KEYED, {}],
    [OPEN, {}],
    [MODELS, { PROXY_MASTER_KEY: 'sk-no-key-test' }],
    [MODELS, { LITELLM_MASTER_KEY: 'sk-no-key-test' }],
  ] as const) {
    const { gateway } = await start(t, config, undefined, env);
    t.equal(gateway.host, '0.0.0.0');
    if (OUTSIDE !== null) t.equal(await reachable(OUTSIDE, gateway.port), true);
    const answer = await send(gateway.url, 'GET', '/v1/models', undefined, { authorization: '' });
    t.equal(answer.status, config === OPEN ? 200 : 401);
  }
});

t.test('a reload cannot take the key away from a proxy that others reach', async (t) => {
  const { gateway, log, rewrite } = await start(t, KEYED);
  await rewrite(MODELS);
  t.equal(gateway.reloader.state.result, 'refused');
  t.match(log.join(''), /no master key is configured/);
  t.equal((await send(gateway.url, 'GET', '/v1/models', undefined, { authorization: '' })).status, 401);
  await rewrite(OPEN);
  t.equal(gateway.reloader.state.result, 'applied', 'the operator may say so');
  t.equal((await send(gateway.url, 'GET', '/v1/models', undefined, { authorization: '' })).status, 200);
  await rewrite(KEYED);
  t.equal((await send(gateway.url, 'GET', '/v1/models', undefined, { authorization: '' })).status, 401);
});

t.test('a reload may take it away on loopback', async (t) => {
  const { gateway, rewrite } = await start(t, KEYED, '127.0.0.1');
  await rewrite(MODELS);
  t.equal(gateway.reloader.state.result, 'applied');
  t.equal((await send(gateway.url, 'GET', '/v1/models', undefined, { authorization: '' })).status, 200);
});
