// The calls: a list that can be narrowed, followed live, and scrolled without an end; one call in a drawer.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Row } from '../../api/rows.ts';
import { hrefWith, param, setParams } from '../../base/router.ts';
import { callMoney, count, duration, exactMoney, short } from '../../format/numbers.ts';
import { clock, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CallEnd } from '../../ui/call-end.tsx';
import { Chips, FilterBar, SearchFilter, SelectFilter } from '../../ui/filters.tsx';
import { Empty, Failed, Loading } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { VirtualTable } from '../../ui/virtual-table.tsx';
import { CallDrawer } from './call.tsx';
import { FILTERS, RANGES, useRows, type FilterName, type Range, type Rows } from './rows.ts';
import './calls.css';

const NAMES = Object.keys(FILTERS) as readonly FilterName[];

export function Page(): JSX.Element {
  const texts = t().calls;
  const [isLive, setLive] = useState(true);
  const [isAtTop, setAtTop] = useState(true);
  const find = param('find');
  const filters = Object.fromEntries(NAMES.map((name) => [name, param(name)])) as Record<FilterName, string>;
  const [toTop, setToTop] = useState(0);
  const found = useRows({ find, range: rangeOf(param('range')), filters }, isLive && isAtTop);
  const show = (): void => {
    found.show();
    setToTop((n) => n + 1);
  };
  const id = param('id');
  return (
    <div class="calls">
      <FilterBar>
        <SearchFilter name="find" label={texts.find} placeholder={texts.findHint} mono />
        <SelectFilter name="range" label={texts.range} choices={rangeChoices()} />
        <SelectFilter name="status" label={texts.status} choices={statusChoices()} />
        <SearchFilter name="model" label={texts.columns.model} />
        <SearchFilter name="session" label={texts.columns.session} mono />
        <Button
          kind="quiet"
          icon={isLive ? 'pause' : 'play'}
          onClick={() => setLive(!isLive)}
          title={isLive ? texts.pauseHint : texts.liveHint}
        >
          {isLive ? texts.live : texts.paused}
        </Button>
        <span class="quiet calls-note" role="status">
          {note(found, isLive && !isAtTop)}
        </span>
      </FilterBar>
      <Chips
        names={{ find: texts.find, ...Object.fromEntries(NAMES.map((name) => [name, texts.filters[name]])) }}
      />
      <div class="calls-list">
        {found.waiting === 0 ? null : (
          <p class="calls-new">
            <Button kind="primary" icon="up" onClick={show}>
              {texts.waiting(count(found.waiting), found.isMoreWaiting)}
            </Button>
          </p>
        )}
        <List
          found={found}
          id={id}
          toTop={toTop}
          onTop={setAtTop}
          isFiltered={find !== '' || NAMES.some((name) => filters[name] !== '')}
        />
      </div>
      {id === '' ? null : (
        <CallDrawer id={id} known={found.rows.find((row) => row.request_id === id) ?? null} />
      )}
    </div>
  );
}

function rangeOf(text: string): Range {
  return RANGES.find((one) => one === text) ?? '24h';
}

function rangeChoices(): { value: string; label: string }[] {
  return RANGES.map((one) => ({ value: one === '24h' ? '' : one, label: t().calls.ranges[one] }));
}

function statusChoices(): { value: string; label: string }[] {
  const { all } = t().common;
  const { good, bad } = t().calls.statuses;
  return [
    { value: '', label: all },
    { value: 'success', label: good },
    { value: 'failure', label: bad },
  ];
}

function note({ is, rows, hasOlder, hasNewer, whose, error }: Rows, isHeld: boolean): JSX.Element | string {
  const texts = t().calls;
  if (is !== 'ready') return '';
  if (error !== null)
    return (
      <Badge tone="warn" title={error.message}>
        {texts.notRefreshed}
      </Badge>
    );
  if (isHeld) return texts.held;
  const shown =
    hasOlder || hasNewer ? texts.loadedMore(count(rows.length)) : texts.loaded(count(rows.length));
  return whose === 'own' ? `${shown} ${texts.own}` : shown;
}

function List({
  found,
  id,
  toTop,
  onTop,
  isFiltered,
}: {
  found: Rows;
  id: string;
  toTop: number;
  onTop: (isAtTop: boolean) => void;
  isFiltered: boolean;
}): JSX.Element {
  const texts = t().calls;
  if (found.is === 'loading') return <Loading sinceMs={found.sinceMs} what={texts.reading} lines={12} />;
  if (found.is === 'failed' && found.error !== null)
    return <Failed error={found.error} retry={found.again} />;
  return (
    <VirtualTable
      label={t().pages.calls.name}
      rows={found.rows}
      columns={columns()}
      keyOf={(row) => row.request_id}
      selected={id}
      onOpen={(row) => setParams({ id: row.request_id })}
      onEnd={() => found.go('older')}
      onStart={found.hasNewer ? () => found.go('newer') : undefined}
      onJump={(to) => {
        const isElsewhere = to === 'first' ? found.hasNewer : found.hasOlder;
        if (isElsewhere) found.go(to === 'first' ? 'newest' : 'oldest');
        return isElsewhere;
      }}
      onTop={onTop}
      toTop={toTop}
      end={found.hasOlder ? texts.readingMore : texts.theseAreAll}
      empty={
        isFiltered ? (
          <Empty title={texts.nothingMatches} icon="filter">
            {texts.nothingMatchesWhy}
          </Empty>
        ) : (
          <Empty title={texts.noCalls} icon="calls">
            {texts.noCallsWhy}
          </Empty>
        )
      }
    />
  );
}

/** From the start to the first byte; null where none came. */
function firstByteMs(row: Row): number | null {
  return row.completionStartTime === null
    ? null
    : Date.parse(row.completionStartTime) - Date.parse(row.startTime);
}

function columns(): readonly Column<Row>[] {
  const names = t().calls.columns;
  return [
    {
      key: 'time',
      title: names.time,
      width: 'minmax(6.4rem, 7rem)',
      cell: (row) => <time title={dateTime(row.startTime)}>{clock(row.startTime)}</time>,
    },
    { key: 'end', title: names.end, width: 'minmax(9rem, 11rem)', cell: (row) => <CallEnd row={row} /> },
    {
      key: 'model',
      title: names.model,
      width: 'minmax(4.5rem, 1.5fr)',
      cell: (row) => <span title={row.model}>{row.model_group}</span>,
    },
    {
      key: 'gateway',
      title: names.gateway,
      width: 'minmax(6rem, 1fr)',
      minor: true,
      extra: true,
      cell: (row) => <span title={row.api_base ?? ''}>{hostOf(row.api_base)}</span>,
    },
    {
      key: 'first',
      title: names.firstByte,
      align: 'end',
      width: '6rem',
      minor: true,
      extra: true,
      cell: (row) => duration(firstByteMs(row)),
    },
    {
      key: 'took',
      title: names.duration,
      align: 'end',
      width: '6rem',
      minor: true,
      cell: (row) => duration(row.request_duration_ms),
    },
    {
      key: 'tokens',
      title: names.tokens,
      align: 'end',
      width: '6rem',
      minor: true,
      cell: (row) => (
        <span title={t().calls.tokensOf(count(row.prompt_tokens), count(row.completion_tokens))}>
          {row.usage_source === 'estimate' ? '≈ ' : ''}
          {row.usage_source === 'none' ? '–' : short(row.total_tokens)}
        </span>
      ),
    },
    {
      key: 'cost',
      title: names.cost,
      align: 'end',
      width: 'minmax(6.6rem, 7rem)',
      cell: (row) => (
        <span title={row.spend === null ? row.cost_reason : exactMoney(row.spend)}>
          {callMoney(row.spend)}
        </span>
      ),
    },
    {
      key: 'session',
      title: names.session,
      width: 'minmax(6rem, 1fr)',
      minor: true,
      cell: (row) => (
        <a class="mono cut" href={hrefWith({ session: row.session_id, id: null })} title={row.session_id}>
          {row.session_id}
        </a>
      ),
    },
    {
      key: 'team',
      title: names.team,
      width: 'minmax(4rem, .6fr)',
      minor: true,
      extra: true,
      cell: (row) => <span title={row.team_id ?? ''}>{row.team_id ?? ''}</span>,
    },
    {
      key: 'attempts',
      title: names.attempts,
      align: 'end',
      width: '4.5rem',
      minor: true,
      extra: true,
      cell: (row) =>
        row.attempts > 1 ? <Badge tone="warn">{count(row.attempts)}</Badge> : count(row.attempts),
    },
  ];
}

function hostOf(address: string | null): string {
  if (address === null) return '–';
  return URL.canParse(address) ? new URL(address).host : address;
}
