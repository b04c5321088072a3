// One key: what it may, what it has used of its budgets and when they will be used up, and the steps that change it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyRow, Usage } from '../../api/access.ts';
import { change } from '../../api/client.ts';
import { refreshAll, useResource } from '../../api/resource.ts';
import { may, session } from '../../app/session.ts';
import { now } from '../../base/now.ts';
import { closeEntry, hrefOf, setParams } from '../../base/router.ts';
import { count, exactMoney, money } from '../../format/numbers.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Usages } from '../../ui/budget.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Confirm, Dialog, Drawer, FormButtons } from '../../ui/dialog.tsx';
import { Form, TextField } from '../../ui/field.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Loads } from '../../ui/states.tsx';
import { useSending } from '../../ui/sending.ts';
import { isDuration, limitsText } from '../../ui/terms.tsx';
import { toast } from '../../ui/toast.tsx';
import { Editor } from './editor.tsx';
import type { MadeKey } from './made.tsx';
import { useTeamNames } from './team-names.ts';
import { KeyState, nameOf } from './label.tsx';

type KeyInfo = Omit<KeyRow, 'token'> & {
  readonly budget_limits_usage: Readonly<Record<string, Usage>>;
  readonly model_max_budget_usage: Readonly<Record<string, Usage>>;
};

type Step = 'edit' | 'regenerate' | 'block' | 'delete';
const REFRESH_MS = 10_000;

export function KeyDrawer({
  id,
  onMade,
}: {
  readonly id: string;
  readonly onMade: (made: MadeKey) => void;
}): JSX.Element {
  const key = useResource<{ readonly info: KeyInfo }>(`key/info?key=${encodeURIComponent(id)}`, {
    everyMs: REFRESH_MS,
  });
  const state = key.state.value;
  const info = state.is === 'ready' ? state.data.info : null;
  const [step, setStep] = useState<Step | null>(null);
  return (
    <Drawer title={info === null ? t().keysPage.columns.name : nameOf(info)} onClose={closeEntry}>
      <Loads from={key} lines={8}>
        {(answer) => <Key id={id} info={answer.info} ask={setStep} />}
      </Loads>
      {info === null || step === null ? null : (
        <Steps step={step} row={{ ...info, token: id }} onMade={onMade} end={() => setStep(null)} />
      )}
    </Drawer>
  );
}

/** Whether its buttons are shown; the server decides. */
function mayChange({ user_id: userId, team_id: teamId }: Pick<KeyRow, 'user_id' | 'team_id'>): boolean {
  const state = session.value;
  if (may('change')) return true;
  if (!may('keys') || state.is !== 'in') return false;
  const { user_id: own, admin_of: teams } = state.who;
  return (own !== null && own === userId) || (teamId !== null && teams.includes(teamId));
}

function Key({ id, info, ask }: { id: string; info: KeyInfo; ask: (step: Step) => void }): JSX.Element {
  const texts = t().keysPage;
  const teams = useTeamNames();
  return (
    <div class="stacked">
      {mayChange(info) ? (
        <div class="filters">
          <Button icon="edit" onClick={() => ask('edit')}>
            {texts.edit}
          </Button>
          <Button icon="refresh" onClick={() => ask('regenerate')}>
            {texts.regenerate}
          </Button>
          <Button icon={info.blocked ? 'play' : 'pause'} onClick={() => ask('block')}>
            {info.blocked ? texts.unblock : texts.block}
          </Button>
          <Button icon="trash" kind="danger" onClick={() => ask('delete')}>
            {texts.remove}
          </Button>
        </div>
      ) : null}
      <Budgets info={info} />
      <Panel
        title={texts.mayDo}
        actions={
          <>
            <a href={hrefOf('calls', { key: id, range: '30d' })}>{texts.seeCalls}</a>
            <a href={hrefOf('spend', { api_key: id })}>{texts.seeSpend}</a>
          </>
        }
      >
        <Facts
          rows={[
            [texts.columns.state, <KeyState key="s" row={info} />],
            [texts.columns.last, <code key="l">…{info.key_name.slice(-4)}</code>],
            [texts.columns.models, info.models.length === 0 ? texts.allModels : info.models.join(', ')],
            [texts.type, texts.types[info.key_type]],
            info.allowed_routes.length === 0 ? null : [texts.routes, info.allowed_routes.join(', ')],
            [texts.columns.limits, limitsText(info)],
            [
              texts.columns.expires,
              info.expires === null ? (
                texts.never
              ) : (
                <span key="e" title={ago(info.expires, now.value)}>
                  {dateTime(info.expires)}
                </span>
              ),
            ],
            [
              texts.columns.team,
              <Link key="t" page="teams" id={info.team_id} name={teams?.get(info.team_id ?? '') ?? null} />,
            ],
            [texts.columns.user, <Link key="u" page="users" id={info.user_id} />],
            [texts.hash, <Id key="h" id={id} />],
            [texts.columns.created, dateTime(info.created_at)],
            info.created_by === null ? null : [texts.createdBy, info.created_by],
            info.rotation_count === 0 ? null : [texts.rotations, `${count(info.rotation_count)}×`],
          ]}
        />
      </Panel>
    </div>
  );
}

function Link({
  page,
  id,
  name = null,
}: {
  readonly page: 'teams' | 'users';
  readonly id: string | null;
  readonly name?: string | null;
}): JSX.Element {
  return id === null ? <>–</> : <a href={hrefOf(page, { id })}>{name ?? id}</a>;
}

function Budgets({ info }: { info: KeyInfo }): JSX.Element {
  const texts = t().keysPage;
  const usages = [
    ...Object.entries(info.budget_limits_usage),
    ...Object.entries(info.model_max_budget_usage),
  ];
  return (
    <Panel
      title={texts.budgets}
      note={<span title={exactMoney(info.spend)}>{`${texts.columns.spent} ${money(info.spend)}`}</span>}
    >
      {usages.length === 0 ? <p class="quiet">{texts.noBudget}</p> : <Usages usages={usages} />}
    </Panel>
  );
}

function Steps({
  step,
  row,
  onMade,
  end,
}: {
  readonly step: Step;
  readonly row: KeyRow;
  readonly onMade: (made: MadeKey) => void;
  readonly end: () => void;
}): JSX.Element {
  const texts = t().keysPage;
  const name = nameOf(row);
  switch (step) {
    case 'edit':
      return <Editor of={row} onClose={end} onDone={end} />;
    case 'regenerate':
      return <Regenerate row={row} onMade={onMade} end={end} />;
    case 'block': {
      const verb = row.blocked ? texts.unblock : texts.block;
      const act = async (): Promise<void> => {
        await change('POST', row.blocked ? 'key/unblock' : 'key/block', { key: row.token });
        await refreshAll('key/');
        toast(row.blocked ? texts.unblocked : texts.blocked, 'good');
      };
      return (
        <Confirm
          title={row.blocked ? `${texts.unblock}: ${name}` : texts.blockTitle(name)}
          action={verb}
          act={act}
          onClose={end}
          danger={!row.blocked}
        >
          {row.blocked ? texts.unblocked : texts.blockWhy}
        </Confirm>
      );
    }
    case 'delete': {
      const act = async (): Promise<void> => {
        await change('POST', 'key/delete', { keys: [row.token] });
        toast(texts.removed(name), 'good');
        closeEntry();
        void refreshAll('key/list');
      };
      return (
        <Confirm title={texts.removeTitle(name)} action={texts.remove} act={act} onClose={end}>
          {texts.removeWhy}
        </Confirm>
      );
    }
  }
}

/** Another value: the key gets another hash, so its address changes, too. */
function Regenerate({
  row,
  onMade,
  end,
}: {
  readonly row: KeyRow;
  readonly onMade: (made: MadeKey) => void;
  readonly end: () => void;
}): JSX.Element {
  const texts = t().keysPage;
  const [grace, setGrace] = useState('');
  const { busy, error, send } = useSending();
  const submit = async (): Promise<void> => {
    if (!isDuration(grace)) return;
    await send(async () => {
      const body = grace.trim() === '' ? {} : { grace_period: grace.trim() };
      const made = await change<{ readonly key: string; readonly token_id: string }>(
        'POST',
        `key/${row.token}/regenerate`,
        body,
      );
      end();
      setParams({ id: made.token_id }, { replace: true });
      onMade({ key: made.key, alias: row.key_alias, grace: grace.trim() });
      void refreshAll('key/list');
    });
  };
  return (
    <Dialog title={texts.regenerateTitle(nameOf(row))} onClose={end}>
      <Form
        label={texts.regenerate}
        onSubmit={() => void submit()}
        error={error}
        actions={<FormButtons action={texts.regenerate} busy={busy} onCancel={end} />}
      >
        <p>{texts.regenerateWhy}</p>
        <TextField
          label={texts.grace}
          hint={texts.graceHint}
          value={grace}
          onInput={setGrace}
          suggestions={['10m', '1h', '24h']}
          error={isDuration(grace) ? null : t().budgets.terms.noDuration}
          autoFocus
        />
      </Form>
    </Dialog>
  );
}
