// The keys: the server filters, sorts and cuts the list, so that a search never looks at the loaded page alone.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyRow } from '../../api/access.ts';
import { useResource } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { now } from '../../base/now.ts';
import { hrefWith, param } from '../../base/router.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Spent } from '../../ui/budget.tsx';
import { SearchFilter, SelectFilter } from '../../ui/filters.tsx';
import { LIST_SIZE, ListPage } from '../../ui/list-page.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { limitsText } from '../../ui/terms.tsx';
import { Editor } from './editor.tsx';
import { KeyDrawer } from './key.tsx';
import { KeyState, nameOf, STATES } from './label.tsx';
import { Made, type MadeKey } from './made.tsx';
import { useTeamNames } from './team-names.ts';
import './keys.css';

interface KeysAnswer {
  readonly keys: readonly KeyRow[];
  readonly total_count: number;
  readonly total_pages: number;
}

export function Page(): JSX.Element {
  const texts = t().keysPage;
  const [made, setMade] = useState<MadeKey | null>(null);
  const teams = useTeamNames() ?? new Map<string, string>();
  const isNarrowed = ['q', 'state', 'team', 'user'].some((name) => param(name) !== '');
  return (
    <>
      <ListPage<KeysAnswer, KeyRow>
        title={t().pages.keys.name}
        filters={<Filters />}
        chips={{ q: texts.find, team: texts.team, user: texts.user }}
        first={{ by: 'created_at', descending: true }}
        pathOf={pathOf}
        rowsOf={({ keys }) => keys}
        totalOf={({ total_count: total }) => total}
        columns={columns(teams)}
        keyOf={({ token }) => token}
        empty={isNarrowed ? <NoMatch /> : <NoKeys />}
        entry={(id) => <KeyDrawer id={id} onMade={setMade} />}
        create={
          may('keys')
            ? {
                label: texts.create,
                form: (close) => (
                  <Editor
                    of={null}
                    onClose={close}
                    onDone={(key) => {
                      close();
                      setMade(key);
                    }}
                  />
                ),
              }
            : null
        }
      />
      {made === null ? null : <Made made={made} onClose={() => setMade(null)} />}
    </>
  );
}

function Filters(): JSX.Element {
  const texts = t().keysPage;
  return (
    <>
      <SearchFilter label={texts.find} mono />
      <SelectFilter
        name="state"
        label={texts.state}
        choices={[
          { value: '', label: t().common.all },
          ...STATES.map((value) => ({ value, label: texts.states[value] })),
        ]}
      />
      <SearchFilter name="team" label={texts.team} />
      {may('see_all') ? <SearchFilter name="user" label={texts.user} /> : null}
    </>
  );
}

/** As the route takes it; what looks like a hash is one. */
function pathOf(query: URLSearchParams): string {
  query.set('return_full_object', 'true');
  query.set('include_team_keys', 'true');
  query.set('size', String(LIST_SIZE));
  const text = param('q');
  if (text !== '') query.set(/^[0-9a-f]{64}$/i.test(text) ? 'key_hash' : 'key_alias', text);
  if (param('state') !== '') query.set('status', param('state'));
  if (param('team') !== '') query.set('team_id', param('team'));
  if (param('user') !== '') query.set('user_id', param('user'));
  return `key/list?${query}`;
}

function NoKeys(): JSX.Element {
  const texts = t().keysPage;
  return (
    <Empty title={texts.none} icon="key">
      {texts.noneWhy}
    </Empty>
  );
}

const MOST_SIMILAR = 10;

/** Nothing has this alias as a whole: those that contain it are a click away. */
function NoMatch(): JSX.Element {
  const texts = t().keysPage;
  return (
    <Empty title={texts.nothingMatches} icon="key">
      {texts.nothingMatchesWhy}
      {param('q') === '' ? null : <Similar search={param('q')} />}
    </Empty>
  );
}

function Similar({ search }: { search: string }): JSX.Element | null {
  const query = new URLSearchParams({ search, size: String(MOST_SIMILAR), page: '1' });
  const found = useResource<{ readonly aliases: readonly string[] }>(`key/aliases?${query}`).state.value;
  if (found.is !== 'ready' || found.data.aliases.length === 0) return null;
  return (
    <div>
      <p>{t().keysPage.similar}</p>
      {found.data.aliases.map((alias) => (
        <p key={alias}>
          <a href={hrefWith({ q: alias, page: null })}>{alias}</a>
        </p>
      ))}
    </div>
  );
}

function columns(teams: ReadonlyMap<string, string>): readonly Column<KeyRow>[] {
  const texts = t().keysPage;
  const names = texts.columns;
  return [
    {
      key: 'key_alias',
      title: names.name,
      sorts: true,
      cell: ({ key_alias: alias, key_name: name }) =>
        alias === null ? (
          <code class="quiet nowrap" title={texts.noAlias}>
            {name}
          </code>
        ) : (
          <strong class="cut key-name" title={alias}>
            {alias}
          </strong>
        ),
    },
    {
      key: 'key_name',
      title: names.last,
      minor: true,
      cell: ({ key_name: name }) => <code class="nowrap">…{name.slice(-4)}</code>,
    },
    { key: 'state', title: names.state, cell: (row) => <KeyState row={row} /> },
    {
      key: 'spend',
      title: names.spent,
      sorts: true,
      cell: (row) => <Spent spend={row.spend} limit={row.max_budget} label={nameOf(row)} />,
    },
    {
      key: 'team_id',
      title: names.team,
      sorts: true,
      minor: true,
      cell: (row) => <Cut text={row.team_id === null ? null : (teams.get(row.team_id) ?? row.team_id)} />,
    },
    {
      key: 'user_id',
      title: names.user,
      sorts: true,
      minor: true,
      cell: (row) => <Cut text={row.user_id} />,
    },
    {
      key: 'models',
      title: names.models,
      minor: true,
      cell: ({ models }) => <Cut text={models.length === 0 ? texts.allModels : models.join(', ')} />,
    },
    { key: 'limits', title: names.limits, minor: true, cell: (row) => <Cut text={limitsText(row)} /> },
    {
      key: 'expires',
      title: names.expires,
      sorts: true,
      minor: true,
      cell: ({ expires }) =>
        expires === null ? (
          <span class="quiet">{texts.never}</span>
        ) : (
          <span class="nowrap" title={dateTime(expires)}>
            {ago(expires, now.value)}
          </span>
        ),
    },
  ];
}

function Cut({ text }: { text: string | null }): JSX.Element {
  return text === null ? (
    <span class="quiet">–</span>
  ) : (
    <span class="cut key-cell" title={text}>
      {text}
    </span>
  );
}
