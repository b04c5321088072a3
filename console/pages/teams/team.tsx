// One team: its budget, its members and keys with what each spent, and the steps that change it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyRow, TeamRow } from '../../api/access.ts';
import { change } from '../../api/client.ts';
import { refreshAll, useResource } from '../../api/resource.ts';
import { may, session } from '../../app/session.ts';
import { now } from '../../base/now.ts';
import { closeEntry, hrefOf } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { ago } from '../../format/time.ts';
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
import { Members, type Membership } from './members.tsx';
import { nameOf, TeamState } from './label.tsx';

interface TeamAnswer {
  readonly team_info: TeamRow;
  readonly keys: readonly Omit<KeyRow, 'token'>[];
  readonly team_memberships: readonly Membership[];
}

type Step = 'edit' | 'block' | 'delete';
const REFRESH_MS = 10_000;

export function TeamDrawer({ id }: { id: string }): JSX.Element {
  const team = useResource<TeamAnswer>(`team/info?team_id=${encodeURIComponent(id)}`, {
    everyMs: REFRESH_MS,
  });
  const state = team.state.value;
  const info = state.is === 'ready' ? state.data.team_info : null;
  const [step, setStep] = useState<Step | null>(null);
  return (
    <Drawer title={info === null ? t().teams.columns.name : nameOf(info)} onClose={closeEntry}>
      <Loads from={team} lines={8}>
        {(answer) => <Team answer={answer} ask={setStep} />}
      </Loads>
      {info === null || step === null ? null : <Steps step={step} team={info} end={() => setStep(null)} />}
    </Drawer>
  );
}

function administers(teamId: string): boolean {
  const state = session.value;
  return state.is === 'in' && state.role !== 'user_viewer' && state.who.admin_of.includes(teamId);
}

function Team({ answer, ask }: { answer: TeamAnswer; ask: (step: Step) => void }): JSX.Element {
  const texts = t().teams;
  const { team_info: team, keys, team_memberships: memberships } = answer;
  const id = team.team_id;
  return (
    <div class="stacked">
      {may('teams') ? (
        <div class="filters">
          <Button icon="edit" onClick={() => ask('edit')}>
            {texts.edit}
          </Button>
          <Button icon={team.blocked ? 'play' : 'pause'} onClick={() => ask('block')}>
            {team.blocked ? texts.unblock : texts.block}
          </Button>
          <Button icon="trash" kind="danger" onClick={() => ask('delete')}>
            {texts.remove}
          </Button>
        </div>
      ) : null}
      <Panel
        title={texts.entry}
        actions={
          <>
            <a href={hrefOf('calls', { team: id, range: '30d' })}>{texts.seeCalls}</a>
            <a href={hrefOf('spend', { team: id })}>{texts.seeSpend}</a>
          </>
        }
      >
        <Facts
          rows={[
            [texts.columns.state, <TeamState key="s" blocked={team.blocked} />],
            [
              texts.columns.spent,
              <Spent key="u" spend={team.spend} limit={team.max_budget} label={nameOf(team)} />,
            ],
            team.budget_reset_at === null
              ? null
              : [texts.columns.resets, ago(team.budget_reset_at, now.value)],
            [
              texts.columns.models,
              team.models.length === 0 ? t().keysPage.allModels : team.models.join(', '),
            ],
            [texts.columns.limits, limitsText(team)],
            [texts.id, <Id key="i" id={id} />],
          ]}
        />
      </Panel>
      <Members team={team} memberships={memberships} mayChange={may('change') || administers(id)} />
      <Keys keys={keys} teamId={id} />
    </div>
  );
}

function Keys({ keys, teamId }: { keys: TeamAnswer['keys']; teamId: string }): JSX.Element {
  const texts = t().teams;
  return (
    <Panel
      title={texts.keys}
      note={count(keys.length)}
      flush
      actions={<a href={hrefOf('keys', { team: teamId })}>{texts.seeKeys}</a>}
    >
      <Table
        label={texts.keys}
        rows={keys.toSorted((a, b) => b.spend - a.spend)}
        columns={keyColumns()}
        keyOf={({ key_name: name, created_at: at }) => `${name} ${at}`}
        empty={<p class="quiet team-none">{texts.noKeys}</p>}
      />
    </Panel>
  );
}

function keyColumns(): readonly Column<TeamAnswer['keys'][number]>[] {
  const names = t().keysPage.columns;
  return [
    {
      key: 'name',
      title: names.name,
      cell: ({ key_alias: alias, key_name: name }) => (
        <span class="cut team-who" title={alias ?? name}>
          {alias ?? name}
        </span>
      ),
    },
    { key: 'user', title: names.user, minor: true, cell: ({ user_id: user }) => user ?? '–' },
    {
      key: 'spent',
      title: names.spent,
      cell: (key) => <Spent spend={key.spend} limit={key.max_budget} label={key.key_alias ?? key.key_name} />,
    },
  ];
}

function Steps({ step, team, end }: { step: Step; team: TeamRow; end: () => void }): JSX.Element {
  const texts = t().teams;
  const name = nameOf(team);
  switch (step) {
    case 'edit':
      return <Editor of={team} onClose={end} onDone={end} />;
    case 'block': {
      const act = async (): Promise<void> => {
        await change('POST', team.blocked ? 'team/unblock' : 'team/block', { team_id: team.team_id });
        await refreshAll('team/', 'v2/team/');
        toast(team.blocked ? texts.unblockedNow : texts.blockedNow, 'good');
      };
      return (
        <Confirm
          title={team.blocked ? `${texts.unblock}: ${name}` : texts.blockTitle(name)}
          action={team.blocked ? texts.unblock : texts.block}
          act={act}
          onClose={end}
          danger={!team.blocked}
        >
          {team.blocked ? texts.unblockedNow : texts.blockWhy}
        </Confirm>
      );
    }
    case 'delete': {
      const act = async (): Promise<void> => {
        await change('POST', 'team/delete', { team_ids: [team.team_id] });
        toast(texts.removed(name), 'good');
        closeEntry();
        void refreshAll('v2/team/');
      };
      return (
        <Confirm title={texts.removeTitle(name)} action={texts.remove} act={act} onClose={end}>
          {texts.removeWhy}
        </Confirm>
      );
    }
  }
}
