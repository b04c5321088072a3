// Stands before a gateway and notes which bytes arrive there; passes everything on as it is, broken connections included.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { InteropRun } from '../harness/suite.ts';

export interface Tap {
  readonly url: string;
  /** The values of a header in the requests that came since the last `forget`. */
  headers(name: string): readonly string[];
  /** The paths of these requests. */
  paths(): readonly string[];
  /** Something has come back since the last `forget`. */
  isAnswering(): boolean;
  forget(): void;
}

export async function startTap(run: InteropRun, port: () => number): Promise<Tap> {
  let seen: { text: string }[] = [];
  let isAnswering = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    let request = { text: '' };
    seen.push(request);
    const gateway = connect(port(), '127.0.0.1');
    client.on('data', (part: Buffer) => {
      if (!seen.includes(request)) seen.push((request = { text: '' })); // a connection that is used again
      request.text += part.toString('latin1');
    });
    gateway.on('data', () => (isAnswering = true));
    client.pipe(gateway).pipe(client);
    for (const [one, other] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  run.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const all = (): string => seen.map(({ text }) => text).join('\r\n');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers: (name) =>
      [...all().matchAll(new RegExp(`\\r\\n${name}: ([^\\r]*)`, 'gi'))].map(([, value = '']) => value),
    paths: () =>
      [...all().matchAll(/(?:^|\r\n|\})(?:GET|POST) (\S+) HTTP\/1\.1\r\n/g)].map(([, path = '']) => path),
    isAnswering: () => isAnswering,
    forget: () => {
      seen = [];
      isAnswering = false;
    },
  };
}
