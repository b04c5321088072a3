import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { Outlet } from '../../../proxy/upstream/outlet.ts';
import { raw } from '../../support/rig.ts';

const PIECES = [0, 1, 250, 16_384, 16_385, 70_000, 0, 3].map((size, i) => Buffer.alloc(size, 0xe0 + i));
const WHOLE = Buffer.concat(PIECES);

t.test('pieces of every size arrive as they were written, an empty one ends nothing', async (t) => {
  const server = createServer((req, res) => {
    const length = req.url === '/announced' ? ['content-length', String(WHOLE.length)] : [];
    res.writeHead(200, length);
    const outlet = new Outlet(res);
    for (const piece of PIECES.slice(0, -1)) outlet.write(piece);
    outlet.end(PIECES.at(-1) as Buffer);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const path of ['/announced', '/chunked']) {
    const body = await new Promise<Buffer>((resolve, reject) => {
      const req = request({ port, path, agent: false }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => resolve(Buffer.concat(chunks)));
      });
      req.on('error', reject);
      req.end();
    });
    t.ok(body.equals(WHOLE), path);
  }
  const old = await raw(port, 'GET / HTTP/1.0\r\nHost: x\r\n\r\n');
  t.notMatch(old, /transfer-encoding/i, 'HTTP/1.0 knows no chunks');
  t.ok(Buffer.from(old.slice(old.indexOf('\r\n\r\n') + 4), 'latin1').equals(WHOLE));
});
