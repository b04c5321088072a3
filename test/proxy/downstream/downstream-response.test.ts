// Answers on real sockets: their framing is their own, nothing gets into a head that could end it, slow clients are felt.
import t from 'tap';
import type { DownstreamResponse } from '../../../proxy/downstream/downstream-response.ts';
import { Client, startPort } from '../server/fixture/port.ts';

const MIB = 1024 * 1024;
const get = (version = '1.1', ...lines: string[]): string =>
  [`GET / HTTP/${version}`, 'Host: a', ...lines, '', ''].join('\r\n');
const close = 'Connection: close';

t.test('a body is framed by its length, else in chunks, else by the end of the connection', async (t) => {
  const port = await startPort(t, (_, response) => {
    response.writeHead(200, ['x-a', 'b']);
    response.flushHeaders();
    response.flushHeaders();
    response.write(Buffer.from('one'));
    response.write(Buffer.alloc(0));
    response.write(Buffer.alloc(20_000, 'x'));
    response.end(Buffer.from('end'));
    response.end(Buffer.from('never'));
  });
  const chunked = new Client(t, port).send(get('1.1', close));
  t.equal(await chunked.closed, 'ended');
  const [head = '', body] = chunked.text.split(/(?<=\r\n\r\n)([^]*)/);
  t.match(
    head,
    /^HTTP\/1\.1 200 OK\r\nx-a: b\r\nDate: [^\r]+ GMT\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n$/,
  );
  t.equal(body, `3\r\none\r\n4e20\r\n${'x'.repeat(20_000)}\r\n3\r\nend\r\n0\r\n\r\n`);
  const old = new Client(t, port).send(get('1.0', 'Connection: keep-alive'));
  t.equal(await old.closed, 'ended');
  t.match(old.text, /\r\nconnection: close\r\n/);
  t.notMatch(old.text, 'chunked');
  t.equal(old.text.split('\r\n\r\n')[1], `one${'x'.repeat(20_000)}end`);
  await port.quiet();
});

t.test('small answers in a length leave as they are; 204 and 304 have no body', async (t) => {
  const port = await startPort(t, (request, response) => {
    const status = Number(request.header('x-status'));
    response.writeHead(status, status === 200 ? ['content-length', '3'] : [], 'As You Like It');
    response.end(status === 200 ? Buffer.from('abc') : null);
  });
  const client = new Client(t, port);
  for (const status of [200, 204, 304]) client.send(get('1.1', `X-Status: ${status}`));
  client.send(get('1.1', 'X-Status: 200', close));
  await client.closed;
  t.same(client.statuses, [200, 204, 304, 200]);
  t.match(client.text, /^HTTP\/1\.1 200 As You Like It\r\n/);
  t.notMatch(client.text, 'chunked');
  t.equal(
    client.text
      .split('\r\n\r\n')
      .slice(1)
      .join('|')
      .replace(/HTTP[^|]*/g, '-'),
    'abc-|-|-|abc',
  );
  await port.quiet();
});

t.test('the date of an upstream stays, and is the only one', async (t) => {
  const port = await startPort(t, (_, response) => {
    response.writeHead(200, ['date', 'Sun, 06 Nov 1994 08:49:37 GMT', 'content-length', '0']);
    response.end();
  });
  const client = new Client(t, port).send(get('1.1', close));
  await client.closed;
  t.same(client.text.match(/^date: .*$/gim), ['date: Sun, 06 Nov 1994 08:49:37 GMT']);
  await port.quiet();
});

t.test('a value that could end its line is not sent; the answer can still be another one', async (t) => {
  const values = ['a\r\nx-evil: 1', 'a\nb', 'a\rb', '\0', '\x7f', '\u010d\u010ax-evil: 1', '\u2028'];
  let next = 0;
  const port = await startPort(t, (_, response) => {
    t.throws(() => response.writeHead(200, ['x-a', values[next++] ?? '']), {
      message: /Invalid character in header content \["x-a"\]/,
    });
    t.notOk(response.headersSent);
    response.writeHead(500, ['content-length', '0', 'x-a', '\t caf\xe9']);
    response.end();
  });
  const client = new Client(t, port);
  client.send(get().repeat(values.length - 1) + get('1.1', close));
  await client.closed;
  t.same(
    client.statuses,
    values.map(() => 500),
  );
  t.notMatch(client.text, /evil/);
  t.match(client.text, 'x-a: \t caf\xe9\r\n');
  await port.quiet();
});

t.test('an answer shorter than announced is broken off, a longer one is refused', async (t) => {
  const port = await startPort(t, (_, response) => {
    response.writeHead(200, ['content-length', '5']);
    t.throws(() => response.write(Buffer.from('123456')), RangeError);
    response.destroy();
  });
  await new Client(t, port).send(get()).closed;
  const short = await startPort(t, (_, response) => {
    response.writeHead(200, ['content-length', '5']);
    response.write(Buffer.from('123'));
    response.end();
  });
  const client = new Client(t, short).send(get() + get());
  await client.closed;
  t.match(client.text, /content-length: 5[^]*\r\n\r\n123$/);
  t.equal(short.requests.length, 1, 'nothing follows on that connection');
  await port.quiet();
  await short.quiet();
});

t.test(
  'a broken answer never looks whole: no last chunk, and a reset where the end is all there is',
  async (t) => {
    const port = await startPort(t, (_, response) => {
      response.writeHead(200, []);
      response.write(Buffer.from('half'), () => response.destroy());
    });
    const chunked = new Client(t, port).send(get());
    await chunked.closed;
    t.notMatch(chunked.text, '0\r\n\r\n');
    t.equal(await new Client(t, port).send(get('1.0')).closed, 'reset');
    await port.quiet();
  },
);

t.test(
  'a slow client is felt: write says so, and the drain is told; memory holds no more than was written',
  async (t) => {
    const piece = Buffer.alloc(MIB, 'x');
    let written = 0;
    let drains = 0;
    const slow = Promise.withResolvers<void>();
    const port = await startPort(t, (_, response) => {
      const flow = (): void => {
        while (written < 64) {
          written += 1;
          if (!response.write(piece)) return;
        }
        response.end();
      };
      response.watcher = {
        onClose: () => undefined,
        onInterrupt: () => undefined,
        onDrain: () => {
          drains += 1;
          flow();
        },
      };
      response.writeHead(200, []);
      flow();
      slow.resolve();
    });
    const client = new Client(t, port);
    client.socket.pause();
    client.send(get('1.1', close));
    await slow.promise;
    const other = new Client(
      t,
      await startPort(t, (_, response) => {
        response.writeHead(200, ['content-length', '2']);
        response.end(Buffer.from('ok'));
      }),
    );
    for (let n = 0; n < 100; n++) {
      other.text = '';
      other.send(get());
      await other.until('ok');
    }
    t.ok(written < 32, `${written} MiB were taken for a client that reads nothing`);
    client.socket.resume();
    t.equal(await client.closed, 'ended');
    t.ok(drains > 1);
    t.equal(client.text.match(/\r\n100000\r\nx/g)?.length, 64);
    t.ok(client.text.endsWith('x\r\n0\r\n\r\n'));
    await port.quiet();
  },
);

t.test('a watcher is told once that the client left, and not after the end', async (t) => {
  let left = 0;
  const responses: DownstreamResponse[] = [];
  const begun = Promise.withResolvers<void>();
  const port = await startPort(t, (_, response) => {
    responses.push(response);
    response.watcher = { onClose: () => (left += 1), onDrain: () => undefined, onInterrupt: () => undefined };
    response.writeHead(200, ['content-length', '2']);
    if (responses.length === 1) response.end(Buffer.from('ok'));
    else begun.resolve();
  });
  const client = new Client(t, port).send(get());
  await client.until('ok');
  client.send(get());
  await begun.promise;
  client.socket.resetAndDestroy();
  await port.quiet();
  t.equal(left, 1);
  const [first, second] = responses as [DownstreamResponse, DownstreamResponse];
  first.destroy();
  t.ok(second.destroyed);
  t.ok(second.write(Buffer.from('o')), 'what is written now goes nowhere, and nobody waits for a drain');
  second.end(Buffer.from('k'));
  await client.closed;
  t.equal(left, 1);
});
