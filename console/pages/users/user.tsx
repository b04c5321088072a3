// One user: role, budget and limits, the keys and the teams with what was spent with each.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyRow, TeamRow, UserRow } from '../../api/access.ts';
import { change } from '../../api/client.ts';
import { refreshAll, useResource } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { now } from '../../base/now.ts';
import { closeEntry, hrefOf } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Spent } from '../../ui/budget.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Confirm, Drawer } from '../../ui/dialog.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { limitsText } from '../../ui/terms.tsx';
import { toast } from '../../ui/toast.tsx';
import { Editor } from './editor.tsx';
import { nameOf, RoleTag } from './label.tsx';

type TeamOf = TeamRow & {
  readonly team_memberships: readonly {
    readonly spend: number;
    readonly litellm_budget_table: { readonly max_budget: number | null } | null;
  }[];
};

interface UserAnswer {
  readonly user_info: UserRow;
  readonly keys: readonly KeyRow[];
  readonly teams: readonly TeamOf[];
}

type Step = 'edit' | 'delete';
const REFRESH_MS = 10_000;
const pathOf = (id: string): string => `user/info?user_id=${encodeURIComponent(id)}`;

export function UserDrawer({ id }: { id: string }): JSX.Element {
  const state = useResource<UserAnswer>(pathOf(id)).state.value;
  const info = state.is === 'ready' ? state.data.user_info : null;
  const [step, setStep] = useState<Step | null>(null);
  return (
    <Drawer title={info === null ? t().users.columns.name : nameOf(info)} onClose={closeEntry}>
      <User id={id} ask={may('users') ? setStep : null} />
      {info === null || step === null ? null : <Steps step={step} user={info} end={() => setStep(null)} />}
    </Drawer>
  );
}

export function User({
  id,
  ask,
}: {
  readonly id: string;
  /** null: without buttons. */
  readonly ask: ((step: Step) => void) | null;
}): JSX.Element {
  const user = useResource<UserAnswer>(pathOf(id), { everyMs: REFRESH_MS });
  return (
    <Loads from={user} lines={8}>
      {(answer) => <Parts answer={answer} ask={ask} />}
    </Loads>
  );
}

function Parts({
  answer: { user_info: user, keys, teams },
  ask,
}: {
  readonly answer: UserAnswer;
  readonly ask: ((step: Step) => void) | null;
}): JSX.Element {
  const texts = t().users;
  const id = user.user_id;
  return (
    <div class="stacked">
      {ask === null ? null : (
        <div class="filters">
          <Button icon="edit" onClick={() => ask('edit')}>
            {texts.edit}
          </Button>
          <Button icon="trash" kind="danger" onClick={() => ask('delete')}>
            {texts.remove}
          </Button>
        </div>
      )}
      <Panel
        title={texts.entry}
        actions={
          <>
            <a href={hrefOf('calls', { user: id, range: '30d' })}>{texts.seeCalls}</a>
            <a href={hrefOf('spend', { user: id })}>{texts.seeSpend}</a>
          </>
        }
      >
        <Facts
          rows={[
            [texts.role, <RoleTag key="r" role={user.user_role} />],
            [
              texts.columns.spent,
              <Spent key="s" spend={user.spend} limit={user.max_budget} label={nameOf(user)} />,
            ],
            user.budget_reset_at === null
              ? null
              : [t().teams.columns.resets, ago(user.budget_reset_at, now.value)],
            [
              t().keysPage.columns.models,
              user.models.length === 0 ? t().keysPage.allModels : user.models.join(', '),
            ],
            [texts.columns.limits, limitsText(user)],
            user.user_email === null ? null : [texts.email, user.user_email],
            [texts.id, <Id key="i" id={id} />],
            [texts.columns.created, dateTime(user.created_at)],
          ]}
        />
      </Panel>
      <Panel
        title={texts.keys}
        note={count(keys.length)}
        flush
        actions={<a href={hrefOf('keys', may('see_all') ? { user: id } : {})}>{texts.seeKeys}</a>}
      >
        <Table
          label={texts.keys}
          rows={keys.toSorted((a, b) => b.spend - a.spend)}
          columns={keyColumns()}
          keyOf={({ token }) => token}
          empty={<p class="quiet user-none">{texts.noKeys}</p>}
        />
      </Panel>
      <Panel title={texts.teams} note={count(teams.length)} flush>
        <Table
          label={texts.teams}
          rows={teams}
          columns={teamColumns()}
          keyOf={({ team_id: team }) => team}
          empty={<p class="quiet user-none">{texts.noTeams}</p>}
        />
      </Panel>
    </div>
  );
}

function keyColumns(): readonly Column<KeyRow>[] {
  const names = t().keysPage.columns;
  return [
    {
      key: 'name',
      title: names.name,
      cell: ({ token, key_alias: alias, key_name: name }) => (
        <a class="cut user-name" href={hrefOf('keys', { id: token })} title={alias ?? name}>
          {alias ?? name}
        </a>
      ),
    },
    {
      key: 'spent',
      title: names.spent,
      cell: (key) => <Spent spend={key.spend} limit={key.max_budget} label={key.key_alias ?? key.key_name} />,
    },
  ];
}

function teamColumns(): readonly Column<TeamOf>[] {
  const texts = t().users;
  return [
    {
      key: 'name',
      title: t().teams.columns.name,
      cell: ({ team_id: id, team_alias: alias }) => (
        <a class="cut user-name" href={hrefOf('teams', { id })} title={alias ?? id}>
          {alias ?? id}
        </a>
      ),
    },
    {
      key: 'spent',
      title: texts.inTeam,
      cell: ({ team_alias: alias, team_id: id, team_memberships: [own] }) =>
        own === undefined ? (
          '–'
        ) : (
          <Spent spend={own.spend} limit={own.litellm_budget_table?.max_budget ?? null} label={alias ?? id} />
        ),
    },
  ];
}

function Steps({ step, user, end }: { step: Step; user: UserRow; end: () => void }): JSX.Element {
  const texts = t().users;
  if (step === 'edit') return <Editor of={user} onClose={end} onDone={end} />;
  const act = async (): Promise<void> => {
    await change('POST', 'user/delete', { user_ids: [user.user_id] });
    toast(texts.removed(nameOf(user)), 'good');
    closeEntry();
    void refreshAll('user/list');
  };
  return (
    <Confirm title={texts.removeTitle(nameOf(user))} action={texts.remove} act={act} onClose={end}>
      {texts.removeWhy}
    </Confirm>
  );
}
