// What was spent of a budget: a figure with its bar for lists, and every budget of one thing with its forecast.
import type { JSX } from 'preact';
import type { Usage } from '../api/access.ts';
import { DAY_MS } from '../base/days.ts';
import { now } from '../base/now.ts';
import { exactMoney, money, moneyOf, percent } from '../format/numbers.ts';
import { ago, dateTime, day } from '../format/time.ts';
import { t } from '../text/index.ts';
import { Badge } from './badge.tsx';
import { Bar } from './bar.tsx';
import './budget.css';

/** "$3.10 of $50.00" over a bar; without a limit the figure alone. */
export function Spent({
  spend,
  limit,
  label,
}: {
  readonly spend: number;
  readonly limit: number | null;
  readonly label: string;
}): JSX.Element {
  const figure = <span title={exactMoney(spend)}>{moneyOf(spend, limit)}</span>;
  if (limit === null) return figure;
  return (
    <span class="spent">
      <span class="figures-of">
        {figure} <span class="quiet">/ {exactMoney(limit)}</span>
      </span>
      <Bar share={shareOf(spend, limit)} label={label} />
    </span>
  );
}

export function shareOf(spend: number, limit: number): number {
  return limit > 0 ? spend / limit : 1;
}

/** Of the limit that refuses calls, else of the one that warns; null = neither. */
export function shareUsed({
  current_spend: spent,
  reserved,
  max_budget: most,
  soft_budget: soft,
}: Usage): number | null {
  const limit = most ?? soft;
  return limit === null ? null : shareOf(spent + reserved, limit);
}

/** What of the limit will be used when the window ends, if calls go on as of late; null = nobody can say. */
export function shareAtEnd(usage: Usage): number | null {
  const { current_spend: spent, budget_reset_at: resetsAt, forecast } = usage;
  const limit = usage.max_budget ?? usage.soft_budget;
  if (limit === null || resetsAt === null || forecast === null) return null;
  const days = Math.max(0, Date.parse(resetsAt) - now.value) / DAY_MS;
  return shareOf(spent + forecast.per_day * days, limit);
}

/** What is used up within so long is somebody's business now. */
const SOON_MS = 30 * DAY_MS;
/** A forecast of some days' calls says nothing of years. */
const FAR_MS = 365 * DAY_MS;

/** What becomes of a budget if calls go on as of late. */
export function Forecast({ usage }: { usage: Usage }): JSX.Element {
  const texts = t().budgets;
  const share = shareUsed(usage);
  if (share !== null && share >= 1) {
    return <Badge tone={usage.max_budget === null ? 'warn' : 'bad'}>{texts.usedUp}</Badge>;
  }
  const { forecast } = usage;
  if (forecast === null) return <span class="quiet">{texts.noForecast}</span>;
  const { used_up_at: at, earliest, latest } = forecast;
  const leftMs = at === null ? null : Date.parse(at) - now.value;
  if (leftMs === null || leftMs > FAR_MS) {
    return (
      <Badge tone="good" title={texts.perDay(money(forecast.per_day))}>
        {leftMs === null ? texts.lasts : texts.lastsLong}
      </Badge>
    );
  }
  const band =
    earliest === null && latest === null
      ? ''
      : texts.band(day(earliest), latest === null ? null : day(latest));
  return (
    <span title={`${texts.perDay(money(forecast.per_day))} · ${dateTime(at)}`}>
      <Badge tone={leftMs < SOON_MS ? 'warn' : 'idle'}>{texts.usedUpIn(ago(at, now.value))}</Badge>
      {band === '' ? null : <span class="quiet band">{band}</span>}
    </span>
  );
}

/** Each budget of one thing. */
export function Usages({
  usages,
}: {
  usages: readonly (readonly [name: string, usage: Usage])[];
}): JSX.Element {
  const texts = t().budgets;
  return (
    <ul class="usages">
      {usages.map(([name, usage]) => (
        <li key={name}>
          <p class="line">
            <strong>{windowName(usage)}</strong>
            <span>
              <span title={exactMoney(usage.current_spend)}>
                {moneyOf(usage.current_spend, usage.max_budget ?? usage.soft_budget)}
              </span>{' '}
              <span class="quiet">
                / {exactMoney(usage.max_budget ?? usage.soft_budget)} · {percent(shareUsed(usage))}
              </span>
            </span>
          </p>
          <Bar share={shareUsed(usage)} forecast={shareAtEnd(usage)} label={windowName(usage)} />
          <p class="line">
            <Forecast usage={usage} />
            <span class="quiet">
              {usage.budget_reset_at === null
                ? texts.neverResets
                : texts.resets(ago(usage.budget_reset_at, now.value))}
            </span>
          </p>
        </li>
      ))}
    </ul>
  );
}

/** "30d", "1d · gpt-5", "in all". */
export function windowName({ budget_duration: window, model, max_budget: most }: Usage): string {
  const texts = t().budgets;
  const name = window === null ? texts.ever : texts.every(window);
  const kind = most === null ? ` · ${texts.softOnly}` : '';
  return `${model === null ? name : `${name} · ${model}`}${kind}`;
}
