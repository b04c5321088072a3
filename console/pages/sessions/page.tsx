// The conversations of some days by cost; one of them with its calls in order, a running sum, and what the brake saw.
import type { JSX } from 'preact';
import { useResource } from '../../api/resource.ts';
import type { GroupedSum, SumsAnswer } from '../../api/rows.ts';
import { addDays, dayFromNow } from '../../base/days.ts';
import { param, setParams } from '../../base/router.ts';
import { sortInAddress } from '../../base/sort.ts';
import { callMoney, count, exactMoney, percent, short } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Bar } from '../../ui/bar.tsx';
import { Chips, FilterBar, SearchFilter, SelectFilter } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { sorted, Table, type Column } from '../../ui/table.tsx';
import { features, may } from '../../app/session.ts';
import { Braked } from './braked.tsx';
import { ConversationDrawer } from './conversation.tsx';
import './sessions.css';

const REFRESH_MS = 10_000;
const MOST = 200;
const DAYS: Readonly<Record<string, number>> = { '': 1, '7d': 7, '30d': 30 };

export function Page(): JSX.Element {
  const texts = t().sessions;
  const id = param('id');
  return (
    <div class="stacked">
      <FilterBar>
        <SearchFilter name="find" label={texts.find} mono />
        <SelectFilter
          name="span"
          label={texts.span}
          choices={Object.entries(texts.spans).map(([value, label]) => ({ value, label }))}
        />
        <SearchFilter name="team" label={texts.columns.team} />
        <SearchFilter name="user" label={texts.columns.user} />
      </FilterBar>
      <Chips names={{ find: texts.find, team: texts.columns.team, user: texts.columns.user }} />
      {may('see_all') && features.value?.brake === true ? <Braked /> : null}
      <List selected={id} />
      {id === '' ? null : <ConversationDrawer id={id} />}
    </div>
  );
}

function List({ selected }: { selected: string }): JSX.Element {
  const texts = t().sessions;
  const last = dayFromNow(0);
  const query = new URLSearchParams({
    by: 'session',
    start_date: addDays(last, 1 - (DAYS[param('span')] ?? 1)),
    end_date: last,
    limit: String(MOST),
  });
  if (param('find') !== '') query.set('session_id', param('find'));
  if (param('team') !== '') query.set('team_id', param('team'));
  if (param('user') !== '') query.set('user_id', param('user'));
  const sums = useResource<SumsAnswer>(`spend/sums?${query}`, { everyMs: REFRESH_MS });
  const { sort, onSort } = sortInAddress({ by: 'spend', descending: true });
  return (
    <Loads from={sums} what={texts.reading} lines={10} dims>
      {(answer) => (
        <Panel
          title={t().pages.sessions.name}
          note={answer.more ? texts.dearest(count(answer.rows.length)) : count(answer.rows.length)}
          flush
        >
          <Table
            label={t().pages.sessions.name}
            rows={sorted(answer.rows, sort, (row) => valueOf(row, sort.by))}
            columns={columns(Math.max(0, ...answer.rows.map(({ spend }) => Number(spend))))}
            keyOf={idOf}
            selected={selected}
            onOpen={(row) => setParams({ id: idOf(row) })}
            sort={sort}
            onSort={onSort}
            empty={
              <Empty title={texts.none} icon="sessions">
                {texts.noneWhy}
              </Empty>
            }
          />
        </Panel>
      )}
    </Loads>
  );
}

const idOf = (row: GroupedSum): string => String(row['session'] ?? '');

function valueOf(row: GroupedSum, column: string): string | number | null {
  switch (column) {
    case 'session':
      return idOf(row);
    case 'requests':
      return row.requests;
    case 'failures':
      return row.failures;
    case 'tokens':
      return row.total_tokens;
    default:
      return Number(row.spend);
  }
}

function columns(dearest: number): readonly Column<GroupedSum>[] {
  const names = t().sessions.columns;
  return [
    {
      key: 'session',
      title: names.session,
      sorts: true,
      cell: (row) =>
        idOf(row) === '' ? (
          <span class="quiet">{t().sessions.withoutSession}</span>
        ) : (
          <span class="mono cut" title={idOf(row)}>
            {idOf(row)}
          </span>
        ),
    },
    {
      key: 'spend',
      title: names.spend,
      align: 'end',
      sorts: true,
      cell: (row) => <span title={exactMoney(Number(row.spend))}>{callMoney(Number(row.spend))}</span>,
    },
    {
      key: 'share',
      title: names.share,
      width: '10rem',
      minor: true,
      cell: (row) => (
        <span class="sessions-share">
          <Bar share={dearest === 0 ? 0 : Number(row.spend) / dearest} tone="busy" label={names.share} />
        </span>
      ),
    },
    { key: 'requests', title: names.calls, align: 'end', sorts: true, cell: (row) => count(row.requests) },
    {
      key: 'failures',
      title: names.failures,
      align: 'end',
      sorts: true,
      cell: (row) =>
        row.failures === 0 ? (
          '0'
        ) : (
          <Badge tone="bad" title={percent(row.failures / row.requests)}>
            {count(row.failures)}
          </Badge>
        ),
    },
    {
      key: 'tokens',
      title: names.tokens,
      align: 'end',
      sorts: true,
      minor: true,
      cell: (row) => short(row.total_tokens),
    },
    {
      key: 'unpriced',
      title: names.unpriced,
      align: 'end',
      minor: true,
      cell: (row) => (row.unpriced === 0 ? '0' : <Badge tone="warn">{count(row.unpriced)}</Badge>),
    },
  ];
}
