// A receiver of alerts that answers as a test says.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from './process-cleanup.ts';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** `cut`: the connection breaks. `never`: there is no answer. */
type Answer = number | 'cut' | 'never';

interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly seen: readonly Received[];
  /** The next answers; then 200 again. */
  answers(...next: Answer[]): void;
  answersAlways(answer: Answer): void;
  /** Settles when a request that fits is there. */
  got(fits: (received: Received) => boolean): Promise<Received>;
  close(): Promise<void>;
}

/** Starts one; closed with the test. @param port default: any */
export async function receiver(t: Teardown, port = 0): Promise<Receiver> {
  const seen: Received[] = [];
  const looks = new Set<() => void>();
  let next: Answer[] = [];
  let usual: Answer = 200;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      seen.push({ path: request.url ?? '', headers: request.headers, body });
      const answer = next.shift() ?? usual;
      if (answer === 'cut') request.socket.destroy();
      else if (answer !== 'never') response.writeHead(answer).end('{}');
      looks.forEach((look) => look());
    });
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  const own = (server.address() as AddressInfo).port;
  const close = (): Promise<void> =>
    new Promise((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  t.teardown(close);
  return {
    url: `http://127.0.0.1:${own}`,
    port: own,
    seen,
    answers: (...answers) => void (next = answers),
    answersAlways: (answer) => void (usual = answer),
    got: (fits) =>
      new Promise((settle) => {
        const look = (): void => {
          const found = seen.find(fits);
          if (found === undefined) return;
          looks.delete(look);
          settle(found);
        };
        looks.add(look);
        look();
      }),
    close,
  };
}
