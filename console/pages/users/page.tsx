// The users: all of them for administrators and viewers, oneself for everybody else.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { UserRow } from '../../api/access.ts';
import { useResource } from '../../api/resource.ts';
import { may, session } from '../../app/session.ts';
import { param, setParams } from '../../base/router.ts';
import { sortInAddress } from '../../base/sort.ts';
import { count } from '../../format/numbers.ts';
import { day } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Spent } from '../../ui/budget.tsx';
import { Button } from '../../ui/button.tsx';
import { Chips, FilterBar, SearchFilter, SelectFilter } from '../../ui/filters.tsx';
import { pageInAddress, Pager } from '../../ui/pager.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { limitsText } from '../../ui/terms.tsx';
import { Editor, ROLES } from './editor.tsx';
import { nameOf, RoleTag } from './label.tsx';
import { User, UserDrawer } from './user.tsx';
import './users.css';

interface UsersAnswer {
  readonly users: readonly UserRow[];
  readonly total: number;
  readonly total_pages: number;
}

const SIZE = 50;
const REFRESH_MS = 20_000;

export function Page(): JSX.Element {
  return may('see_all') ? <Everybody /> : <Oneself />;
}

function Oneself(): JSX.Element {
  const texts = t().users;
  const state = session.value;
  const id = state.is === 'in' ? state.who.user_id : null;
  if (id !== null) return <User id={id} ask={null} />;
  return (
    <Empty title={texts.noUser} icon="user">
      {texts.noUserWhy}
    </Empty>
  );
}

function Everybody(): JSX.Element {
  const texts = t().users;
  const [isMaking, setMaking] = useState(false);
  const id = param('id');
  return (
    <div class="stacked">
      <FilterBar>
        <SearchFilter label={texts.find} />
        <SelectFilter
          name="role"
          label={texts.role}
          choices={[
            { value: '', label: t().common.all },
            ...ROLES.map((value) => ({ value, label: texts.roles[value] })),
          ]}
        />
        {may('users') ? (
          <Button kind="primary" icon="plus" onClick={() => setMaking(true)}>
            {texts.create}
          </Button>
        ) : null}
      </FilterBar>
      <Chips names={{ q: texts.find }} />
      <List selected={id} />
      {id === '' ? null : <UserDrawer id={id} />}
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
  const texts = t().users;
  const { sort, onSort } = sortInAddress({ by: 'created_at', descending: true }, ['page']);
  const query = new URLSearchParams({
    page: String(pageInAddress()),
    page_size: String(SIZE),
    sort_by: sort.by,
    sort_order: sort.descending ? 'desc' : 'asc',
  });
  if (param('q') !== '') query.set('user_email', param('q'));
  if (param('role') !== '') query.set('role', param('role'));
  const users = useResource<UsersAnswer>(`user/list?${query}`, { everyMs: REFRESH_MS });
  const isNarrowed = param('q') !== '' || param('role') !== '';
  return (
    <Loads from={users} lines={8} dims>
      {(answer) => (
        <Panel title={t().pages.users.name} note={count(answer.total)} flush>
          <Table
            label={t().pages.users.name}
            rows={answer.users}
            columns={columns()}
            keyOf={({ user_id: id }) => id}
            selected={selected}
            onOpen={({ user_id: id }) => setParams({ id })}
            sort={sort}
            onSort={onSort}
            empty={
              <Empty title={isNarrowed ? texts.nothingMatches : texts.none} icon="user">
                {isNarrowed ? undefined : texts.noneWhy}
              </Empty>
            }
          />
          <Pager pages={answer.total_pages} />
        </Panel>
      )}
    </Loads>
  );
}

function columns(): readonly Column<UserRow>[] {
  const names = t().users.columns;
  return [
    {
      key: 'user_email',
      title: names.name,
      sorts: true,
      cell: (user) => (
        <strong class="cut user-name" title={nameOf(user)}>
          {nameOf(user)}
        </strong>
      ),
    },
    {
      key: 'user_id',
      title: names.id,
      sorts: true,
      minor: true,
      cell: ({ user_id: id }) => (
        <code class="cut user-id" title={id}>
          {id}
        </code>
      ),
    },
    {
      key: 'user_role',
      title: names.role,
      sorts: true,
      cell: ({ user_role: role }) => <RoleTag role={role} />,
    },
    {
      key: 'spend',
      title: names.spent,
      cell: (user) => <Spent spend={user.spend} limit={user.max_budget} label={nameOf(user)} />,
    },
    {
      key: 'keys',
      title: names.keys,
      align: 'end',
      minor: true,
      cell: ({ key_count: keys }) => count(keys),
    },
    {
      key: 'teams',
      title: names.teams,
      align: 'end',
      minor: true,
      cell: ({ teams }) => count(teams.length),
    },
    { key: 'limits', title: names.limits, minor: true, cell: (user) => limitsText(user) },
    {
      key: 'created_at',
      title: names.created,
      sorts: true,
      minor: true,
      cell: ({ created_at: at }) => <span class="nowrap">{day(at)}</span>,
    },
  ];
}
