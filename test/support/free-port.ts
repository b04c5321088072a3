// A port for a server that is another program and so cannot be given one by the system.
import { createServer } from 'node:net';

/**
 * A port that is free now and stays so until the server has started, and while it is stopped between two starts: the system
 * gives none below 32768 to connections and to servers that ask for any, of which other tests make thousands meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const server = createServer().once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
