// Bodies as they come: whole, bounded, in memory that is one request's alone while anybody reads it.
import { once } from 'node:events';
import fc from 'fast-check';
import t from 'tap';
import type { DownstreamRequest } from '../../../proxy/downstream/downstream-request.ts';
import { answer, Client, startPort } from '../server/fixture/port.ts';

const post = (...lines: string[]): string => ['POST / HTTP/1.1', 'Host: a', ...lines, '', ''].join('\r\n');
const framed = (body: Buffer, isChunked: boolean): Buffer[] => {
  if (!isChunked) return [Buffer.from(post(`Content-Length: ${body.length}`)), body];
  const chunks = [body.subarray(0, 7), body.subarray(7)].filter(({ length }) => length > 0);
  return [
    Buffer.from(post('Transfer-Encoding: chunked')),
    ...chunks.flatMap((data) => [Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ];
};

const body = fc.uint8Array({ maxLength: 200_000, size: 'max' }).map((bytes) => Buffer.from(bytes));
const cuts = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 20 });

t.test('a body is what was sent, however it was framed and cut', async (t) => {
  const got: Buffer[] = [];
  const port = await startPort(t, async (request, response) => {
    got.push(Buffer.from(await request.read(300_000)));
    request.release();
    answer(response);
  });
  const client = new Client(t, port);
  await fc.assert(
    fc.asyncProperty(body, fc.boolean(), cuts, async (bytes, isChunked, sizes) => {
      client.text = '';
      let wire = Buffer.concat(framed(bytes, isChunked));
      for (const size of sizes) {
        client.send(wire.subarray(0, size));
        wire = wire.subarray(size);
        await new Promise(setImmediate);
      }
      client.send(wire);
      await client.until('ok');
      return got.pop()?.equals(bytes) === true;
    }),
    { numRuns: 40 },
  );
  t.ok(port.requests.every(({ complete, outstanding }) => complete && outstanding === 0));
});

t.test(
  'a body over the limit is refused: at once when it says so, else at the byte that exceeds it',
  async (t) => {
    const port = await startPort(t, async (request, response) => {
      await request.read(10).catch((error: { code: string }) => answer(response, error.code, 413));
    });
    const said = new Client(t, port).send(post('Content-Length: 11'));
    await said.until('body_too_large');
    const client = new Client(t, port).send(`${post('Transfer-Encoding: chunked')}a\r\n1234567890\r\n`);
    while (port.requests[1]?.received !== 10) await new Promise(setImmediate);
    t.equal(client.text, '');
    client.send('1\r\n1\r\n');
    await client.until('body_too_large');
    client.text = '';
    client.send(`0\r\n\r\n${post('Content-Length: 0')}`);
    while (port.requests.length < 3) await new Promise(setImmediate);
    t.ok(port.requests[1]?.complete, 'the rest is still read, to find its end');
  },
);

t.test('memory goes to the next body only when it was given back, and only once', async (t) => {
  const bodies: Buffer[] = [];
  const port = await startPort(t, async (request, response) => {
    bodies.push(await request.read(1_000_000));
    answer(response);
  });
  const send = async (fill: string): Promise<{ request: DownstreamRequest; got: Buffer }> => {
    const client = new Client(t, port).send(post('Content-Length: 200000') + fill.repeat(200_000));
    await client.until('ok');
    return { request: port.requests.at(-1) as DownstreamRequest, got: bodies.at(-1) as Buffer };
  };
  const first = await send('a');
  const second = await send('b');
  t.not(first.got.buffer, second.got.buffer);
  first.request.release();
  first.request.release();
  const third = await send('c');
  const fourth = await send('d');
  t.equal(third.got.buffer, first.got.buffer, 'used again');
  t.not(fourth.got.buffer, first.got.buffer, 'by one only');
  t.ok(second.got.every((byte) => byte === 98));
});

t.test('what is still being filled is not given back', async (t) => {
  const bodies: Buffer[] = [];
  const port = await startPort(t, async (request, response) => {
    bodies.push(await request.read(1_000_000));
    answer(response);
  });
  const half = new Client(t, port).send(post('Content-Length: 200000') + 'e'.repeat(100_000));
  while ((port.requests[0]?.received ?? 0) < 100_000) await new Promise(setImmediate);
  port.requests[0]?.release();
  await new Client(t, port).send(post('Content-Length: 200000') + 'f'.repeat(200_000)).until('ok');
  half.send('e'.repeat(100_000));
  await half.until('ok');
  t.same(
    bodies.map((one) => one.every((byte) => byte === one[0])),
    [true, true],
  );
});

t.test('what a client expects before it sends its body', async (t) => {
  const port = await startPort(t, (request, response) => answer(response, request.expectation));
  const table: readonly [version: string, lines: readonly string[], expectation: string][] = [
    ['1.1', [], 'none'],
    ['1.1', ['Expect: 100-CONTINUE'], 'continue'],
    ['1.1', ['Expect: 100-continue', 'Expect: 100-continue'], 'unknown'],
    ['1.1', ['Expect: y 100-continue'], 'unknown'],
    ['1.1', ['Expect: 200-ok'], 'unknown'],
    ['1.1', ['Expect:'], 'unknown'],
    ['1.0', ['Expect: 100-continue'], 'continue'],
    ['1.0', ['Expect: x'], 'unknown'],
  ];
  for (const [version, lines, expectation] of table) {
    const client = new Client(t, port).send(post(...lines, 'Connection: close').replace('1.1', version));
    await client.closed;
    t.match(client.text, new RegExp(`\\r\\n\\r\\n${expectation}$`), `${version} ${lines.join(', ')}`);
  }
});

t.test('of two headers of a name the first is read; an absent one is null', async (t) => {
  const port = await startPort(t, (request, response) =>
    answer(response, `${request.header('x-a')} ${request.header('x-b')} ${request.clientAddress}`),
  );
  const client = new Client(t, port).send(post('X-A: 1', 'x-a: 2'));
  await once(client.socket, 'data');
  await client.until(/\r\n\r\n1 null 127\.0\.0\.1$/);
});
