// Who made a response that a call refers to by its id, and whether this caller may go on with it. To everybody else it does
// not exist: the refusal is the one of an id that never was.
import { Fault } from '../errors/fault.ts';
import { ownsResponse } from '../access/permissions.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import type { MadeBy } from '../spend/store/store.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import type { Exchange } from './exchange.ts';

/** The maker of a response of this caller. @throws Fault response_not_found, store_unavailable */
export async function makerOf(
  x: Exchange,
  caller: AuthenticatedCaller,
  id: string,
  param: string,
): Promise<MadeBy> {
  const { services } = x.active;
  const made = services.recentResponses.find(id) ?? (await inRecords(x, id));
  if (made !== null && ownsResponse(caller, made.apiKeyHash, services.callers)) return made;
  const text = `No response ${id.slice(0, 100)} was made through this proxy with this key.`;
  throw new Fault('response_not_found', text, { param });
}

/**
 * A call that continues a response (`previous_response_id`) may continue its own.
 * @return the tokens of that response, which are read again; 0 = not known. @throws Fault as `makerOf`
 */
export async function earlierTokens(x: Exchange, caller: AuthenticatedCaller, id: string): Promise<number> {
  if (caller.role === 'admin') return x.active.services.recentResponses.find(id)?.tokens ?? 0;
  return (await makerOf(x, caller, id, 'previous_response_id')).tokens;
}

/** Calls that refer to the response that this one has made find its maker. */
export function rememberResponse({ active }: Exchange, endpoint: Endpoint, record: SpendRecord): void {
  const { upstreamId, modelId, modelGroup, model, apiKeyHash, spendPico, usageSource, tokens } = record;
  if (upstreamId === null || endpoint.protocol.stored.length === 0 || endpoint.returnsStored) return;
  const isOpen = usageSource === 'none' && (spendPico ?? 0) === 0;
  const made = { modelId, modelGroup, model, apiKeyHash, tokens: tokens.total ?? 0 };
  active.services.recentResponses.put(upstreamId, made, isOpen);
}

async function inRecords(x: Exchange, id: string): Promise<MadeBy | null> {
  try {
    return await x.active.services.ledger.reader.findByUpstreamId(id);
  } catch (cause) {
    const text = 'The spend store does not answer, so it is not known who made this response.';
    throw new Fault('store_unavailable', text, { cause });
  }
}
