// Spend: the sum of some days against the days before, by day and by one dimension; a click narrows. Total, chart and table
// answer one question; calls whose cost is not known are counted apart, never as 0.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useResource, type Loaded } from '../../api/resource.ts';
import type { GroupedSum, SumsAnswer } from '../../api/rows.ts';
import { csvOf, download } from '../../base/csv.ts';
import { DAY_MS, daysBetween, daysIn } from '../../base/days.ts';
import { hrefOf, hrefWith } from '../../base/router.ts';
import { sortInAddress } from '../../base/sort.ts';
import { callMoney, count, exactMoney, moneyTicks, percent, short, UNKNOWN } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Bar } from '../../ui/bar.tsx';
import { Button } from '../../ui/button.tsx';
import { Chart, type Series } from '../../ui/chart.tsx';
import { Chips, FilterBar, SelectFilter } from '../../ui/filters.tsx';
import { Figure, Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { sorted, Table, type Column } from '../../ui/table.tsx';
import { DIMENSIONS, pathOf, questionInAddress, SPANS, type Dimension, type Question } from './question.ts';
import { Reconciled } from './reconciled.tsx';
import './spend.css';

/** Sums change as calls end; nobody needs them by the second. */
const REFRESH_MS = 30_000;
const MOST_SERIES = 6;

export function Page(): JSX.Element {
  const texts = t().spend;
  const asked = questionInAddress();
  const choices = DIMENSIONS.map((one) => ({
    value: one === 'model_group' ? '' : one,
    label: texts.dimensions[one],
  }));
  return (
    <div class="stacked">
      <FilterBar>
        <SelectFilter
          name="span"
          label={texts.span}
          choices={SPANS.map((one) => ({ value: one === '30d' ? '' : one, label: texts.spans[one] }))}
        />
        <SelectFilter name="by" label={texts.by} choices={choices} />
        <span class="quiet">{texts.days(asked.first, asked.last)}</span>
      </FilterBar>
      <Chips names={texts.dimensions} />
      <Total asked={asked} />
      <ByDay asked={asked} />
      <Groups asked={asked} />
      <Reconciled />
    </div>
  );
}

function Total({ asked }: { asked: Question }): JSX.Element {
  const texts = t().spend;
  const now = useResource<SumsAnswer>(pathOf(asked, asked, ''), { everyMs: REFRESH_MS });
  const before = useResource<SumsAnswer>(pathOf(asked, asked.before, ''));
  const earlier = before.state.value;
  const past = earlier.is === 'ready' ? Number(earlier.data.total.spend) : null;
  return (
    <Loads from={now} what={texts.reading(count(daysIn(asked.first, asked.last)))} lines={3}>
      {({ total, whose }) => {
        const usd = Number(total.spend);
        return (
          <>
            <div class="figures">
              <Figure
                name={whose === 'own' ? texts.totalOwn : texts.total}
                value={callMoney(usd)}
                title={exactMoney(usd)}
                detail={past === null ? '' : texts.against(callMoney(past), changeOf(usd, past))}
              />
              <Figure
                name={texts.rate}
                value={callMoney(usd / daysIn(asked.first, asked.last))}
                detail={texts.rateDetail}
              />
              <Month asked={asked} />
              <Figure
                name={texts.calls}
                value={short(total.requests)}
                href={hrefOf('calls')}
                detail={texts.callsDetail(count(total.failures), short(total.total_tokens))}
              />
            </div>
            {total.unpriced === 0 ? null : (
              <p>
                <Badge tone="warn">{texts.unpriced(count(total.unpriced))}</Badge>{' '}
                <span class="quiet">{texts.unpricedWhy}</span>
              </p>
            )}
          </>
        );
      }}
    </Loads>
  );
}

/** What the month will cost at the rate of its days so far. */
function Month({ asked }: { asked: Question }): JSX.Element {
  const texts = t().spend;
  const { last } = asked;
  const first = `${last.slice(0, 7)}-01`;
  const sums = useResource<SumsAnswer>(pathOf(asked, { first, last }, ''), { everyMs: REFRESH_MS }).state
    .value;
  const days = Number(last.slice(8)) - 1 + (Date.now() % DAY_MS) / DAY_MS;
  const whole = new Date(Date.UTC(Number(last.slice(0, 4)), Number(last.slice(5, 7)), 0)).getUTCDate();
  const usd = sums.is === 'ready' ? Number(sums.data.total.spend) : null;
  return (
    <Figure
      name={texts.month}
      value={usd === null || days < 1 ? '–' : callMoney((usd / days) * whole)}
      detail={usd === null ? '' : texts.monthDetail(callMoney(usd))}
    />
  );
}

function changeOf(now: number, before: number): string {
  if (before === 0) return '';
  const share = (now - before) / before;
  if (share === 0) return percent(0);
  return `${share > 0 ? '+' : '−'}${percent(Math.abs(share))}`;
}

function ByDay({ asked }: { asked: Question }): JSX.Element {
  const texts = t().spend;
  const sums = useResource<SumsAnswer>(pathOf(asked, asked, `day,${asked.by}`), { everyMs: REFRESH_MS });
  return (
    <Panel title={texts.byDay} note={texts.utcDays}>
      <Loads from={sums} lines={6}>
        {(answer) => <Days answer={answer} asked={asked} />}
      </Loads>
    </Panel>
  );
}

function Days({ answer, asked }: { answer: SumsAnswer; asked: Question }): JSX.Element {
  const texts = t().spend;
  const { first, last, by } = asked;
  const { times, series } = useMemo(() => seriesOf(answer, asked), [answer, first, last, by]);
  if (answer.rows.length === 0) {
    return (
      <Empty title={texts.nothing} icon="money">
        {texts.nothingWhy}
      </Empty>
    );
  }
  return (
    <>
      <Chart times={times} series={series} format={callMoney} ticks={moneyTicks} label={texts.chart} />
      {answer.more ? <p class="quiet">{texts.moreGroups}</p> : null}
    </>
  );
}

/** The dearest groups by day, and the rest as one. */
function seriesOf(
  { rows, more }: SumsAnswer,
  { first, last, by }: Question,
): { readonly times: readonly number[]; readonly series: readonly Series[] } {
  const days = daysBetween(first, last);
  const at = new Map(days.map((day, i) => [day, i]));
  const sums = new Map<string, number>();
  for (const row of rows) {
    const name = nameOf(row, by);
    sums.set(name, (sums.get(name) ?? 0) + Number(row.spend));
  }
  const names = [...sums].toSorted(([, a], [, b]) => b - a).map(([name]) => name);
  const shown = names.length > MOST_SERIES ? names.slice(0, MOST_SERIES - 1) : names;
  const rest = names.length > shown.length || more ? [t().spend.others] : [];
  const all = [...shown, ...rest];
  const values = all.map(() => days.map(() => 0));
  for (const row of rows) {
    const index = shown.indexOf(nameOf(row, by));
    const line = values[index === -1 ? all.length - 1 : index];
    const day = at.get(String(row['day']));
    if (line !== undefined && day !== undefined) line[day] = (line[day] ?? 0) + Number(row.spend);
  }
  return {
    times: days.map((day) => Date.parse(day) / 1000),
    series: all.map((name, i) => ({
      name,
      values: values[i] ?? [],
      colour: `--series-${i + 1}`,
      kind: days.length === 1 ? 'bars' : 'line',
    })),
  };
}

function nameOf(row: GroupedSum, by: Dimension): string {
  const value = row[by];
  return value === null || value === undefined || value === '' ? t().spend.without : String(value);
}

function Groups({ asked }: { asked: Question }): JSX.Element {
  const texts = t().spend;
  const { by } = asked;
  const sums = useResource<SumsAnswer>(pathOf(asked, asked, by), { everyMs: REFRESH_MS });
  const before = beforeOf(useResource<SumsAnswer>(pathOf(asked, asked.before, by)).state.value, by);
  const { sort, onSort } = sortInAddress({ by: 'spend', descending: true });
  return (
    <Loads from={sums} lines={8} dims>
      {(answer) => (
        <Panel
          title={texts.byWhat(texts.dimensions[by])}
          note={answer.more ? texts.dearest(count(answer.rows.length)) : count(answer.rows.length)}
          flush
          actions={
            <Button kind="quiet" icon="download" onClick={() => exportOf(answer, asked)}>
              {texts.csv}
            </Button>
          }
        >
          <Table
            label={texts.byWhat(texts.dimensions[by])}
            rows={sorted(answer.rows, sort, (row) => valueOf(row, sort.by, by))}
            columns={columns(asked, answer, before)}
            keyOf={(row) => nameOf(row, by)}
            sort={sort}
            onSort={onSort}
            empty={
              <Empty title={texts.nothing} icon="money">
                {texts.nothingWhy}
              </Empty>
            }
            foot={[
              texts.sum,
              exactMoney(Number(answer.total.spend)),
              '',
              '',
              count(answer.total.requests),
              count(answer.total.failures),
              count(answer.total.total_tokens),
              count(answer.total.unpriced),
            ]}
          />
          {by === 'tag' ? <p class="quiet spend-note">{texts.tagsOverlap}</p> : null}
        </Panel>
      )}
    </Loads>
  );
}

/** What groups cost in the days before. */
type Before =
  | { readonly is: 'unknown' }
  | {
      readonly is: 'known';
      readonly sums: ReadonlyMap<string, number>;
      /** Whether a group that is not among them cost nothing. */
      readonly isWhole: boolean;
    };

function beforeOf(past: Loaded<SumsAnswer>, by: Dimension): Before {
  if (past.is !== 'ready') return { is: 'unknown' };
  const { rows, more } = past.data;
  const sums = new Map(rows.map((row) => [nameOf(row, by), Number(row.spend)]));
  return { is: 'known', sums, isWhole: !more };
}

/** How the sum of a group has changed; a dash where that is not known. */
function Change({ name, usd, before }: { name: string; usd: number; before: Before }): JSX.Element {
  const past = before.is === 'known' ? before.sums.get(name) : undefined;
  if (past !== undefined)
    return <span title={exactMoney(past)}>{changeOf(usd, past) || callMoney(past)}</span>;
  const isNew = before.is === 'known' && before.isWhole;
  return <span class="quiet">{isNew ? t().spend.isNew : UNKNOWN}</span>;
}

function valueOf(row: GroupedSum, column: string, by: Dimension): string | number | null {
  switch (column) {
    case 'name':
      return nameOf(row, by);
    case 'requests':
      return row.requests;
    case 'failures':
      return row.failures;
    case 'tokens':
      return row.total_tokens;
    case 'unpriced':
      return row.unpriced;
    default:
      return Number(row.spend);
  }
}

function columns({ by }: Question, { total }: SumsAnswer, before: Before): readonly Column<GroupedSum>[] {
  const texts = t().spend;
  const whole = Number(total.spend);
  return [
    {
      key: 'name',
      title: texts.dimensions[by],
      sorts: true,
      cell: (row) => {
        const value = row[by];
        if (value === null || value === undefined || value === '')
          return <span class="quiet">{texts.without}</span>;
        const next = by === 'model_group' ? 'team' : null; // a click narrows, and divides by what is asked next
        return (
          <a class="cut" href={hrefWith({ [by]: value, by: next })} title={String(value)}>
            {by === 'api_key' ? String(value).slice(0, 12) : value}
          </a>
        );
      },
    },
    {
      key: 'spend',
      title: texts.spent,
      align: 'end',
      sorts: true,
      cell: (row) => <span title={exactMoney(Number(row.spend))}>{callMoney(Number(row.spend))}</span>,
    },
    {
      key: 'share',
      title: texts.share,
      width: '9rem',
      minor: true,
      cell: (row) => {
        const share = whole === 0 ? 0 : Number(row.spend) / whole;
        return (
          <span class="spend-share">
            <Bar share={share} tone="busy" label={texts.share} /> {percent(share)}
          </span>
        );
      },
    },
    {
      key: 'before',
      title: texts.before,
      align: 'end',
      minor: true,
      cell: (row) => <Change name={nameOf(row, by)} usd={Number(row.spend)} before={before} />,
    },
    { key: 'requests', title: texts.calls, align: 'end', sorts: true, cell: (row) => count(row.requests) },
    {
      key: 'failures',
      title: texts.failures,
      align: 'end',
      sorts: true,
      minor: true,
      cell: (row) => count(row.failures),
    },
    {
      key: 'tokens',
      title: texts.tokens,
      align: 'end',
      sorts: true,
      minor: true,
      cell: (row) => short(row.total_tokens),
    },
    {
      key: 'unpriced',
      title: texts.unpricedColumn,
      align: 'end',
      sorts: true,
      minor: true,
      hint: texts.unpricedWhy,
      cell: (row) => (row.unpriced === 0 ? '0' : <Badge tone="warn">{count(row.unpriced)}</Badge>),
    },
  ];
}

function exportOf({ rows }: SumsAnswer, { by, first, last }: Question): void {
  const head = [
    by,
    'spend_usd',
    'requests',
    'failures',
    'prompt_tokens',
    'completion_tokens',
    'total_tokens',
    'unpriced',
  ];
  const lines = rows.map((row) => [
    row[by] ?? '',
    row.spend,
    row.requests,
    row.failures,
    row.prompt_tokens,
    row.completion_tokens,
    row.total_tokens,
    row.unpriced,
  ]);
  download(`spend-by-${by}-${first}-${last}.csv`, csvOf([head, ...lines]));
}
