// Hands a request to the optional wing and sends what it answers. Knows nothing of what the wing does.
import { answerWhole } from '../request/answer.ts';
import type { Exchange } from '../request/exchange.ts';
import { readBody } from '../request/read-body.ts';
import type { Wing } from '../wing.ts';

/** Answers with what the wing says. */
export async function answerByWing(x: Exchange, wing: Wing): Promise<void> {
  const { status, headers, body } = await wing.answer({
    method: x.req.method,
    path: x.path,
    query: x.query,
    headers: x.headers.raw,
    readBody: () => readBody(x).then(({ bytes }) => bytes),
  });
  answerWhole(x, status, headers, body);
}
