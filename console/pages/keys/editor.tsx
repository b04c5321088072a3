// Makes a key, or changes one: only what was changed is sent, so that what the page does not show, and what somebody else has
// changed meanwhile, stays as it is.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeyRow, KeyType } from '../../api/access.ts';
import { change } from '../../api/client.ts';
import { refreshAll } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { t } from '../../text/index.ts';
import { Dialog, FormButtons } from '../../ui/dialog.tsx';
import { Form, SelectField, TextField } from '../../ui/field.tsx';
import { useSending } from '../../ui/sending.ts';
import {
  areTermsRight,
  isDuration,
  NO_TERMS,
  TermsFields,
  termsBody,
  termsDraftOf,
} from '../../ui/terms.tsx';
import { toast } from '../../ui/toast.tsx';
import type { MadeKey } from './made.tsx';
import { useTeamNames } from './team-names.ts';

const TYPES: readonly KeyType[] = ['default', 'llm_api', 'management', 'read_only'];

export function Editor({
  of: given,
  onClose,
  onDone,
}: {
  /** null: a new one. */
  readonly of: (KeyRow & { readonly token: string }) | null;
  readonly onClose: () => void;
  /** With the value of a new one. */
  readonly onDone: (made: MadeKey | null) => void;
}): JSX.Element {
  const texts = t().keysPage;
  const [row] = useState(given); // the page behind reads it again while somebody types
  const before = row === null ? NO_TERMS : termsDraftOf(row);
  const [terms, setTerms] = useState(before);
  const names = { alias: row?.key_alias ?? '', team: row?.team_id ?? '', user: row?.user_id ?? '' };
  const [alias, setAlias] = useState(names.alias);
  const [team, setTeam] = useState(names.team);
  const [user, setUser] = useState(names.user);
  const [type, setType] = useState<KeyType>(row?.key_type ?? 'default');
  const [duration, setDuration] = useState('');
  const { busy, error, send } = useSending();
  const isRight = areTermsRight(terms) && isLifetime(duration);

  const body = (): Record<string, unknown> => {
    const sent = termsBody(terms, before);
    if (alias.trim() !== names.alias) sent['key_alias'] = alias.trim() || null;
    if (team.trim() !== names.team) sent['team_id'] = team.trim() || null;
    if (user.trim() !== names.user) sent['user_id'] = user.trim() || null;
    if (type !== (row?.key_type ?? 'default')) sent['key_type'] = type;
    if (duration.trim() !== '') sent['duration'] = duration.trim();
    return sent;
  };

  const submit = async (): Promise<void> => {
    if (!isRight) return;
    await send(async () => {
      if (row === null) {
        const made = await change<{ readonly key: string; readonly key_alias: string | null }>(
          'POST',
          'key/generate',
          body(),
        );
        onDone({ key: made.key, alias: made.key_alias, grace: null }); // at once: it is shown this one time
        void refreshAll('key/');
      } else {
        await change('POST', 'key/update', { key: row.token, ...body() });
        await refreshAll('key/');
        toast(texts.saved, 'good');
        onDone(null);
      }
    });
  };

  return (
    <Dialog
      title={row === null ? texts.create : texts.editTitle(names.alias || row.key_name)}
      onClose={onClose}
      wide
    >
      <Form
        label={row === null ? texts.columns.name : texts.edit}
        onSubmit={() => void submit()}
        error={error}
        actions={
          <FormButtons
            action={row === null ? texts.create : t().common.save}
            busy={busy}
            disabled={!isRight}
            onCancel={onClose}
          />
        }
      >
        <TextField label={texts.alias} hint={texts.aliasHint} value={alias} onInput={setAlias} autoFocus />
        <div class="pair">
          <TeamField value={team} onInput={setTeam} />
          <TextField
            label={texts.user}
            hint={may('change') ? texts.userHint : texts.userOwnHint}
            value={user}
            onInput={setUser}
            mono
          />
        </div>
        <div class="pair">
          <SelectField
            label={texts.type}
            value={type}
            onChange={(value) => setType(TYPES.find((one) => one === value) ?? 'default')}
            choices={TYPES.map((value) => ({ value, label: texts.types[value] }))}
          />
          <TextField
            label={texts.duration}
            hint={row === null ? texts.durationHint : texts.durationEditHint}
            value={duration}
            onInput={setDuration}
            suggestions={['30d', '90d', '12mo']}
            error={isLifetime(duration) ? null : t().budgets.terms.noDuration}
          />
        </div>
        <TermsFields draft={terms} set={(changes) => setTerms({ ...terms, ...changes })} />
      </Form>
    </Dialog>
  );
}

const isLifetime = (text: string): boolean => text.trim() === '-1' || isDuration(text);

/** A choice by name; where there are too many teams, the id. */
function TeamField({ value, onInput }: { value: string; onInput: (id: string) => void }): JSX.Element {
  const texts = t().keysPage;
  const names = useTeamNames();
  if (names === null)
    return <TextField label={texts.team} hint={texts.teamHint} value={value} onInput={onInput} mono />;
  const known = value === '' || names.has(value) ? [] : [{ value, label: value }];
  return (
    <SelectField
      label={texts.columns.team}
      hint={texts.teamHint}
      value={value}
      onChange={onInput}
      choices={[
        { value: '', label: t().common.none },
        ...[...names].map(([id, label]) => ({ value: id, label })),
        ...known,
      ]}
    />
  );
}
