// The members of a team: what each has spent in it, and who may add, change and remove them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { MemberRole, TeamRow } from '../../api/access.ts';
import { change } from '../../api/client.ts';
import { refreshAll } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { messageOf } from '../../base/message.ts';
import { hrefOf } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Tag } from '../../ui/badge.tsx';
import { Spent } from '../../ui/budget.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog, FormButtons } from '../../ui/dialog.tsx';
import { Form, SelectField, TextField } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { isAmount } from '../../ui/terms.tsx';
import { toast } from '../../ui/toast.tsx';

export interface Membership {
  readonly user_id: string;
  readonly spend: number;
  readonly litellm_budget_table: { readonly max_budget: number | null } | null;
}

interface Member {
  readonly id: string;
  readonly name: string;
  readonly role: MemberRole;
  readonly spend: number | null;
  readonly limit: number | null;
}

const ROLES: readonly MemberRole[] = ['user', 'admin'];

const refreshTeams = (): Promise<void> => refreshAll('team/', 'v2/team/');

export function Members({
  team,
  memberships,
  mayChange,
}: {
  readonly team: TeamRow;
  readonly memberships: readonly Membership[];
  readonly mayChange: boolean;
}): JSX.Element {
  const texts = t().teams;
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Member | null>(null);
  const terms = new Map(memberships.map((one) => [one.user_id, one]));
  const members = team.members_with_roles.map(({ user_id: id, user_email: email, role }): Member => {
    const own = terms.get(id);
    return {
      id,
      name: email ?? id,
      role,
      spend: own?.spend ?? null,
      limit: own?.litellm_budget_table?.max_budget ?? null,
    };
  });
  const turn = async (member: Member): Promise<void> => {
    const role = member.role === 'admin' ? 'user' : 'admin';
    try {
      await change('POST', 'team/member_update', { team_id: team.team_id, user_id: member.id, role });
      toast(texts.roleChanged, 'good');
    } catch (thrown) {
      toast(messageOf(thrown), 'bad');
    }
    await refreshTeams();
  };
  return (
    <Panel
      title={texts.members}
      note={count(members.length)}
      flush
      actions={
        mayChange ? (
          <Button icon="plus" onClick={() => setAdding(true)}>
            {texts.addMember}
          </Button>
        ) : undefined
      }
    >
      <Table
        label={texts.members}
        rows={members.toSorted((a, b) => (b.spend ?? -1) - (a.spend ?? -1))}
        columns={columns(mayChange ? { turn: (one) => void turn(one), remove: setRemoved } : null)}
        keyOf={({ id }) => id}
        empty={<Empty title={texts.noMembers} icon="users" />}
      />
      {isAdding ? <Add teamId={team.team_id} end={() => setAdding(false)} /> : null}
      {removed === null ? null : (
        <Confirm
          title={texts.removeMemberTitle(removed.name)}
          action={texts.removeMember}
          onClose={() => setRemoved(null)}
          act={async () => {
            await change('POST', 'team/member_delete', { team_id: team.team_id, user_id: removed.id });
            toast(texts.memberRemoved(removed.name), 'good');
            await refreshTeams();
          }}
        >
          {texts.removeMemberWhy}
        </Confirm>
      )}
    </Panel>
  );
}

interface MemberSteps {
  readonly turn: (member: Member) => void;
  readonly remove: (member: Member) => void;
}

function columns(steps: MemberSteps | null): readonly Column<Member>[] {
  const texts = t().teams;
  const names = texts.memberColumns;
  const shown: readonly Column<Member>[] = [
    {
      key: 'who',
      title: names.who,
      cell: ({ id, name }) =>
        may('see_all') ? (
          <a class="cut team-who" href={hrefOf('users', { id })} title={name}>
            {name}
          </a>
        ) : (
          <span class="cut team-who" title={name}>
            {name}
          </span>
        ),
    },
    {
      key: 'role',
      title: names.role,
      minor: steps !== null,
      cell: ({ role }) => <Tag>{texts.roles[role]}</Tag>,
    },
    {
      key: 'spent',
      title: names.spent,
      cell: ({ name, spend, limit }) =>
        spend === null ? '–' : <Spent spend={spend} limit={limit} label={name} />,
    },
  ];
  if (steps === null) return shown;
  return [
    ...shown,
    {
      key: 'act',
      title: names.act,
      align: 'end',
      cell: (member) => (
        <span class="team-steps">
          <Button kind="quiet" onClick={() => steps.turn(member)}>
            {member.role === 'admin' ? texts.makeUser : texts.makeAdmin}
          </Button>
          <Button kind="quiet" onClick={() => steps.remove(member)}>
            {texts.removeMember}
          </Button>
        </span>
      ),
    },
  ];
}

function Add({ teamId, end }: { teamId: string; end: () => void }): JSX.Element {
  const texts = t().teams;
  const [who, setWho] = useState('');
  const [role, setRole] = useState<MemberRole>('user');
  const [budget, setBudget] = useState('');
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    if (who.trim() === '') setError(texts.missing);
    if (who.trim() === '' || !isAmount(budget)) return;
    setBusy(true);
    setError(null);
    const named = who.includes('@') ? { user_email: who.trim() } : { user_id: who.trim() };
    try {
      await change('POST', 'team/member_add', {
        team_id: teamId,
        member: { ...named, role },
        ...(budget.trim() === '' ? {} : { max_budget_in_team: Number(budget) }),
      });
      toast(texts.added, 'good');
      await refreshTeams();
      end();
    } catch (thrown) {
      setError(messageOf(thrown));
      setBusy(false);
    }
  };
  return (
    <Dialog title={texts.addMember} onClose={end}>
      <Form
        label={texts.add}
        onSubmit={() => void submit()}
        error={error}
        actions={<FormButtons action={texts.add} busy={isBusy} onCancel={end} />}
      >
        <TextField
          label={texts.memberId}
          hint={texts.memberIdHint}
          value={who}
          onInput={setWho}
          required
          autoFocus
        />
        <div class="pair">
          <SelectField
            label={texts.memberRole}
            value={role}
            onChange={(value) => setRole(value === 'admin' ? 'admin' : 'user')}
            choices={ROLES.map((value) => ({ value, label: texts.roles[value] }))}
          />
          <TextField
            label={texts.memberBudget}
            value={budget}
            onInput={setBudget}
            error={isAmount(budget) ? null : t().budgets.terms.noAmount}
          />
        </div>
      </Form>
    </Dialog>
  );
}
