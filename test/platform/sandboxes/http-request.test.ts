// A request to a runtime ends, whatever the runtime answers: who waits for it holds the watch over all sandboxes.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { healthOf, requestBytes } from '../../../platform/sandboxes/http-request.ts';

/** Answers each connection with this text. */
async function answering(t: Test, text: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(text));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const LIES = {
  'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  'another protocol, unnamed': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'a status of zeros': 'HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n',
  'a status that is none': 'HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n',
  'an end at once': '',
  'no HTTP': 'garbage\r\n\r\n',
  'half a head': 'HTTP/1.1 200 OK\r\nContent-',
  'half a body': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{',
  'an interim response alone': 'HTTP/1.1 103 Early Hints\r\n\r\n',
};

t.test('a health check of a runtime that answers no HTTP response fails', async (t) => {
  for (const [name, text] of Object.entries(LIES)) {
    const url = await answering(t, text);
    t.equal(await healthOf(url, '/alive', 60_000), 'failing', name);
    await t.rejects(requestBytes({ to: url, method: 'GET', path: '/', timeoutMs: 60_000 }), name);
  }
});

t.test('a response is read as a whole', async (t) => {
  const url = await answering(t, 'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nConnection: close\r\n\r\nhello');
  const { status, contentType, bytes } = await requestBytes({
    to: url,
    method: 'GET',
    path: '/',
    timeoutMs: 60_000,
  });
  t.same([status, contentType, bytes.toString()], [200, 'a/b', 'hello']);
});
