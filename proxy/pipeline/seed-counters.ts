// Waits, on behalf of a call, until it is known what its budgets have spent: the one thing that a call with a budget may need of the
// store before it goes out.
import type { CounterName } from '../access/counters.ts';
import { within } from '../base/within.ts';
import { StoreUnavailable } from '../spend/store/store.ts';
import type { Exchange } from './exchange.ts';
import { pause, untilClientLeaves } from './until-client-leaves.ts';

/** After so many rounds it pauses before the next one, longer each time. */
const SEEDINGS_AT_ONCE = 4;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 1_000;
/**
 * A store that hangs is found out after a slow statement and the timeout of a connection, 12 s by default. A call that would be served
 * without it waits no longer than one with an unknown key.
 */
const UNVERIFIED_MS = 2_000;

/**
 * Begins the counters, unless the client leaves.
 * @param round of this call, from 1
 * @throws StoreUnavailable, Fault client_gone, shutting_down
 */
export async function seedCounters(
  x: Exchange,
  counters: readonly CounterName[],
  round: number,
): Promise<void> {
  const during = 'the sums of its budgets were read';
  const further = round - SEEDINGS_AT_ONCE - 1;
  if (further >= 0) {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(further, 10));
    const left = await pause(x.res, pauseMs, during);
    if (left !== null) throw left;
  }
  const { snapshot, services } = x.active;
  const seeded = services.budgets.seed(counters);
  const done = snapshot.budgets.allowUnverified ? within(UNVERIFIED_MS, seeded, late) : seeded;
  const end = await untilClientLeaves(x.res, { done }, during);
  if (end.kind === 'left') throw end.why;
}

function late(): never {
  throw new StoreUnavailable('unavailable', `the store has not answered for ${UNVERIFIED_MS / 1000} s`);
}
