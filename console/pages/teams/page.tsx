// The teams: who works together and what they spend. The server filters, sorts and cuts the list.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TeamRow } from '../../api/access.ts';
import { useResource } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { hrefWith, param, setParams } from '../../base/router.ts';
import { sortInAddress } from '../../base/sort.ts';
import { count } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Spent } from '../../ui/budget.tsx';
import { Button } from '../../ui/button.tsx';
import { Chips, FilterBar, SearchFilter } from '../../ui/filters.tsx';
import { pageInAddress, Pager } from '../../ui/pager.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { limitsText } from '../../ui/terms.tsx';
import { Editor } from './editor.tsx';
import { nameOf, TeamState } from './label.tsx';
import { TeamDrawer } from './team.tsx';
import './teams.css';

interface TeamsAnswer {
  readonly teams: readonly TeamRow[];
  readonly total: number;
  readonly total_pages: number;
}

const SIZE = 50;
const REFRESH_MS = 20_000;

export function Page(): JSX.Element {
  const texts = t().teams;
  const [isMaking, setMaking] = useState(false);
  const id = param('id');
  return (
    <div class="stacked">
      <FilterBar>
        <SearchFilter label={texts.find} />
        {may('teams') ? (
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            {texts.create}
          </Button>
        ) : null}
      </FilterBar>
      <Chips names={{ q: texts.find, team: texts.id }} />
      <List selected={id} />
      {id === '' ? null : <TeamDrawer id={id} />}
      {isMaking ? (
        <Editor
          of={null}
          onClose={() => setMaking(false)}
          onDone={(made) => {
            setMaking(false);
            setParams({ id: made });
          }}
        />
      ) : null}
    </div>
  );
}

function List({ selected }: { selected: string }): JSX.Element {
  const { sort, onSort } = sortInAddress({ by: 'team_alias', descending: false }, ['page']);
  const query = new URLSearchParams({
    page: String(pageInAddress()),
    page_size: String(SIZE),
    sort_by: sort.by,
    sort_order: sort.descending ? 'desc' : 'asc',
  });
  if (param('q') !== '') query.set('team_alias', param('q'));
  if (param('team') !== '') query.set('team_id', param('team'));
  const teams = useResource<TeamsAnswer>(`v2/team/list?${query}`, { everyMs: REFRESH_MS });
  return (
    <Loads from={teams} lines={8} dims>
      {(answer) => (
        <Panel title={t().pages.teams.name} note={count(answer.total)} flush>
          <Table
            label={t().pages.teams.name}
            rows={answer.teams}
            columns={columns()}
            keyOf={({ team_id: id }) => id}
            selected={selected}
            onOpen={({ team_id: id }) => setParams({ id })}
            sort={sort}
            onSort={onSort}
            empty={<NoTeams />}
          />
          <Pager pages={answer.total_pages} />
        </Panel>
      )}
    </Loads>
  );
}

function NoTeams(): JSX.Element {
  const texts = t().teams;
  if (param('q') === '' && param('team') === '') {
    return (
      <Empty title={may('see_all') ? texts.none : texts.noneOwn} icon="users">
        {texts.noneWhy}
      </Empty>
    );
  }
  return (
    <Empty title={texts.nothingMatches} icon="users">
      {texts.nothingMatchesWhy}
      {param('q') === '' ? null : (
        <p>
          <a href={hrefWith({ team: param('q'), q: null })}>{texts.asId}</a>
        </p>
      )}
    </Empty>
  );
}

function columns(): readonly Column<TeamRow>[] {
  const names = t().teams.columns;
  return [
    {
      key: 'team_alias',
      title: names.name,
      sorts: true,
      cell: (team) => (
        <strong class="cut team-name" title={nameOf(team)}>
          {nameOf(team)}
        </strong>
      ),
    },
    {
      key: 'members',
      title: names.members,
      align: 'end',
      cell: ({ members_with_roles: members }) => count(members.length),
    },
    {
      key: 'spend',
      title: names.spent,
      cell: (team) => <Spent spend={team.spend} limit={team.max_budget} label={nameOf(team)} />,
    },
    {
      key: 'models',
      title: names.models,
      minor: true,
      cell: ({ models }) => (
        <span class="cut team-models" title={models.join(', ')}>
          {models.length === 0 ? t().keysPage.allModels : models.join(', ')}
        </span>
      ),
    },
    { key: 'limits', title: names.limits, minor: true, cell: (team) => limitsText(team) },
    { key: 'state', title: names.state, minor: true, cell: ({ blocked }) => <TeamState blocked={blocked} /> },
  ];
}
