// A load client: N keep-alive connections, each sends its next request when the last answer is complete.
import { Agent, request } from 'node:http';

export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly requests: number;
  readonly body: Buffer;
}

/** Runs one load. @returns how many answers were 200 and complete. */
export async function load({ port, connections, requests, body }: Load): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const headers = {
    authorization: 'Bearer sk-bench',
    'content-type': 'application/json',
    'content-length': String(body.length),
    'x-litellm-session-id': '0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
    'x-stainless-lang': 'js',
    'user-agent': 'bench',
  };
  let left = requests;
  let good = 0;
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/v1/chat/completions',
        agent,
        headers,
      };
      const req = request(options, (res) => {
        res.on('end', () => {
          if (res.statusCode === 200) good += 1;
          resolve();
        });
        res.on('error', reject);
        res.resume();
      });
      req.on('error', reject);
      req.end(body);
    });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left > 0) {
        left -= 1;
        await one();
      }
    }),
  );
  agent.destroy();
  return good;
}
