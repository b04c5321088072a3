// Through a real forward proxy (tinyproxy): plain HTTP and CONNECT, with credentials, refused by the proxy, past it by
// NO_PROXY. What the proxy refuses is told as its fault, not as the gateway's.
import { once } from 'node:events';
import { createServer as createPlainServer, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { selfSigned } from '../support/certificate.ts';
import { folder } from '../support/cli.ts';
import { chat, KEY, startRig, type Rig } from '../support/rig.ts';
import { startTinyproxy, WITHOUT_TINYPROXY } from '../support/tinyproxy.ts';

interface Gateways {
  readonly plain: string;
  readonly secure: string;
  readonly ca: string;
  readonly seen: readonly string[];
  /** Answers every call with this status. */
  refuse(status: number): void;
}

async function startGateways(t: Test): Promise<Gateways> {
  const dir = folder(t);
  const own = selfSigned();
  const ca = join(dir, 'ca.pem');
  writeFileSync(ca, own.cert);
  const seen: string[] = [];
  let status = 200;
  const start = async (server: Server): Promise<number> => {
    server.on('request', (req, res) => {
      seen.push(String(req.url));
      req.resume().on('end', () => {
        res.writeHead(status, { 'content-type': 'application/json' });
        res.end(status === 200 ? '{"choices":[],"usage":{}}' : '{"error":{"message":"the gateway says no"}}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  };
  return {
    plain: `http://localhost:${await start(createPlainServer())}/v1`,
    secure: `https://localhost:${await start(createServer(own))}/v1`,
    ca,
    seen,
    refuse: (next) => (status = next),
  };
}

function rigOf(
  t: Test,
  { plain, secure, ca }: Gateways,
  env: Readonly<Record<string, string>>,
): Promise<Rig> {
  return startRig(t, {
    env,
    config: () => `model_list:
  - { model_name: plain, litellm_params: { model: openai/m, api_base: "${plain}", api_key: sk-gateway } }
  - { model_name: secure, litellm_params: { model: openai/m, api_base: "${secure}", ssl_verify: "${ca}" } }
general_settings: { master_key: ${KEY} }
router_settings: { num_retries: 0, allowed_fails: 1000 }
`,
  });
}

const MODELS = ['plain', 'secure'];

t.test('HTTP and CONNECT, and past it by NO_PROXY', { skip: WITHOUT_TINYPROXY }, async (t) => {
  const gateways = await startGateways(t);
  const forward = await startTinyproxy(t);
  const at = `http://127.0.0.1:${forward.port}`;
  const rig = await rigOf(t, gateways, { HTTP_PROXY: at, HTTPS_PROXY: at });
  for (const model of [...MODELS, ...MODELS]) t.match(await chat(rig, model), { status: 200 }, model);
  const [plain, secure] = [gateways.plain, new URL(gateways.secure).host];
  t.ok(forward.requests().some((text) => text.startsWith(`POST ${plain}/chat/completions`)));
  t.equal(
    forward.requests().filter((text) => text.startsWith(`CONNECT ${secure}`)).length,
    1,
    'the tunnel is used again',
  );
  gateways.refuse(403);
  for (const model of MODELS)
    t.match(await chat(rig, model), { status: 403, text: /the gateway says no/ }, model);
  gateways.refuse(200);
  const before = forward.requests().length;
  const past = await rigOf(t, gateways, { HTTP_PROXY: at, HTTPS_PROXY: at, NO_PROXY: 'localhost' });
  for (const model of MODELS) t.match(await chat(past, model), { status: 200 }, model);
  t.equal(forward.requests().length, before);
});

t.test(
  'with credentials; without them or with wrong ones the proxy is named',
  { skip: WITHOUT_TINYPROXY },
  async (t) => {
    const gateways = await startGateways(t);
    const forward = await startTinyproxy(t, ['BasicAuth user hunter2']);
    const through = (credential: string): Promise<Rig> => {
      const at = `http://${credential}127.0.0.1:${forward.port}`;
      return rigOf(t, gateways, { http_proxy: at, https_proxy: at });
    };
    const right = await through('user:hunter2@');
    for (const model of MODELS) t.match(await chat(right, model), { status: 200 }, model);
    const before = gateways.seen.length;
    for (const credential of ['', 'user:wrong@']) {
      const rig = await through(credential);
      for (const model of MODELS) {
        const { status, text } = await chat(rig, model);
        t.equal(status, 503, model);
        t.match(text, /upstream_unreachable/);
        // tinyproxy answers wrong credentials with 401, as if it were an origin server.
        t.match(text, /the HTTP proxy answered 40[17] to (?:CONNECT|the request)/, `${credential}${model}`);
        t.notMatch(text, /hunter2|wrong/);
      }
    }
    t.equal(gateways.seen.length, before);
  },
);

t.test('an address that the proxy refuses', { skip: WITHOUT_TINYPROXY }, async (t) => {
  const gateways = await startGateways(t);
  const dir = folder(t);
  writeFileSync(join(dir, 'filter'), 'localhost\n');
  const forward = await startTinyproxy(t, [`Filter "${join(dir, 'filter')}"`]);
  const at = `http://127.0.0.1:${forward.port}`;
  const rig = await rigOf(t, gateways, { HTTP_PROXY: at, HTTPS_PROXY: at });
  for (const model of MODELS) {
    const { status, text } = await chat(rig, model);
    t.equal(status, 503, model);
    t.match(
      text,
      /the HTTP proxy answered 403 to .*have it allow this address, or name the host in NO_PROXY/,
    );
  }
  t.equal(gateways.seen.length, 0);
});
