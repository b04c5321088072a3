// Sums of spend in the dialect's shapes: `/spend/tags`, `/spend/keys`, `/spend/users`, `/global/spend/report`; and our own
// `/spend/report`. All from the daily sums; no row is read.
import type { Json } from '../bodies/json.ts';
import { REPORT_BY, isReportBy, spendReport } from '../spend/report/spend-report.ts';
import { dollarsOf } from '../spend/record/cost.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { Activity, ActivityFilter, Facet } from '../spend/store/store.ts';
import { days, groupsOf, list, one, read, spent, whole, wrong } from './spend-query.ts';

const REPORT_ROWS = 10_000;
const MAX_REPORT_ROWS = 100_000;

/** `GET /spend/tags`: a call of two tags counts for both. */
export async function spendTags(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const groups = await groupsOf(x, { ...days(query, false), ...list(query, 'tags', 'tag') }, ['tag']);
  sendJson(
    x,
    groups.map(({ group, sums }) => ({
      individual_request_tag: group.tag,
      log_count: sums.requests,
      total_spend: dollarsOf(sums.spendPico),
    })),
  );
}

/** `GET /spend/keys`: keys that have called, the dearest first. */
export async function spendKeys(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const groups = await groupsOf(x, days(query, false), ['apiKeyHash']);
  const { directory } = x.active.services.access;
  sendJson(
    x,
    groups.map(({ group, sums }) => {
      const key = directory.keyOfCredential(group.apiKeyHash ?? '', 0);
      return {
        token: group.apiKeyHash,
        key_name: key?.name ?? null,
        key_alias: key?.alias ?? null,
        spend: dollarsOf(sums.spendPico),
        max_budget: key?.budget.maxBudget ?? null,
        requests: sums.requests,
        total_tokens: sums.totalTokens,
      };
    }),
  );
}

/** `GET /spend/users`: users that calls are attributed to, the dearest first; `user_id` picks one. */
export async function spendUsers(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const groups = await groupsOf(x, { ...days(query, false), ...one(query, 'user_id', 'user') }, ['user']);
  const { directory } = x.active.services.access;
  sendJson(
    x,
    groups
      .filter(({ group }) => group.user !== '')
      .map(({ group, sums }) => ({
        user_id: group.user,
        spend: dollarsOf(sums.spendPico),
        max_budget: directory.user(group.user ?? '')?.budget.maxBudget ?? null,
        requests: sums.requests,
        total_tokens: sums.totalTokens,
      })),
  );
}

/** `GET /spend/report`: the report of `throughline spend report`, exact. */
export async function ownReport(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const by = query.get('by') ?? '';
  if (!isReportBy(by)) throw wrong('by', `must be one of ${Object.keys(REPORT_BY).join(', ')}`);
  const limit = whole(query, 'limit', REPORT_ROWS, MAX_REPORT_ROWS);
  sendJson(x, await read(spendReport(x.active.services.ledger.reader, by, days(query, false), limit)));
}

/** `GET /global/spend/report`: per day by team or customer; by key, user or team and customer over the whole time. */
export async function globalReport(x: Exchange): Promise<void> {
  const query = new URLSearchParams(x.query);
  const filter = days(query, true);
  const groupBy = query.get('group_by') || 'team';
  const has = (name: string): boolean => (query.get(name) ?? '') !== '';
  if (!['team', 'customer', 'api_key'].includes(groupBy))
    throw wrong('group_by', 'must be team, customer or api_key');
  if (has('api_key')) return sendKeys(x, { ...filter, ...one(query, 'api_key', 'apiKeyHash') });
  if (has('internal_user_id')) return sendKeys(x, { ...filter, ...one(query, 'internal_user_id', 'user') });
  const whose = { ...filter, ...one(query, 'team_id', 'team'), ...one(query, 'customer_id', 'endUser') };
  if (has('team_id') && has('customer_id')) return sendDays(x, whose, 'teams_customers', ['team', 'endUser']);
  if (groupBy === 'api_key') return sendKeys(x, whose);
  if (groupBy === 'customer') return sendDays(x, whose, 'customers', ['endUser']);
  return sendDays(x, whose, 'teams', ['team']);
}

/** The dialect calls the people whom calls are for customers. */
const NAMES = { team: 'team_name', endUser: 'customer' } as const;

async function sendDays(
  x: Exchange,
  filter: ActivityFilter,
  member: string,
  whose: readonly (keyof typeof NAMES)[],
): Promise<void> {
  const facets: readonly (Facet | 'day')[] = ['day', ...whose, 'model', 'apiKeyHash'];
  const byDay = Map.groupBy(await groupsOf(x, filter, facets), ({ group }) => group.day ?? '');
  const byDate = [...byDay.keys()].sort().map((day) => {
    const parties = Map.groupBy(byDay.get(day) ?? [], ({ group }) =>
      JSON.stringify(whose.map((f) => group[f])),
    );
    return {
      group_by_day: `${day}T00:00:00+00:00`,
      [member]: Array.from(parties.values(), (groups) => party(groups, whose)),
    };
  });
  sendJson(x, byDate);
}

function party(groups: readonly Activity[], whose: readonly (keyof typeof NAMES)[]): Json {
  const named = whose.map((facet) => {
    const name = groups[0]?.group[facet] ?? '';
    return [NAMES[facet], facet === 'team' && name === '' ? 'Unassigned Team' : name] as const;
  });
  return {
    ...Object.fromEntries(named),
    total_spend: dollarsOf(spent(groups)),
    metadata: groups.map(({ group, sums }) => ({
      model: group.model,
      api_key: group.apiKeyHash,
      spend: dollarsOf(sums.spendPico),
      total_tokens: sums.totalTokens,
    })),
  };
}

async function sendKeys(x: Exchange, filter: ActivityFilter): Promise<void> {
  const groups = await groupsOf(x, filter, ['apiKeyHash', 'model']);
  const byKey = [...Map.groupBy(groups, ({ group }) => group.apiKeyHash ?? '')];
  const tokens = (some: readonly Activity[], kind: 'promptTokens' | 'completionTokens'): number =>
    some.reduce((sum, { sums }) => sum + sums[kind], 0);
  const keys = byKey
    .sort(([, a], [, b]) => (spent(a) < spent(b) ? 1 : -1))
    .map(([key, models]) => ({
      api_key: key,
      total_cost: dollarsOf(spent(models)),
      total_input_tokens: tokens(models, 'promptTokens'),
      total_output_tokens: tokens(models, 'completionTokens'),
      model_details: models.map((model) => ({
        model: model.group.model,
        total_cost: dollarsOf(model.sums.spendPico),
        total_input_tokens: model.sums.promptTokens,
        total_output_tokens: model.sums.completionTokens,
      })),
    }));
  sendJson(x, keys);
}
