// A session between two sockets of its own. What it does with frames is shown from the outside: test/e2e/realtime.test.ts.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Deadlines } from '../../../../proxy/relay/deadlines.ts';
import { RealtimeSession } from '../../../../proxy/relay/realtime/session.ts';

/** Both ends of a connection. */
async function pair(t: Test): Promise<{ near: Socket; far: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [near] = (await once(server, 'connection')) as [Socket];
  far.on('error', () => undefined);
  far.resume();
  t.teardown(() => {
    far.destroy();
    near.destroy();
    server.close();
  });
  return { near, far };
}

t.test('a bug in asking who may go on ends the session, and tells both sides', async (t) => {
  let now = 0;
  const deadlines = new Deadlines(() => now);
  const [client, upstream] = [await pair(t), await pair(t)];
  const rules = {
    apiBase: 'http://upstream',
    idleMs: 0,
    longestMs: 0,
    mostMessageBytes: 1_000,
    allowsModel: () => true,
    refusal: () => {
      throw new TypeError('a bug');
    },
    refusalAfter: () => null,
  };
  const session = new RealtimeSession(client.near, upstream.near, rules, deadlines, () => now);
  session.start(Buffer.alloc(0));
  const closed = Promise.all([once(client.far, 'end'), once(upstream.far, 'end')]);
  now = 600;
  t.match(await session.ended, { end: 'stopped', fault: { code: 'internal_error' } });
  await closed;
  t.equal(deadlines.size, 0);
});
