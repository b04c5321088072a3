// What a caller is told whose call a budget refuses: in the dialect's words first, which clients look for, then what is left,
// what the call may cost and what to do. Never "429" or "rate limit": SDKs would send the call again.
import { dollarText } from '../../spend/record/dollars.ts';
import type { BudgetRefusal } from './budget-book.ts';
import { isOfSession } from './cap-sources.ts';
import type { Cap } from './caps.ts';
import { memberOf } from './scopes.ts';

interface RefusedCall {
  readonly cap: Cap;
  readonly refusal: BudgetRefusal;
  /** The most that the call may cost. */
  readonly pico: bigint;
  /** `max_tokens` that would fit into what is left; null = none would. */
  readonly fitting: number | null;
  /** Of a key: its alias and the end of its value, as the dialect names it; '' otherwise. */
  readonly keyName: string;
  /** When the budget begins anew, epoch milliseconds; null = never. */
  readonly resetMs: number | null;
}

export function refusalText(call: RefusedCall): string {
  const { refusal, resetMs } = call;
  const isUsedUp = refusal.leftPico <= 0n;
  const reset = resetMs === null ? '' : ` It begins anew at ${new Date(resetMs).toISOString()}.`;
  return `${headline(call)} ${isUsedUp ? underWay(refusal) : tooLittle(call)}${reset}`;
}

function headline({ refusal, keyName, cap }: RefusedCall): string {
  const [spent, limit] = [dollarText(refusal.spentPico), dollarText(refusal.need.capPico)];
  const { kind, id } = cap.scope;
  if (cap.model !== null)
    return `LiteLLM ${kind === 'user' ? 'User' : 'Virtual Key'}: ${id}, exceeded budget for model=${cap.model}. Current cost: ${spent}, Max budget: ${limit}.`;
  if (isOfSession(cap))
    return `Session budget exceeded for session ${id}. Current spend: $${spent}, max_budget_per_session: $${limit}.`;
  const whose = `${NAMES[kind]}=${kind === 'member' ? memberText(id) : keyName || id}`;
  if (kind === 'user' || kind === 'end_user')
    return `ExceededBudget: ${whose} over budget. Spend=${spent}, Budget=${limit}.`;
  const owner = kind === 'proxy' ? '' : `${whose} `;
  return `Budget has been exceeded! ${owner}Current cost: ${spent}, Max budget: ${limit}.`;
}

const NAMES: Readonly<Record<Cap['scope']['kind'], string>> = {
  member: 'TeamMember',
  key: 'Key',
  team: 'Team',
  organization: 'Organization',
  tag: 'Tag',
  user: 'User',
  end_user: 'EndUser',
  model: 'Model',
  deployment: 'Deployment',
  provider: 'Provider',
  profile: 'Profile',
  conversation: 'Conversation',
  proxy: 'Proxy',
};

function memberText(id: string): string {
  const { teamId, userId } = memberOf(id);
  return `${userId}:${teamId}`;
}

const underWay = ({ reservedPico }: BudgetRefusal): string =>
  reservedPico > 0n
    ? `Nothing is left beside the ${dollarText(reservedPico)} USD that calls under way may cost.`
    : 'Nothing is left.';

function tooLittle({ refusal, pico, fitting }: RefusedCall): string {
  const held =
    refusal.reservedPico > 0n ? `, and calls under way may cost ${dollarText(refusal.reservedPico)} USD` : '';
  const advice =
    fitting === null ? 'Shorten the prompt, or ask for a larger budget.' : `Lower max_tokens to ${fitting}.`;
  const most = pico >= BigInt(Number.MAX_SAFE_INTEGER) ? 'more than ' : ''; // no row says more
  return `This call may cost ${most}${dollarText(pico)} USD, ${dollarText(refusal.leftPico)} USD are left${held}. ${advice}`;
}
