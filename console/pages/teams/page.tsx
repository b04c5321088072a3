// The teams: who works together and what they spend. The server filters, sorts and cuts the list.
import type { JSX } from 'preact';
import type { TeamRow } from '../../api/access.ts';
import { may } from '../../app/session.ts';
import { hrefWith, param, setParams } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Spent } from '../../ui/budget.tsx';
import { SearchFilter } from '../../ui/filters.tsx';
import { LIST_SIZE, ListPage } from '../../ui/list-page.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
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

export function Page(): JSX.Element {
  const texts = t().teams;
  return (
    <ListPage<TeamsAnswer, TeamRow>
      title={t().pages.teams.name}
      filters={<SearchFilter label={texts.find} />}
      chips={{ q: texts.find, team: texts.id }}
      first={{ by: 'team_alias', descending: false }}
      pathOf={pathOf}
      rowsOf={({ teams }) => teams}
      totalOf={({ total }) => total}
      columns={columns()}
      keyOf={({ team_id: id }) => id}
      empty={<NoTeams />}
      entry={(id) => <TeamDrawer id={id} />}
      create={
        may('teams')
          ? {
              label: texts.create,
              form: (close) => (
                <Editor
                  of={null}
                  onClose={close}
                  onDone={(made) => {
                    close();
                    setParams({ id: made });
                  }}
                />
              ),
            }
          : null
      }
    />
  );
}

function pathOf(query: URLSearchParams): string {
  query.set('page_size', String(LIST_SIZE));
  if (param('q') !== '') query.set('team_alias', param('q'));
  if (param('team') !== '') query.set('team_id', param('team'));
  return `v2/team/list?${query}`;
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
