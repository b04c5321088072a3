// Calls on a response that exists (`/v1/responses/{id}` and below): they go to the upstream that made it, which the
// spend records know. Same header policy and same settling as every other call.
import { Fault } from '../errors/fault.ts';
import { answerFault } from '../request/answer.ts';
import type { Caller } from '../request/authenticate.ts';
import { Draft } from '../request/draft.ts';
import type { StoredAnswerCall } from '../protocols/table.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Picked } from '../request/pick.ts';
import { planFor } from '../request/plan.ts';
import { readBody } from '../request/read-body.ts';
import { checkLag, Seat } from '../request/seat.ts';
import { shapeById } from '../request/shape.ts';
import { relay } from '../upstream/relay.ts';

/** `id` is decoded; it goes upstream encoded again. */
export async function forwardById(
  x: Exchange,
  caller: Caller,
  row: StoredAnswerCall,
  id: string,
): Promise<void> {
  const { house } = x.live;
  const draft = new Draft(x, caller, row.endpoint);
  const seat = new Seat(x);
  try {
    checkLag(x);
    if (row.method === 'POST') draft.read(await readBody(x));
    const { picked, model } = await makerOf(x, id);
    draft.routed(picked, model);
    await seat.take(planFor(x.live, picked)); // like a call that names the model of that response
    draft.waited(seat.waitedMs);
    const path = `responses/${encodeURIComponent(id)}${row.suffix}`;
    const call = shapeById(x, row.endpoint, picked, row.method, path, draft.identity);
    await draft.admit();
    const visit = seat.visit(picked.target, house.clock.mono());
    const outcome = await relay(call, x.res, house, draft).ended.finally(() => {
      visit.abandoned(); // what it says of a response says little of how models are served
      seat.left();
    });
    outcome.finish(await draft.settle(outcome, call));
  } catch (thrown) {
    answerFault(x, await draft.fail(thrown), row.endpoint.protocol.errors, draft.identityHeaders());
  } finally {
    seat.leave();
  }
}

/** The target whose answer had this id. @throws Fault response_not_found, store_unavailable. */
async function makerOf(x: Exchange, id: string): Promise<{ picked: Picked; model: string }> {
  const made = await x.live.house.ledger.reader.findByUpstreamId(id).catch((cause: unknown) => {
    throw new Fault('store_unavailable', 'The spend store does not answer, so the upstream is not known.', {
      cause,
    });
  });
  const target = x.live.targets.get(made?.modelId ?? '');
  if (made === null || target === undefined) {
    const text = `No response ${id.slice(0, 100)} was made through this proxy.`;
    throw new Fault('response_not_found', text, { param: 'id' });
  }
  const forwards = target.route.forwardClientHeaders || x.live.snapshot.forwards(made.modelGroup);
  return { picked: { target, upstreamModel: made.model, forwards }, model: made.modelGroup };
}
