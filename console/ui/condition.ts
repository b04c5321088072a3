// How a part of the chain does, by the calls of the last minutes: a gateway that answers with errors is not well, whatever its
// breaker says.
import type { DeploymentState, Traffic } from '../api/types.ts';
import type { Tone } from './badge.tsx';

type Condition = DeploymentState | 'quiet' | 'someFail' | 'mostFail';

const SOME = 0.05;
const MOST = 0.5;

export const CONDITION_TONES: Readonly<Record<Condition, Tone>> = {
  ok: 'good',
  quiet: 'idle',
  someFail: 'warn',
  mostFail: 'bad',
  half_open: 'busy',
  cooling_down: 'warn',
  failing: 'bad',
};

/** Of the calls those that failed here or at a gateway; what callers did wrong is not counted. */
export function faultShare({ calls, faults }: Pick<Traffic, 'calls' | 'faults'>): number {
  return calls === 0 ? 0 : (faults.proxy + faults.upstream) / calls;
}

export function conditionOf(state: DeploymentState, traffic: Pick<Traffic, 'calls' | 'faults'>): Condition {
  if (state !== 'ok') return state;
  if (traffic.calls === 0) return 'quiet';
  const share = faultShare(traffic);
  if (share < SOME) return 'ok';
  return share < MOST ? 'someFail' : 'mostFail';
}
