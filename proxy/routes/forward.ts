// The table of contents of the program: one LLM call, from its body to its spend record, step by step.
import { answerFault } from '../request/answer.ts';
import { readAsk } from '../request/ask.ts';
import { attempts } from '../request/attempts.ts';
import type { Caller } from '../request/authenticate.ts';
import { Draft } from '../request/draft.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Exchange } from '../request/exchange.ts';
import { claimKey, repeat, type Claim } from '../request/idempotency.ts';
import { plan } from '../request/plan.ts';
import { readBody } from '../request/read-body.ts';
import { checkLag, Seat } from '../request/seat.ts';
import { shape } from '../request/shape.ts';

/** Serves one call that names a model: in its body, or in its path (`/engines/{model}/...`). */
export async function forward(
  x: Exchange,
  caller: Caller,
  endpoint: Endpoint,
  pathModel: string | null,
): Promise<void> {
  const draft = new Draft(x, caller, endpoint, pathModel ?? '');
  const seat = new Seat(x);
  let claim: Claim | null = null;
  try {
    checkLag(x);
    const body = draft.read(await readBody(x));
    const ask = draft.asked(readAsk(x, endpoint, body, pathModel));
    const known = await claimKey(x, caller, ask); // of a call that was made before, under the same key
    if (known !== null && 'answer' in known) return await repeat(x, draft, known);
    claim = known;
    const trip = plan(x.live, ask); // which entry gets it, and which next when that fails
    await seat.take(trip); // waits for its turn, where limits are set
    draft.waited(seat.waitedMs);
    const call = shape(x, ask, draft.routed(trip.leg.picked(trip.entry)), trip.hasMore);
    await draft.admit(); // the begin entry is in the operating system before the first byte goes upstream
    const { outcome, call: last } = await attempts(x, ask, trip, call, draft, seat);
    outcome.finish(await draft.settle(outcome, last)); // the record is written before the last byte goes to the client
    if (outcome.written) x.req.release();
  } catch (thrown) {
    answerFault(x, await draft.fail(thrown), endpoint.protocol.errors, draft.identityHeaders());
  } finally {
    claim?.settle(draft.record);
    seat.leave();
  }
}
