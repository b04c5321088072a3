// Faults of calls about keys, users, teams, budgets and what belongs to them: a part of the table in codes.ts.
import { client } from './fault-rule.ts';
import type { FaultRule } from './fault-rule.ts';

export const MANAGEMENT_FAULTS = {
  management_denied: client(
    403,
    'The key may not see or change this key, team or user; the message says why.',
    'Ask an administrator, or use a key of a user who may: see docs/keys-api.md.',
    'auth_error',
  ),
  object_in_config: client(
    400,
    'The key or team is stated in the configuration file, which the API cannot edit.',
    'Edit the file; it is reloaded at once.',
  ),
  invalid_fields: client(
    422,
    'Members of the body of a call about keys, teams, users or budgets are missing or of a wrong type.',
    'The body lists each of them: `detail[].loc` and `detail[].msg`.',
    'validation_error',
  ),
  invalid_object: client(
    400,
    'A value in a call about keys, teams, users or budgets cannot be: a negative budget, an unknown duration, a key of a wrong form, more than upperbound_key_generate_params allows.',
    'The message names it.',
    'bad_request_error',
  ),
  object_exists: client(
    400,
    'There is a key, team, user or budget of that id, alias or e-mail address.',
    'Take another one, or update the one that is there.',
    'bad_request_error',
  ),
  object_taken: client(
    409,
    'There is a user of that id or e-mail address.',
    'Take another one, or update the user that is there.',
    'bad_request_error',
  ),
  object_conflict: client(
    409,
    'The object was changed by several calls at the same time; nothing of this one was stored.',
    'Read it again, and send the change again.',
    'conflict_error',
  ),
  object_in_use: client(
    400,
    'The budget is shared by keys, teams, users or customers, which would be without a cap.',
    'Give them another budget first; the message names them.',
    'bad_request_error',
  ),
  object_not_found: client(
    404,
    'There is no such key, team, user or budget.',
    'The lists (GET /key/list, /team/list, /user/list, /budget/list) have the ids.',
    'not_found_error',
  ),
} as const satisfies Record<string, FaultRule>;
