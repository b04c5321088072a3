// Where the thing that a budget is of is shown.
import type { BudgetRow } from '../../api/access.ts';
import { hrefOf } from '../../base/router.ts';

/** null = nowhere. */
export function placeOf({ scope, scope_id: id }: Pick<BudgetRow, 'scope' | 'scope_id'>): string | null {
  switch (scope) {
    case 'key':
      return hrefOf('keys', { id });
    case 'team':
      return hrefOf('teams', { id });
    case 'user':
      return hrefOf('users', { id });
    case 'member':
      return hrefOf('teams', { id: teamOf(id) });
    case 'tag':
      return hrefOf('spend', { tag: id });
    case 'end_user':
      return hrefOf('spend', { end_user: id });
    case 'model':
      return hrefOf('spend', { model_group: id });
    case 'conversation':
      return hrefOf('sessions', { id });
    case 'proxy':
      return hrefOf('spend');
    default:
      return null;
  }
}

/** Of `<length of the team's id>:<team>/<user>`. */
function teamOf(memberId: string): string {
  const at = memberId.indexOf(':');
  return memberId.slice(at + 1, at + 1 + Number(memberId.slice(0, at)));
}
