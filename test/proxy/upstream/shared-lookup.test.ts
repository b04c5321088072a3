// Names are looked up once for all connections that wait for them, and again for those that come later.
import type { LookupFunction } from 'node:net';
import t from 'tap';
import { systemClock } from '../../../proxy/base/clock.ts';
import type { Pool } from '../../../proxy/upstream/pool.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
import { sharedLookup } from '../../../proxy/upstream/shared-lookup.ts';
import { startUpstream } from '../../support/call.ts';

function statusOf(pool: Pool): Promise<number> {
  return new Promise((resolve, reject) => {
    let status = 0;
    const request = { method: 'GET', path: '/', headers: ['connection', 'close'], body: null };
    pool.send(request, {
      onSent: () => undefined,
      onHead: (head) => (status = head.status),
      onData: () => undefined,
      onEnd: () => resolve(status),
      onError: reject,
    });
  });
}

t.test('connections that wait for one name occupy one look-up, whatever its end', async (t) => {
  const { port } = new URL(await startUpstream(t, ({ res }) => void res.end('{}')));
  const asked: Parameters<LookupFunction>[2][] = [];
  const pools = new Pools(
    systemClock.mono,
    undefined,
    (_name, _options, callback) => void asked.push(callback),
  );
  t.teardown(() => pools.destroy());
  const pool = pools.acquire({
    origin: `http://gateway.test:${port}`,
    allowH2: false,
    refuseLinkLocal: true,
  });
  const first = Array.from({ length: 20 }, () => statusOf(pool));
  t.equal(asked.length, 1);
  asked[0]?.(Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' }), []);
  const ends = await Promise.allSettled(first);
  t.ok(ends.every((end) => end.status === 'rejected'));
  const second = Array.from({ length: 20 }, () => statusOf(pool));
  t.equal(asked.length, 2, 'the next one asks again');
  asked[1]?.(null, [{ address: '127.0.0.1', family: 4 }]);
  t.same(new Set(await Promise.all(second)), new Set([200]));
});

t.test('questions that differ are asked on their own', (t) => {
  const asked: string[] = [];
  const lookup = sharedLookup((name, options) => void asked.push(`${name} ${options.family}`));
  for (const family of [4, 6, 4])
    for (const name of ['a.test', 'b.test']) lookup(name, { family }, () => undefined);
  t.same(asked, ['a.test 4', 'b.test 4', 'a.test 6', 'b.test 6']);
  t.end();
});
