// IPv6 on loopback: listening on ::1 and ::, an upstream at [::1], with TLS for the address.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { selfSigned } from '../support/certificate.ts';
import { folder } from '../support/cli.ts';
import { startRig } from '../support/rig.ts';

const HAS_IPV6 = Object.values(networkInterfaces()).some((some) =>
  some?.some(({ address }) => address === '::1'),
);

for (const host of ['::1', '::'])
  t.test(`listening on ${host}`, { skip: HAS_IPV6 ? false : 'this machine has no ::1' }, async (t) => {
    const dir = folder(t);
    const own = selfSigned(['IP:::1']);
    writeFileSync(join(dir, 'ca.pem'), own.cert);
    const peers: (string | undefined)[] = [];
    const gateway = createServer(own, (req, res) => {
      peers.push(req.socket.remoteAddress);
      req.resume().on('end', () => res.end('{"choices":[],"usage":{}}'));
    });
    gateway.listen(0, '::1');
    await once(gateway, 'listening');
    t.teardown(() => {
      gateway.closeAllConnections();
      gateway.close();
    });
    const base = `https://[::1]:${(gateway.address() as AddressInfo).port}/v1`;
    const config = (): string =>
      `model_list:\n  - model_name: a\n    litellm_params: { model: openai/m, api_base: "${base}", ssl_verify: ca.pem }\n` +
      `general_settings: { master_key: sk-master }\n`;
    const { url } = await startRig(t, { config, folder: dir, host });
    t.match(url, /^http:\/\/\[::1\]:\d+$/);
    const call = async (to: string): Promise<number> => {
      const response = await fetch(`${to}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-master', 'content-type': 'application/json' },
        body: '{"model":"a","messages":[]}',
      });
      await response.text();
      return response.status;
    };
    t.equal(await call(url), 200, 'the host header names [::1]');
    if (host === '::') t.equal(await call(url.replace('[::1]', '127.0.0.1')), 200, 'both families');
    t.ok(peers.every((peer) => peer === '::1'));
  });
