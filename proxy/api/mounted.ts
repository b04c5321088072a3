// Hands a request to the optional wing and sends what it answers. Knows nothing of what the wing does.
import { answerWhole } from '../pipeline/answer.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { readBody } from '../pipeline/read-body.ts';
import type { Mount } from '../base/mount.ts';

/** Answers with what the wing says. */
export async function answerByMount(x: Exchange, mount: Mount): Promise<void> {
  const { status, headers, body } = await mount.handle({
    method: x.req.method,
    path: x.path,
    query: x.query,
    headers: x.headers.raw,
    readBody: () => readBody(x).then(({ bytes }) => bytes),
  });
  answerWhole(x, status, headers, body);
}
