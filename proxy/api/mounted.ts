// Passes a request to the mounted extension (the platform) and sends its response. Knows nothing of what it does.
import { sendResponse } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { readBody } from '../pipeline/read-body.ts';
import type { Mount } from '../base/mount.ts';

/** Sends the response of the mounted extension. */
export async function handleByMount(x: Exchange, mount: Mount): Promise<void> {
  const { status, headers, body } = await mount.handle({
    method: x.req.method,
    path: x.path,
    query: x.query,
    headers: x.headers.raw,
    readBody: () => readBody(x).then(({ bytes }) => bytes),
  });
  sendResponse(x, status, headers, body);
}
