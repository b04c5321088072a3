// One client's connection on real sockets: the order on the wire, bodies that nobody wants, clients of all manners.
import { once } from 'node:events';
import t from 'tap';
import { answer, Client, startPort, type Port } from './fixture/port.ts';

const MIB = 1024 * 1024;
const get = (target: string, ...lines: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');
const post = (target: string, body: string, ...lines: string[]): string =>
  [`POST ${target} HTTP/1.1`, 'Host: a', `Content-Length: ${body.length}`, ...lines, '', body].join('\r\n');
const chunked = (target: string, body: string): string =>
  `POST ${target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

/** As many turns of the event loop at least, in which the port looks at all its sockets. */
async function roundTrips(client: Client, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    client.text = '';
    client.send(get('/trip'));
    await client.until('\r\n\r\n');
  }
}

/** Until so many requests have come to be served. */
async function roundTripsOf(port: Port, count: number): Promise<void> {
  while (port.requests.length < count) await new Promise(setImmediate);
}

/** Until a client has so many answers. */
async function answers(client: Client, count: number): Promise<'answered'> {
  while (client.statuses.length < count) await once(client.socket, 'data');
  return 'answered';
}

t.test('pipelined requests are served one at a time and answered in order', async (t) => {
  let running = 0;
  let most = 0;
  const port = await startPort(t, async (request, response) => {
    most = Math.max(most, ++running);
    const body = await request.read(1_000);
    await new Promise(setImmediate);
    running -= 1;
    answer(response, `<${request.target}:${body.toString()}>`);
  });
  const client = new Client(t, port);
  client.send(get('/1') + post('/2', 'two') + chunked('/3', 'three') + get('/4') + post('/5', ''));
  await client.until('</5:>');
  t.same(client.text.match(/<.*?>/g), ['</1:>', '</2:two>', '</3:three>', '</4:>', '</5:>']);
  t.equal(most, 1);
  t.same(client.statuses, [200, 200, 200, 200, 200]);
  await port.quiet();
});

t.test('pipelined requests cut at any byte are the same requests', async (t) => {
  const port = await startPort(t, async (request, response) =>
    answer(response, `<${request.target}:${String(await request.read(1_000))}>`),
  );
  const wire = `\r\n${post('/1', 'one')}${chunked('/2', 'two')}\r\n\r\n${get('/3')}`;
  for (let cut = 1; cut < wire.length; cut++) {
    const client = new Client(t, port);
    client.send(wire.slice(0, cut));
    await new Promise((resolve) => client.socket.write('', resolve));
    client.send(wire.slice(cut));
    await client.until('</3:>');
    client.socket.destroy();
    if (client.text.match(/<.*?>/g)?.join() !== '</1:one>,</2:two>,</3:>')
      t.fail(`cut at ${cut}: ${client.text}`);
  }
  const drip = new Client(t, port);
  for (const byte of wire) drip.send(byte);
  await drip.until('</3:>');
  t.same(drip.statuses, [200, 200, 200]);
  await port.quiet();
});

t.test('requests behind a running one wait within bounds, then all are served', async (t) => {
  const gate = Promise.withResolvers<void>();
  const port = await startPort(t, async (request, response) => {
    if (request.target === '/gate') await gate.promise;
    answer(response, '');
  });
  const client = new Client(t, port);
  const count = 10_000;
  const long = 'x'.repeat(1_000); // 10 MB, more than the sockets' own buffers hold
  client.send(get('/gate'));
  for (let n = 0; n < 100; n++) client.send(get('/x', `X-Long: ${long}`).repeat(count / 100));
  const trips = 100;
  await roundTrips(new Client(t, port), trips);
  t.ok(client.socket.writableLength > 0, 'the client feels it');
  gate.resolve();
  client.send(get('/last', 'Connection: close'));
  await client.closed;
  t.equal(client.statuses.length, count + 2);
  t.equal(port.requests.length, count + 2 + trips);
  await port.quiet();
});

t.test(
  'a client that pipelines thousands of requests gets one answered, then others have their turn',
  async (t) => {
    let flood = 0;
    let atLastTrip = 0;
    let most = 0;
    const port = await startPort(t, (request, response) => {
      if (request.target === '/flood') flood += 1;
      else {
        most = Math.max(most, flood - atLastTrip);
        atLastTrip = flood;
      }
      answer(response, '');
    });
    const client = new Client(t, port).send(get('/flood').repeat(150_000));
    await client.until('\r\n\r\n');
    atLastTrip = flood;
    await roundTrips(new Client(t, port), 200);
    t.ok(flood > 200, 'it is served all the same');
    t.ok(most < 100, `${most} requests of one connection between two of another`);
    client.socket.destroy();
    await port.quiet();
  },
);

t.test('when too many requests wait in all, connections with many of them are cut', async (t) => {
  const gate = Promise.withResolvers<void>();
  const port = await startPort(t, async (_, response) => {
    await gate.promise;
    answer(response);
  });
  const flood = 'GET / HTTP/1.1\r\nHost:a\r\n\r\n'.repeat(4_000);
  const clients = Array.from({ length: 12 }, () => new Client(t, port).send(flood));
  const few = new Client(t, port).send(get('/').repeat(3));
  await roundTripsOf(port, clients.length + 1);
  gate.resolve();
  await answers(few, 3);
  t.equal(few.statuses.length, 3, 'a connection with few of them is served on');
  const ends = await Promise.all(
    clients.map((client) => Promise.race([client.closed, answers(client, 100)])),
  );
  const ended = clients.filter((_, i) => ends[i] !== 'answered');
  t.ok(ended.length > 0);
  t.ok(ended.length >= clients.length - 3, `${ended.length} connections were cut, not kept waiting`);
  for (const client of clients) client.socket.destroy();
  await port.quiet();
});

t.test(
  'a client that reads no answers is served no further requests: they would pile up in memory',
  async (t) => {
    const port = await startPort(t, (_, response) => answer(response, 'x'.repeat(16_000)));
    const client = new Client(t, port);
    client.socket.pause();
    const count = 5_000; // 80 MB of answers
    client.send(get('/x').repeat(count - 1) + get('/last', 'Connection: close'));
    await roundTrips(new Client(t, port), 200);
    t.ok(port.requests.length < 2_500, `${port.requests.length} requests were served`);
    client.socket.resume();
    t.equal(await client.closed, 'ended');
    t.equal(client.statuses.length, count, 'once it reads, it gets them all');
    await port.quiet();
  },
);

t.test('whether a connection goes on is what both sides said', async (t) => {
  const port = await startPort(t, (_, response) => answer(response));
  const table: readonly [version: string, line: string, says: string, goesOn: boolean][] = [
    ['1.1', 'X: y', 'keep-alive', true],
    ['1.1', 'Connection: close', 'close', false],
    ['1.1', 'Connection: x, CLOSE', 'close', false],
    ['1.0', 'X: y', 'close', false],
    ['1.0', 'Connection: Keep-Alive', 'keep-alive', true],
    ['1.0', 'Connection: keep-alive, close', 'close', false],
  ];
  for (const [version, line, says, goesOn] of table) {
    const client = new Client(t, port);
    client.send(`GET / HTTP/${version}\r\nHost: a\r\n${line}\r\n\r\n`);
    await client.until('\r\n\r\nok');
    t.match(client.text, new RegExp(`\r\nconnection: ${says}\r\n`, 'i'), `${version} ${line}`);
    if (goesOn) {
      client.send(get('/', 'Connection: close'));
      await client.closed;
      t.same(client.statuses, [200, 200]);
    } else t.equal(await client.closed, 'ended');
  }
  await port.quiet();
});

t.test('100 Continue is said once, to who waits for it and is to send', async (t) => {
  const port = await startPort(t, async (request, response) => {
    if (request.target === '/refuse') answer(response, 'no', 400);
    else if (request.target === '/limit') {
      await request.read(2).catch(() => answer(response, 'large', 413));
    } else answer(response, `<${String(await request.read(100))}>`);
  });
  const expect = 'Expect: 100-Continue';
  const waits = new Client(t, port).send(post('/', '', expect).replace('Length: 0', 'Length: 3'));
  await waits.until('HTTP/1.1 100 Continue\r\n\r\n');
  waits.send('abc');
  await waits.until('<abc>');
  t.same(waits.statuses, [100, 200]);
  waits.send(post('/', '', expect));
  await waits.until('<>');
  t.same(waits.statuses, [100, 200, 200], 'an empty body is not waited for');

  const old = new Client(t, port).send(post('/', 'abc', expect).replace('1.1', '1.0'));
  await old.closed;
  t.same(old.statuses, [200], 'HTTP/1.0 knows no 100 (RFC 9110 section 10.1.1)');

  for (const [target, status] of [
    ['/refuse', 400],
    ['/limit', 413],
  ] as const) {
    // Whether the body still comes is the client's choice: what it sends next may be body or request.
    const client = new Client(t, port).send(post(target, '', expect).replace('Length: 0', 'Length: 3'));
    await client.until(/connection: close/i);
    client.send(get('/smuggled'));
    await client.closed;
    t.same(client.statuses, [status]);
  }
  t.notOk(port.requests.some(({ target }) => target === '/smuggled'));
  await port.quiet();
});

t.test('HEAD is answered with a head alone, whatever is written', async (t) => {
  const port = await startPort(t, (request, response) => {
    response.writeHead(200, request.target === '/length' ? ['content-length', '5'] : []);
    response.write(Buffer.from('hel'));
    response.end(Buffer.from('lo'));
  });
  const client = new Client(t, port);
  client.send(
    `HEAD /length HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  );
  await client.closed;
  t.same(client.statuses, [200, 200]);
  t.match(client.text, 'content-length: 5\r\n');
  t.notMatch(client.text, /hel|chunked/);
  await port.quiet();
});

t.test('a client that leaves is noticed at every stage, and every exchange settles once', async (t) => {
  const stages = new Map<string, () => void>();
  const at = (stage: string): Promise<void> => new Promise((resolve) => stages.set(stage, resolve));
  const faults: string[] = [];
  const port = await startPort(t, async (request, response) => {
    response.watcher = {
      onClose: () => stages.get('closed')?.(),
      onDrain: () => undefined,
      onInterrupt: () => undefined,
    };
    stages.get('begun')?.();
    try {
      await request.read(1_000);
    } catch (error) {
      faults.push((error as { code: string }).code);
      stages.get('refused')?.();
      return;
    }
    if (request.target === '/wait') return;
    response.writeHead(200, []);
    response.write(Buffer.from('first'));
  });
  const leaves = ['destroy', 'resetAndDestroy'] as const;
  for (const leave of leaves) {
    const inHead = new Client(t, port).send('POST / HTTP/1.1\r\nHo');
    await once(inHead.socket, 'connect');
    inHead.socket[leave]();
    const cases: readonly [string, string][] = [
      ['in the length of a body', post('/', 'abc').slice(0, -1)],
      ['in a chunk', chunked('/', 'abc').slice(0, -8)],
    ];
    for (const [title, bytes] of cases) {
      const [begun, refused] = [at('begun'), at('refused')];
      const client = new Client(t, port).send(bytes);
      await begun;
      client.socket[leave]();
      await refused;
      t.equal(faults.at(-1), 'client_gone', `${leave} ${title}`);
    }
    for (const target of ['/wait', '/stream']) {
      const [begun, closed] = [at('begun'), at('closed')];
      const client = new Client(t, port).send(post(target, 'abc'));
      await begun;
      if (target === '/stream') await client.until('first');
      client.socket[leave]();
      await closed;
    }
    await port.quiet();
  }
  t.equal(port.requests.length, 8);
});

t.test('a client that ends its side is gone: no answer is made for it', async (t) => {
  const closed = Promise.withResolvers<void>();
  const port = await startPort(t, (request, response) => {
    response.watcher = {
      onClose: () => closed.resolve(),
      onDrain: () => undefined,
      onInterrupt: () => undefined,
    };
    if (request.target === '/now') answer(response, 'x'.repeat(30 * MIB));
  });
  const waits = new Client(t, port).send(get('/wait'));
  waits.socket.end();
  await closed.promise;
  await waits.closed;
  t.equal(waits.text, '');
  const late = new Client(t, port).send(get('/now'));
  await late.until('\r\n\r\n');
  late.socket.end();
  await late.closed;
  t.equal(
    late.text.length - late.text.indexOf('\r\n\r\n') - 4,
    30 * MIB,
    'an answer that is on its way comes whole',
  );
  await port.quiet();
});

t.test('what is no request behind a good one is refused after its answer, and nothing follows', async (t) => {
  const gate = Promise.withResolvers<void>();
  const port = await startPort(t, async (_, response) => {
    await gate.promise;
    answer(response);
  });
  const client = new Client(t, port).send(`${get('/1')}NONSENSE\r\n\r\n${get('/2')}`);
  gate.resolve();
  t.equal(await client.closed, 'ended');
  t.match(
    client.text,
    /^HTTP\/1\.1 200 [^]*\r\n\r\nokHTTP\/1\.1 400 Refused\r\n[^]*\r\n\r\nmalformed_request$/,
  );
  t.equal(port.requests.length, 1);
  await port.quiet();
});

t.test(
  'a chunked body that breaks off in nonsense is refused; what follows it is not a request',
  async (t) => {
    const port = await startPort(t, async (request, response) => {
      await request
        .read(100)
        .catch((error: unknown) => answer(response, (error as { code: string }).code, 400));
    });
    const client = new Client(t, port);
    client.send(chunked('/', 'abc').replace('\r\nabc\r\n', '\r\nabcd\r\n') + get('/2'));
    await client.closed;
    t.match(client.text, /connection: close\r\n[^]*\r\n\r\nmalformed_request$/);
    t.equal(port.requests.length, 1);
    await port.quiet();
  },
);

t.test('a refused body is read and thrown away within bounds; then the next request is served', async (t) => {
  const port = await startPort(t, async (request, response) => {
    if (request.target === '/read') await request.read(10).catch(() => answer(response, 'large', 413));
    else answer(response, 'refused', 400);
  });
  const client = new Client(t, port);
  client.send(
    post('/read', 'x'.repeat(MIB)) + post('/unread', 'y'.repeat(MIB)) + chunked('/unread', 'z'.repeat(MIB)),
  );
  client.send(get('/last', 'Connection: close'));
  t.equal(await client.closed, 'ended');
  t.same(client.statuses, [413, 400, 400, 400]);
  await port.quiet();

  const huge = new Client(t, port).send(post('/unread', '').replace('Length: 0', `Length: ${100 * MIB}`));
  await huge.until(/connection: close\r\n[^]*\r\n\r\nrefused/);
  t.equal(await huge.closed, 'ended', 'it is told, and can read that it is');

  const endless = new Client(t, port).send(chunked('/unread', '').replace('\r\n0\r\n\r\n0\r\n\r\n', '\r\n'));
  await endless.until('refused');
  const more = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  for (let n = 0; n < 200 && !endless.socket.destroyed; n++) {
    if (!endless.socket.write(more))
      await Promise.race([once(endless.socket, 'drain').catch(() => 0), endless.closed]);
  }
  await endless.closed;
  t.ok((port.requests.at(-1)?.received ?? Infinity) < 17 * MIB, 'one without an end is cut');
  await port.quiet();
});

t.test('a body that nobody asked for is thrown away behind an answer that came late', async (t) => {
  const gate = Promise.withResolvers<void>();
  const port = await startPort(t, async (request, response) => {
    if (request.target === '/late') await gate.promise;
    answer(response, request.target);
  });
  const body = 'x'.repeat(300_000); // more than is held: reading stops, and must go on
  const client = new Client(t, port).send(post('/late', body).replace('POST', 'DELETE').slice(0, -1));
  const other = new Client(t, port).send(get('/other'));
  await other.until('/other');
  gate.resolve();
  await client.until('/late');
  client.send(`x${get('/next', 'Connection: close')}`);
  await client.closed;
  t.same(client.statuses, [200, 200]);
  t.match(client.text, '/next');
  await port.quiet();
});

t.test('a connection that serves many large answers keeps nothing of them', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  const port = await startPort(t, (_, response) => answer(response, 'x'.repeat(20 * MIB)));
  const client = new Client(t, port);
  for (let n = 1; n <= 12; n++) {
    client.text = '';
    client.send(get('/'));
    await client.until(/x$/);
    while (client.text.length < 20 * MIB) await once(client.socket, 'data');
    await port.quiet();
  }
  await new Promise(setImmediate);
  t.same(warnings, [], 'no listener is left behind');
});

t.test('what is thrown in a handler ends that connection and no other', async (t) => {
  const bug = new TypeError('a bug');
  const port = await startPort(t, (request, response) => {
    if (request.target === '/bug') throw bug;
    answer(response);
  });
  const client = new Client(t, port).send(get('/bug'));
  await client.closed;
  t.equal(client.text, '');
  t.same(port.failures, [bug]);
  await new Client(t, port).send(get('/')).until('ok');
  await port.quiet();
});
