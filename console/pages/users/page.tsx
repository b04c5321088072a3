// The users: all of them for administrators and viewers, oneself for everybody else.
import type { JSX } from 'preact';
import type { UserRow } from '../../api/access.ts';
import { may, session } from '../../app/session.ts';
import { param, setParams } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { day } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Spent } from '../../ui/budget.tsx';
import { SearchFilter, SelectFilter } from '../../ui/filters.tsx';
import { LIST_SIZE, ListPage } from '../../ui/list-page.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
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
  return (
    <ListPage<UsersAnswer, UserRow>
      title={t().pages.users.name}
      filters={
        <>
          <SearchFilter label={texts.find} />
          <SelectFilter
            name="role"
            label={texts.role}
            choices={[
              { value: '', label: t().common.all },
              ...ROLES.map((value) => ({ value, label: texts.roles[value] })),
            ]}
          />
        </>
      }
      chips={{ q: texts.find }}
      first={{ by: 'created_at', descending: true }}
      pathOf={pathOf}
      rowsOf={({ users }) => users}
      totalOf={({ total }) => total}
      columns={columns()}
      keyOf={({ user_id: id }) => id}
      empty={<NoUsers />}
      entry={(id) => <UserDrawer id={id} />}
      create={
        may('users')
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
  if (param('q') !== '') query.set('user_email', param('q'));
  if (param('role') !== '') query.set('role', param('role'));
  return `user/list?${query}`;
}

function NoUsers(): JSX.Element {
  const texts = t().users;
  const isNarrowed = param('q') !== '' || param('role') !== '';
  return (
    <Empty title={isNarrowed ? texts.nothingMatches : texts.none} icon="user">
      {isNarrowed ? undefined : texts.noneWhy}
    </Empty>
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
