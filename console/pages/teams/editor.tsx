// Makes a team, or changes one: only what was changed is sent.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TeamRow } from '../../api/access.ts';
import { change } from '../../api/client.ts';
import { refreshAll } from '../../api/resource.ts';
import { t } from '../../text/index.ts';
import { Dialog, FormButtons } from '../../ui/dialog.tsx';
import { Form, TextField } from '../../ui/field.tsx';
import { useSending } from '../../ui/sending.ts';
import { areTermsRight, NO_TERMS, TermsFields, termsBody, termsDraftOf } from '../../ui/terms.tsx';
import { toast } from '../../ui/toast.tsx';

export function Editor({
  of: given,
  onClose,
  onDone,
}: {
  /** null: a new one. */
  readonly of: TeamRow | null;
  readonly onClose: () => void;
  readonly onDone: (id: string) => void;
}): JSX.Element {
  const texts = t().teams;
  const [row] = useState(given); // the page behind reads it again while somebody types
  const before = row === null ? NO_TERMS : termsDraftOf(row);
  const [terms, setTerms] = useState(before);
  const [alias, setAlias] = useState(row?.team_alias ?? '');
  const [isChecked, setChecked] = useState(false);
  const { busy, error, send } = useSending();
  const isRight = areTermsRight(terms) && alias.trim() !== '';

  const submit = async (): Promise<void> => {
    setChecked(true);
    if (!isRight) return;
    const isNamed = alias.trim() !== (row?.team_alias ?? '');
    const body = { ...(isNamed ? { team_alias: alias.trim() } : {}), ...termsBody(terms, before) };
    await send(async () => {
      const made = await (row === null
        ? change<{ readonly team_id: string }>('POST', 'team/new', body)
        : change('POST', 'team/update', { team_id: row.team_id, ...body }));
      await refreshAll('team/', 'v2/team/');
      toast(texts.saved, 'good');
      onDone(row?.team_id ?? String(made['team_id']));
    });
  };

  return (
    <Dialog
      title={row === null ? texts.create : texts.editTitle(row.team_alias ?? row.team_id)}
      onClose={onClose}
      wide
    >
      <Form
        label={row === null ? texts.columns.name : texts.edit}
        onSubmit={() => void submit()}
        error={error}
        actions={<FormButtons action={t().common.save} busy={busy} onCancel={onClose} />}
      >
        <TextField
          label={texts.alias}
          value={alias}
          onInput={setAlias}
          error={isChecked && alias.trim() === '' ? texts.missing : null}
          required
          autoFocus
        />
        <TermsFields draft={terms} set={(changes) => setTerms({ ...terms, ...changes })} />
      </Form>
    </Dialog>
  );
}
