// Addresses are checked where they are connected to: a name that changes its address after it was checked (DNS rebinding)
// reaches nothing, and connections of others are not borrowed.
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { systemClock } from '../../../proxy/base/clock.ts';
import { failureOf } from '../../../proxy/upstream/failures.ts';
import type { ProxySettings } from '../../../proxy/upstream/http-proxies.ts';
import { readProxySettings } from '../../../proxy/upstream/http-proxies.ts';
import type { Pool } from '../../../proxy/upstream/pool.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
import { safeLookup } from '../../../proxy/upstream/safe-lookup.ts';
import { startUpstream } from '../../support/call.ts';

function call(pool: Pool, connection = 'close'): Promise<number> {
  return new Promise((resolve, reject) => {
    let status = 0;
    const request = { method: 'GET', path: '/', headers: ['connection', connection], body: null };
    pool.send(request, {
      onSent: () => undefined,
      onHead: (head) => (status = head.status),
      onData: () => undefined,
      onEnd: () => resolve(status),
      onError: reject,
    });
  });
}

/** Answers with one list of addresses after the other; the last one stays. */
function dns(...answers: (readonly string[])[]): LookupFunction & { asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, options, callback) => {
    asked.push(hostname);
    const list = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    const found: LookupAddress[] = list.map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }));
    if (options.all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };
  return Object.assign(lookup, { asked });
}

function pools(t: Test, lookup?: LookupFunction, proxies?: ProxySettings): Pools {
  const made = new Pools(systemClock.mono, proxies, lookup);
  t.teardown(() => made.destroy());
  return made;
}

const checked = (origin: string) => ({ origin, allowH2: false, refuseLinkLocal: true });

async function portOf(t: Test): Promise<string> {
  return new URL(await startUpstream(t, ({ res }) => res.end('{}'))).port;
}

t.test('a name that is rebound to a link-local address is not reached', async (t) => {
  const port = await portOf(t);
  const lookup = dns(['127.0.0.1'], ['169.254.169.254']);
  const pool = pools(t, lookup).acquire(checked(`http://gateway.test:${port}`));
  t.equal(await call(pool), 200, 'an address that is allowed');
  const error: unknown = await call(pool).catch((thrown: unknown) => thrown);
  t.match(error, { code: 'ERR_ADDRESS_REFUSED' });
  const fault = failureOf(error, 'http://gateway.test');
  t.match(fault, { code: 'upstream_unreachable', message: /link-local or metadata address.*runtime_models/ });
  t.notMatch(fault.message, /169\.254/, 'what the name resolves to is not told');
  t.strictSame(lookup.asked, ['gateway.test', 'gateway.test'], 'asked once for each connection');
});

t.test('one bad address among good ones is enough, of either family', async (t) => {
  const port = await portOf(t);
  for (const list of [
    ['127.0.0.1', '169.254.169.254'],
    ['::1', 'fe80::1'],
    ['fd00:ec2::254', '127.0.0.1'],
    ['::ffff:169.254.169.254'],
    ['100.100.100.200'],
  ]) {
    const pool = pools(t, dns(list)).acquire(checked(`http://gateway.test:${port}`));
    await t.rejects(call(pool), { code: 'ERR_ADDRESS_REFUSED' }, list.join());
  }
});

t.test('addresses in URLs are checked too; loopback and private ones are where gateways live', async (t) => {
  const port = await portOf(t);
  const all = pools(t, dns([]));
  for (const host of ['169.254.169.254', '[::ffff:a9fe:a9fe]', '[fe80::1]', '0xa9fea9fe'])
    for (const scheme of ['http', 'https']) {
      const { origin } = new URL(`${scheme}://${host}:${port}`);
      const error: unknown = await call(all.acquire(checked(origin))).catch((thrown: unknown) => thrown);
      t.match(error, { code: 'ERR_ADDRESS_REFUSED' }, origin);
    }
  t.equal(await call(all.acquire(checked(`http://127.0.0.1:${port}`))), 200);
});

t.test('TLS and HTTP/2 resolve by the same check', async (t) => {
  const all = pools(t, dns(['169.254.169.254']));
  for (const allowH2 of [false, true]) {
    const pool = all.acquire({ origin: 'https://gateway.test', allowH2, refuseLinkLocal: true });
    await t.rejects(call(pool), { code: 'ERR_ADDRESS_REFUSED' });
  }
});

t.test('pools that check share no connection with those that do not', async (t) => {
  const port = await portOf(t);
  const origin = `http://localhost:${port}`;
  const all = pools(t, dns(['169.254.169.254']));
  const free = all.acquire({ origin, allowH2: false });
  t.equal(await call(free, 'keep-alive'), 200, 'resolved by Node');
  const strict = all.acquire(checked(origin));
  t.not(strict, free);
  await t.rejects(call(strict), { code: 'ERR_ADDRESS_REFUSED' });
  all.release(checked(origin));
  t.equal(all.size, 1);
});

t.test(
  'through a forward proxy the proxy resolves: addresses as written are checked, names are its own',
  async (t) => {
    const proxy = await startUpstream(t, ({ res }) => res.end('through'));
    const settings = readProxySettings({ http_proxy: proxy });
    const lookup = dns(['169.254.169.254']);
    const all = pools(t, lookup, settings);
    t.equal(await call(all.acquire(checked('http://gateway.test'))), 200);
    t.strictSame(lookup.asked, []);
    await t.rejects(call(all.acquire(checked('http://169.254.169.254'))), { code: 'ERR_ADDRESS_REFUSED' });
  },
);

t.test('an error of DNS is passed on', async (t) => {
  const failing: LookupFunction = (_, __, callback) =>
    callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []);
  const pool = pools(t, failing).acquire(checked('http://gateway.test'));
  await t.rejects(call(pool), { code: 'ENOTFOUND' });
  safeLookup(dns(['127.0.0.1']))('x', {}, (error, address, family) => {
    t.strictSame([error, address, family], [null, '127.0.0.1', 4], 'one address, where one is asked for');
  });
});
