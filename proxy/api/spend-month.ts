// What the last 30 days cost, in the dialect's shapes: `/global/spend`, `/global/spend/logs`, `/global/spend/keys`,
// `/global/spend/models`. From the daily sums; `start_date` and `end_date` ask for other days.
import type { Exchange } from '../pipeline/exchange.ts';
import { sendJson } from '../pipeline/respond.ts';
import { dollarsOf } from '../spend/record/cost.ts';
import type { Activity, ActivityFilter } from '../spend/store/store.ts';
import { dayOf } from '../spend/store/utc-dates.ts';
import { days, groupsOf, one, spent, whole } from './spend-query.ts';

const MONTH_MS = 30 * 86_400_000;
/** Of one list. */
const MOST = 100_000;
/** LiteLLM's. */
const MODELS = 10;

/** `GET /global/spend`. */
export async function globalSpend(x: Exchange): Promise<void> {
  const groups = await groupsOf(x, asked(x), []);
  const rule = x.active.snapshot.budgets.rules.find(({ scope }) => scope === 'proxy');
  sendJson(x, { spend: total(groups), max_budget: rule?.maxBudget ?? 0 });
}

/** `GET /global/spend/logs`: by day; `api_key` is a key's SHA-256. */
export async function globalLogs(x: Exchange): Promise<void> {
  const key = one(new URLSearchParams(x.query), 'api_key', 'apiKeyHash');
  const groups = await groupsOf(x, { ...asked(x), ...key }, ['day']);
  const byDay = groups.map(({ group, sums }) => ({
    date: group.day ?? '',
    spend: dollarsOf(sums.spendPico),
  }));
  sendJson(
    x,
    byDay.toSorted((a, b) => (a.date < b.date ? -1 : 1)),
  );
}

/** `GET /global/spend/keys?limit=`: the dearest first. */
export async function globalKeys(x: Exchange): Promise<void> {
  const limit = whole(new URLSearchParams(x.query), 'limit', MOST, MOST);
  const groups = await groupsOf(x, asked(x), ['apiKeyHash']);
  const { directory } = x.active.services.access;
  sendJson(
    x,
    groups.slice(0, limit).map(({ group, sums }) => {
      const key = directory.keyOfCredential(group.apiKeyHash ?? '', 0);
      return {
        api_key: group.apiKeyHash,
        key_alias: key?.alias ?? null,
        key_name: key?.name ?? null,
        total_spend: dollarsOf(sums.spendPico),
      };
    }),
  );
}

/** `GET /global/spend/models?limit=`: the dearest first. */
export async function globalModels(x: Exchange): Promise<void> {
  const limit = whole(new URLSearchParams(x.query), 'limit', MODELS, MOST);
  const groups = await groupsOf(x, asked(x), ['model']);
  const models = groups.filter(({ group }) => group.model !== '').slice(0, limit);
  sendJson(
    x,
    models.map(({ group, sums }) => ({ model: group.model, total_spend: dollarsOf(sums.spendPico) })),
  );
}

function asked(x: Exchange): ActivityFilter {
  const stated = days(new URLSearchParams(x.query), false);
  const untilMs = stated.endDay === undefined ? x.startMs : Date.parse(stated.endDay);
  return { startDay: dayOf(untilMs - MONTH_MS), ...stated };
}

const total = (groups: readonly Activity[]): number => dollarsOf(spent(groups));
