// All sockets read into one memory: what is taken in time is whole and its own, and the server does not wait for them.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import t from 'tap';
import { ReadMemory } from '../../../proxy/http/reading.ts';

t.test(
  'sockets that share the memory each get their own bytes, in one memory that is used again',
  async (t) => {
    const memory = new ReadMemory();
    const got = new Map<number, Buffer[]>();
    const homes = new Set<ArrayBufferLike>();
    const ended: Promise<unknown>[] = [];
    const server = createServer({ pauseOnConnect: true }, (accepted) => {
      const port = accepted.remotePort as number;
      const chunks: Buffer[] = [];
      got.set(port, chunks);
      const socket: Socket = memory.adopt(accepted, (bytes) => {
        homes.add(bytes.buffer);
        chunks.push(Buffer.from(bytes));
      });
      ended.push(once(socket, 'end'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const clients = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'));
    await Promise.all(clients.map((client) => once(client, 'connect')));
    const sent = clients.map((client, n) => {
      const bytes = Buffer.alloc(1_000_000 + n, n + 1);
      client.end(bytes);
      return [client.localPort as number, bytes] as const;
    });
    while (ended.length < clients.length) await once(server, 'connection');
    await Promise.all(ended);
    for (const [from, bytes] of sent) t.ok(Buffer.concat(got.get(from) ?? []).equals(bytes));
    t.equal(homes.size, 1);
    server.close();
  },
);

t.test('a server that is closed waits for no socket that was adopted', async (t) => {
  const memory = new ReadMemory();
  const taken = Promise.withResolvers<Buffer>();
  const server = createServer({ pauseOnConnect: true }, (accepted) => {
    const socket = memory.adopt(accepted, (bytes) => taken.resolve(Buffer.from(bytes)));
    server.close(() => socket.write('still here'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.equal(String((await once(client, 'data'))[0]), 'still here');
  client.write('me too');
  t.equal(String(await taken.promise), 'me too');
  client.destroy();
});

t.test('what is no socket of the system is read in the ordinary way', async (t) => {
  const [near, far] = duplexPair();
  const taken = Promise.withResolvers<string>();
  const stream = far as unknown as Socket;
  t.equal(
    new ReadMemory().adopt(stream, (bytes) => taken.resolve(bytes.toString())),
    stream,
  );
  near.write('hello');
  t.equal(await taken.promise, 'hello');
});
