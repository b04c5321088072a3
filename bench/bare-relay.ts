// The floor: node:http in, JSON.parse, one member changed, JSON.stringify, undici dispatch out. No keys, no header
// policy, no spend record, no log, no metrics.
import { createServer } from 'node:http';
import { Pool, type Dispatcher } from 'undici';

const pool = new Pool(process.argv[2] as string, { connections: null, pipelining: 1, allowH2: false });

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    body['model'] = 'upstream-model';
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, status, headers) => {
        res.writeHead(status, { 'content-type': headers['content-type'] as string });
      },
      onResponseData: (controller, chunk) => {
        if (res.write(chunk)) return;
        controller.pause();
        res.once('drain', () => controller.resume());
      },
      onResponseEnd: () => void res.end(),
      onResponseError: () => void res.destroy(),
    };
    const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-upstream' };
    pool.dispatch(
      { path: '/v1/chat/completions', method: 'POST', headers, body: JSON.stringify(body) },
      handler,
    );
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
});
process.on('disconnect', () => process.exit()); // never outlive a driver that was killed
