// Members of LiteLLM's bodies that would limit, check or steer calls, and that nothing here acts on. Kept silently, whoever sent
// one would count on it; so a value is refused with what to do instead, as a setting of the file that protects nothing is.
// What is empty says nothing and is taken: clients send whole forms. It is returned where it has LiteLLM's type.
import { isObject } from '../../bodies/json.ts';
import { anything, described } from './fields.ts';
import { invalid } from './refusals.ts';

/** LiteLLM's type of a member. */
type Shape = 'list' | 'object' | 'flag' | 'text' | 'other';

const unenforced = (shape: Shape, instead: string) =>
  described<unknown>({ description: 'Empty: not acted upon here.' }, (value, at, mistakes) => {
    const kept = anything(value, at, mistakes); // null: it is nested too deep, or too long
    if (isEmpty(kept)) return shapeOf(kept) === shape ? kept : null;
    const name = String(at.at(-1));
    throw invalid(`${name} would do nothing: ${instead}`, name);
  });

function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) return 'list';
  if (isObject(value)) return 'object';
  if (typeof value === 'boolean') return 'flag';
  return typeof value === 'string' ? 'text' : 'other';
}

function isEmpty(value: unknown): boolean {
  if (isObject(value)) return Object.values(value).every(isEmpty);
  return Array.isArray(value) ? value.length === 0 : value === null || value === '' || value === false;
}

const guardrails = unenforced(
  'list',
  'there are no guardrails here. Let the gateway behind this proxy check what is said, and leave this out.',
);
const router_settings = unenforced(
  'object',
  'settings of the router stand in the configuration file and hold for all. Leave this out.',
);

/** Of keys, teams and users. */
export const UNCHECKED = { guardrails, policies: guardrails } as const;

export const UNENFORCED_OF_KEYS = {
  ...UNCHECKED,
  router_settings,
  enforced_params: unenforced('list', 'no members of calls are asked for by key. Leave it out.'),
  tag_rpm_limit: unenforced(
    'object',
    'state rpm_limit at the tag itself (POST /tag/new), and leave this out.',
  ),
  end_user_budget_id: unenforced(
    'text',
    'state max_end_user_budget in the configuration, or a budget at each customer (POST /customer/new), and leave this out.',
  ),
  auto_rotate: unenforced(
    'flag',
    'keys are not rotated by a timer. Call POST /key/{key}/regenerate with a grace_period, and leave this out.',
  ),
} as const;

export const UNENFORCED_OF_REGENERATION = {
  new_master_key: unenforced(
    'text',
    'the master key stands in the configuration (general_settings.master_key). Change it there, and leave this out.',
  ),
} as const;

export const UNENFORCED_OF_TEAMS = {
  ...UNCHECKED,
  router_settings,
  team_member_key_duration: unenforced('text', 'state duration at each key, and leave this out.'),
  default_team_member_models: unenforced(
    'list',
    'members may call what the team may. State models at their keys, and leave this out.',
  ),
} as const;

export const UNENFORCED_OF_MEMBERS = {
  allowed_models: unenforced(
    'list',
    'a member may call what the team may. State models at their keys, and leave this out.',
  ),
  temp_budget_increase: unenforced('other', 'state max_budget_in_team, and leave this out.'),
} as const;

export const UNENFORCED_OF_CUSTOMERS = {
  models: unenforced(
    'list',
    'what an end user may call is not limited. State models at the key or team, and leave this out.',
  ),
  allowed_model_region: unenforced(
    'other',
    'deployments are not chosen by region. Give these users a key whose models are served where they may be, and leave this out.',
  ),
} as const;
