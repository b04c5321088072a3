// A port's clocks, turned by hand, and its end: nobody waits for ever, and nothing that was answered is lost.
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { answer, Client, startPort, type Port } from './fixture/port.ts';

const MIB = 1024 * 1024;
const get = (target = '/'): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** Sends until the port has taken the request: on a busy machine even a whole head may be too late for a short clock. */
async function taken(t: Test, port: Port, bytes: string): Promise<Client> {
  const before = port.requests.length;
  for (;;) {
    const client = new Client(t, port).send(bytes);
    while (port.requests.length === before && !client.socket.destroyed) await new Promise(setImmediate);
    if (port.requests.length > before) return client;
  }
}

t.test('a head that does not come is answered, an idle connection is closed without a word', async (t) => {
  const port = await startPort(t, (_, response) => answer(response), { headersMs: 50 });
  const never = new Client(t, port);
  let slow: Client;
  let end: string;
  do {
    slow = new Client(t, port).send('GET / HT');
    end = await slow.closed;
  } while (slow.text === ''); // on a busy machine its first byte may be too late as well: then it was idle
  t.equal(end, 'ended');
  t.match(slow.text, /^HTTP\/1\.1 400 Refused[^]*body_timeout$/);
  await never.closed;
  t.equal(never.text, '');
  const other = await startPort(t, (_, response) => answer(response), { keepAliveMs: 50 });
  const idle = new Client(t, other).send(get());
  t.equal(await idle.closed, 'ended');
  t.same(idle.statuses, [200]);
});

t.test('a head that drips in does not stretch its time', async (t) => {
  const port = await startPort(t, (_, response) => answer(response), { headersMs: 200 });
  let client: Client;
  do {
    client = new Client(t, port).send('GET / HTTP/1.1\r\nHost: a\r\nX: ');
    const drip = setInterval(() => client.send('x'), 5);
    await client.closed;
    clearInterval(drip);
  } while (client.text === ''); // as above
  t.match(client.text, /body_timeout$/);
  t.same(port.requests, []);
});

t.test('a body that does not come in time is refused; an answer may take longer', async (t) => {
  const gate = Promise.withResolvers<void>();
  const port = await startPort(
    t,
    async (request, response) => {
      try {
        await request.read(100);
      } catch (error) {
        answer(response, (error as { code: string }).code, 408);
        return;
      }
      await gate.promise;
      answer(response, 'late');
    },
    { headersMs: 100, requestMs: 100 },
  );
  const whole = await taken(t, port, get());
  const half = await taken(t, port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab');
  t.equal(await half.closed, 'ended');
  t.match(half.text, /^HTTP\/1\.1 408 [^]*connection: close\r\n[^]*\r\n\r\nbody_timeout$/);
  gate.resolve();
  await whole.until('late');
  await port.quiet();
});

t.test('a refused body that never comes is not waited for', async (t) => {
  const port = await startPort(t, (_, response) => answer(response, 'no', 400), {
    discardMs: 50,
    lingerMs: 50,
  });
  const client = new Client(t, port).send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab');
  await client.until('no');
  t.equal(await client.closed, 'ended', 'the answer is read before the end');
  t.same(client.statuses, [400]);
  await port.quiet();
});

t.test('a client that takes no byte of the end of its answer is let go', async (t) => {
  const port = await startPort(t, (_, response) => answer(response, 'x'.repeat(40 * MIB)), { stallMs: 200 });
  const client = new Client(t, port).send(get());
  client.socket.pause();
  await once(client.socket, 'connect');
  while (port.requests.length === 0) await new Promise(setImmediate);
  await port.quiet();
  client.socket.resume();
  await client.closed;
  t.ok(client.text.length < 40 * MIB);
});

t.test('connections beyond the bound are closed as they come, and counted', async (t) => {
  const port = await startPort(t, (_, response) => answer(response));
  port.limits.connections = 2;
  const first = new Client(t, port).send(get());
  await first.until('ok');
  const second = new Client(t, port).send(get());
  await second.until('ok');
  const third = new Client(t, port).send(get());
  await third.closed;
  t.equal(third.text, '');
  t.equal(port.turnedAway(), 1);
  first.socket.destroy();
  await first.closed;
  await new Client(t, port).send(get()).until('ok');
});

t.test('a connection ends with so many requests, and says so with the last', async (t) => {
  const port = await startPort(t, (_, response) => answer(response));
  port.limits.requestsPerConnection = 3;
  const client = new Client(t, port).send(get().repeat(5));
  t.equal(await client.closed, 'ended');
  t.same(client.statuses, [200, 200, 200]);
  t.equal(client.text.match(/connection: close/gi)?.length, 1);
  t.equal(port.requests.length, 3);
  await port.quiet();
});

t.test('more headers than are collected are refused while they come: none is lost unseen', async (t) => {
  const port = await startPort(t, (request, response) =>
    answer(response, String(request.headers.length / 2)),
  );
  const many = (count: number): string => `GET / HTTP/1.1\r\nHost: a\r\n${'a: b\r\n'.repeat(count - 1)}`;
  const whole = new Client(t, port).send(`${many(1_000)}\r\n`);
  await whole.until(/\r\n\r\n1000$/);
  const unfinished = new Client(t, port).send(many(1_001));
  t.equal(await unfinished.closed, 'ended');
  t.match(unfinished.text, /too_many_headers$/);
  t.equal(port.requests.length, 1);
});

t.test('a drain closes what is idle, lets what runs end, and cuts no answer short', async (t) => {
  const gate = Promise.withResolvers<void>();
  const port = await startPort(t, async (request, response) => {
    if (request.target === '/gate') await gate.promise;
    answer(response, request.target === '/large' ? 'x'.repeat(30 * MIB) : 'ok');
  });
  const idle = new Client(t, port).send(get());
  await idle.until('ok');
  const runs = new Client(t, port).send(get('/gate'));
  const refused = new Client(t, port).send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab');
  await refused.until('ok');
  const large = new Client(t, port).send(get('/large'));
  await large.until('\r\n\r\n');
  large.socket.pause();
  port.drain();
  t.equal(await idle.closed, 'ended');
  t.equal(await refused.closed, 'ended');
  gate.resolve();
  t.equal(await runs.closed, 'ended');
  t.match(runs.text, /connection: close\r\n[^]*\r\n\r\nok$/);
  large.socket.resume();
  t.equal(await large.closed, 'ended');
  t.equal(large.text.length - large.text.indexOf('\r\n\r\n') - 4, 30 * MIB);
  await port.quiet();
  const late = new Client(t, port);
  t.equal(await late.closed, 'reset', 'nobody listens any more');
});

t.test('a request that is half here when the drain begins is served, and is the last', async (t) => {
  const port = await startPort(t, (_, response) => answer(response));
  const client = new Client(t, port).send('GET / HTTP/1.1\r\nHo');
  await new Client(t, port).send(get()).until('ok');
  port.drain();
  client.send('st: a\r\n\r\n');
  t.equal(await client.closed, 'ended');
  t.match(client.text, /connection: close\r\n[^]*\r\n\r\nok$/);
  await port.quiet();
});

t.test('a cut ends everything, and every exchange still settles', async (t) => {
  let left = 0;
  const port = await startPort(t, (request, response) => {
    response.watcher = { onClose: () => (left += 1), onDrain: () => undefined, onInterrupt: () => undefined };
    if (request.target === '/begun') {
      response.writeHead(200, []);
      response.write(Buffer.from('begun'));
    }
  });
  const clients = ['/begun', '/begun', '/wait'].map((target) => new Client(t, port).send(get(target)));
  await clients[0]?.until('begun');
  await clients[1]?.until('begun');
  await new Promise<void>((resolve) => {
    const look = (): void => (port.requests.length === 3 ? resolve() : void setImmediate(look));
    look();
  });
  port.server.close();
  await Promise.all(clients.map(({ closed }) => closed));
  await port.quiet();
  t.equal(left, 3);
});

t.test("an address that is in use is the caller's to hear of", async (t) => {
  const port = await startPort(t, (_, response) => answer(response));
  const other = await startPort(t, (_, response) => answer(response));
  await t.rejects(other.server.listen({ host: '127.0.0.1', port: port.number }), {
    code: /EADDRINUSE|ERR_SERVER_ALREADY_LISTEN/,
  });
});
