// What a server had reserved in Valkey when it was killed: a call that it had not begun in its journal, and one that it had. The next
// process on its data directory undoes the first and counts the second as interrupted.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { RESERVE_CALLS } from '../../proxy/access/valkey/scripts.ts';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, serveCli } from '../support/cli.ts';
import { KEY, send } from '../support/rig.ts';
import { ownValkey, type ValkeyServer } from '../support/valkey.ts';

const BODY = { model: 'demo-hold', max_tokens: 10, messages: [{ role: 'user', content: 'one two three' }] };

const MOST_TRIES = 20;
const MOST_LOOKS = 1_000;

/** Between a proxy and Valkey. Kills the proxy before it passes on what the next call reserves, once it is told to. */
async function relayTo(t: Test, port: number) {
  let kill: (() => void) | null = null;
  const reserving = Promise.withResolvers<boolean>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream])
      sockets.add(socket.on('error', () => undefined).on('close', () => socket.destroy()));
    client.on('data', (data: Buffer) => {
      if (data.includes(RESERVE_CALLS.sha1)) kill?.();
      upstream.write(data);
    });
    upstream.on('data', (data: Buffer) => {
      if (kill !== null && RESERVE_ANSWER.test(String(data))) reserving.resolve(data.includes('reserved'));
      client.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    killWhenReserving: (wanted: () => void) => (kill = wanted),
    /** Whether Valkey reserved what the killed proxy had asked for. */
    reserved: reserving.promise,
  };
}

const RESERVE_ANSWER = /reserved|unseeded|NOSCRIPT/;

const picoOf = ([lo, hi]: readonly (string | null)[]): bigint =>
  BigInt(hi ?? 0) * 10n ** 15n + BigInt(lo ?? 0);

/** The counter of the one budget. */
async function counted(valkey: ValkeyServer): Promise<{ spent: bigint; reserved: bigint }> {
  const [counter = ''] = (await valkey.ask('KEYS', '*:c:*')) as string[];
  const values = (await valkey.ask('HMGET', counter, 's', 'S', 'r', 'R')) as (string | null)[];
  return { spent: picoOf(values.slice(0, 2)), reserved: picoOf(values.slice(2)) };
}

/**
 * Plays it once. @returns false where it came otherwise: on a full machine Valkey answers too late now and then. Then the first
 * call is counted here, so that the second one finds nothing prepared there, or the second one goes upstream before it is there.
 */
async function played(t: Test): Promise<boolean> {
  const valkey = await ownValkey(t);
  if (valkey === null) return true;
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const relay = await relayTo(t, valkey.port);
  const dir = folder(t);
  const configFor = (port: number): string => {
    const path = join(dir, `${port}.yaml`);
    writeFileSync(
      path,
      `
model_list:
  - model_name: demo-hold
    litellm_params: { model: openai/acme/demo-hold, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
general_settings: { master_key: ${KEY} }
litellm_settings: { max_budget: 1 }
router_settings: { num_retries: 0, redis_host: 127.0.0.1, redis_port: ${port} }
`,
    );
    return path;
  };
  const first = await serveCli(t, configFor(relay.port), join(dir, 'data'));
  let calls = 0;
  const call = (): Promise<unknown> => {
    calls += 1;
    return send(first.url, 'POST', '/v1/chat/completions', BODY).catch(() => undefined);
  };
  while (demo.seen.length === 0) await Promise.race([call(), demo.waitFor(1)]);
  for (let looks = 0; (await counted(valkey)).reserved === 0n; looks += 1) {
    if (looks === MOST_LOOKS) return false;
    await pause(5);
  }

  // The second one is reserved when its process is dead.
  let isKilled = false;
  relay.killWhenReserving(() => {
    first.kill('SIGKILL');
    isKilled = true;
  });
  while (!isKilled) {
    void call();
    for (let waits = 0; waits < 100 && !isKilled; waits += 1) await pause(10);
  }
  await first.ended;
  if (!(await relay.reserved)) return false;

  const second = await serveCli(t, configFor(valkey.port), join(dir, 'data'));
  // Half a minute later, as the server's clock would have it.
  const [servers = ''] = (await valkey.ask('KEYS', '*:servers')) as string[];
  const [former = ''] = (await valkey.ask('ZRANGE', servers, '0', '0')) as string[];
  await valkey.ask('ZADD', servers, 'XX', String(Date.now() - 60_000), former);
  while ((await counted(valkey)).reserved > 0n) await pause(20);
  const { text } = await send(second.url, 'GET', '/spend/logs');
  const rows = JSON.parse(text) as readonly { readonly spend: number; readonly status: string }[];
  const spent = rows.reduce((sum, { spend }) => sum + BigInt(Math.round(spend * 1e12)), 0n);
  // What was counted here is told there a moment later.
  while ((await counted(valkey)).spent < spent) await pause(20);
  t.same(await counted(valkey), { spent, reserved: 0n });
  return rows.length === calls - 1; // the last call has none
}

t.test('what a killed server had reserved is what its journal knows of', async (t) => {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    let isPlayed = false;
    await t.test('', async (t) => {
      isPlayed = await played(t);
    });
    if (isPlayed) return;
  }
  t.fail(`the last call had a row, or nothing reserved, ${MOST_TRIES} times`);
});
