// What may be spent: `budgets` and the dialect's own names for it -> BudgetSettings. Pure; reports problems to the diagnostics.
import type { BudgetRule, BudgetSettings, RuleScope } from '../budget-settings.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import type { Deployment } from '../snapshot.ts';
import type { Path } from '../tree.ts';

type Amount = number | string | undefined;

interface PlacedRule {
  readonly rule: BudgetRule;
  readonly path: Path;
}

const usd = (amount: Amount): number | null => (amount === undefined ? null : Number(amount));

export function budgetsOf(
  file: GatewayFile,
  deployments: readonly Deployment[],
  diagnostics: Diagnostics,
): BudgetSettings {
  const { litellm_settings: litellm, general_settings: general } = file;
  const placed = [...stated(file, diagnostics), ...fromDialect(file), ...ofDeployments(file, deployments)];
  checkRules(placed, file, diagnostics);
  const [hour = 0, minute = 0] = litellm.budget_reset_time.split(':').map(Number);
  return {
    rules: placed.map(({ rule }) => rule),
    timeZone: timeZoneOf(litellm.timezone, diagnostics),
    resetMinute: hour * 60 + minute,
    exceededStatus: statusOf(litellm.budget_exceeded_status_code, diagnostics),
    reservation: general.budget_reservation,
    metricsLimit: general.budget_metrics_limit,
    allowUnverified: general.allow_requests_on_db_unavailable,
    userBudgetsOnTeamKeys: general.apply_user_budget_to_team_keys,
  };
}

/** The entries of `budgets`. */
function stated({ budgets }: GatewayFile, diagnostics: Diagnostics): PlacedRule[] {
  return budgets.flatMap((entry, index) => {
    const path = ['budgets', index];
    const { scope, id = '' } = entry;
    if ((scope === 'proxy') !== (id === '')) {
      const [message, fix] =
        scope === 'proxy'
          ? ['the proxy is one: it has no id', 'remove id']
          : [`does not say which ${scope}`, 'add id, or id: "*" for each one by itself'];
      diagnostics.error(path, message, fix);
      return [];
    }
    return [{ path, rule: ruleOf(scope, id, entry) }];
  });
}

function ruleOf(
  scope: RuleScope,
  id: string,
  terms: { readonly max_budget?: Amount; readonly soft_budget?: Amount; readonly budget_duration?: string },
): BudgetRule {
  return {
    scope,
    id,
    maxBudget: usd(terms.max_budget),
    softBudget: usd(terms.soft_budget),
    budgetDuration: terms.budget_duration ?? null,
  };
}

/** The dialect's own names. A whole proxy of 0 has no budget there. */
function fromDialect({
  litellm_settings: litellm,
  general_settings: general,
  router_settings: router,
}: GatewayFile): PlacedRule[] {
  const rules: PlacedRule[] = [];
  const add = (path: Path, scope: RuleScope, id: string, terms: Parameters<typeof ruleOf>[2]): void => {
    rules.push({ path, rule: ruleOf(scope, id, terms) });
  };
  if (Number(litellm.max_budget ?? 0) > 0) add(['litellm_settings', 'max_budget'], 'proxy', '', litellm);
  else if (Number(general.max_budget ?? 0) > 0) add(['general_settings', 'max_budget'], 'proxy', '', general);
  const endUser = litellm.max_end_user_budget === undefined ? 'max_user_budget' : 'max_end_user_budget';
  if (litellm[endUser] !== undefined)
    add(['litellm_settings', endUser], 'end_user', '*', { max_budget: litellm[endUser] });
  const session = litellm.max_budget_per_session;
  if (session !== undefined)
    add(['litellm_settings', 'max_budget_per_session'], 'conversation', '*', { max_budget: session });
  for (const [tag, terms] of Object.entries(litellm.tag_budget_config))
    add(['litellm_settings', 'tag_budget_config', tag], 'tag', tag, terms);
  for (const [provider, terms] of Object.entries(router.provider_budget_config)) {
    const max_budget = terms.budget_limit ?? terms.max_budget;
    const budget_duration = terms.time_period ?? terms.budget_duration;
    add(['router_settings', 'provider_budget_config', provider], 'provider', provider, {
      ...(max_budget === undefined ? {} : { max_budget }),
      ...(budget_duration === undefined ? {} : { budget_duration }),
    });
  }
  return rules;
}

function ofDeployments(
  { router_settings: router }: GatewayFile,
  deployments: readonly Deployment[],
): PlacedRule[] {
  const common = router.default_litellm_params;
  return deployments.flatMap(({ id, publicParams: own }) => {
    const max_budget = own['max_budget'] ?? common.max_budget;
    if (typeof max_budget !== 'number' && typeof max_budget !== 'string') return [];
    const duration = own['budget_duration'] ?? common.budget_duration;
    const terms = { max_budget, ...(typeof duration === 'string' ? { budget_duration: duration } : {}) };
    return [{ path: ['model_list'], rule: ruleOf('deployment', id, terms) }];
  });
}

function checkRules(placed: readonly PlacedRule[], file: GatewayFile, diagnostics: Diagnostics): void {
  const taken = new Set<string>();
  for (const { rule, path } of placed) {
    const { scope, id, maxBudget, softBudget, budgetDuration } = rule;
    if (maxBudget === null && softBudget === null)
      diagnostics.error(path, 'states no amount', 'add max_budget, soft_budget, or both');
    if (maxBudget !== null && softBudget !== null && softBudget >= maxBudget)
      diagnostics.warn(
        path,
        'alerts when calls are refused already',
        'lower soft_budget below max_budget',
        'key',
      );
    const name = `${scope} ${id} ${budgetDuration ?? ''}`;
    if (taken.has(name))
      diagnostics.error(
        path,
        `another budget has the same scope, id and duration`,
        'keep one of the two',
        'key',
      );
    taken.add(name);
    if (scope === 'end_user' && file.litellm_settings.disable_end_user_cost_tracking)
      diagnostics.error(
        path,
        'end users are not recorded (litellm_settings.disable_end_user_cost_tracking), so nothing counts for this budget',
        'remove one of the two',
        'key',
      );
    const isOfRows = scope === 'deployment' || scope === 'profile'; // conversations are shorter than any retention
    if (
      isOfRows &&
      budgetDuration === null &&
      file.general_settings.maximum_spend_logs_retention_period !== undefined
    )
      diagnostics.warn(
        path,
        `is counted from rows, and rows are removed after ${file.general_settings.maximum_spend_logs_retention_period}`,
        'add budget_duration, or keep rows for ever',
        'key',
      );
  }
}

function timeZoneOf(name: string, diagnostics: Diagnostics): string {
  if (name === 'UTC') return name; // the usual one, and a formatter takes milliseconds to make
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return name;
  } catch {
    diagnostics.error(
      ['litellm_settings', 'timezone'],
      'is no time zone',
      'write an IANA name such as Europe/Berlin',
    );
    return 'UTC';
  }
}

function statusOf(status: number, diagnostics: Diagnostics): number {
  if (status === 429)
    diagnostics.warn(
      ['litellm_settings', 'budget_exceeded_status_code'],
      'makes clients send a refused call again and again',
      'remove it, or write 422 or 400',
      'key',
    );
  return status;
}
