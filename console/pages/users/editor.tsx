// Makes a user, or changes one: only what was changed is sent.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { UserRole, UserRow } from '../../api/access.ts';
import { change } from '../../api/client.ts';
import { refreshAll } from '../../api/resource.ts';
import { t } from '../../text/index.ts';
import { Dialog, FormButtons } from '../../ui/dialog.tsx';
import { Form, SelectField, TextField } from '../../ui/field.tsx';
import { useSending } from '../../ui/sending.ts';
import { areTermsRight, NO_TERMS, TermsFields, termsBody, termsDraftOf } from '../../ui/terms.tsx';
import { toast } from '../../ui/toast.tsx';

export const ROLES: readonly UserRole[] = [
  'internal_user',
  'internal_user_viewer',
  'proxy_admin_viewer',
  'proxy_admin',
];

export function Editor({
  of: given,
  onClose,
  onDone,
}: {
  /** null: a new one. */
  readonly of: UserRow | null;
  readonly onClose: () => void;
  readonly onDone: (id: string) => void;
}): JSX.Element {
  const texts = t().users;
  const [row] = useState(given); // the page behind reads it again while somebody types
  const before = row === null ? NO_TERMS : termsDraftOf(row);
  const [terms, setTerms] = useState(before);
  const names = { email: row?.user_email ?? '', alias: row?.user_alias ?? '' };
  const [email, setEmail] = useState(names.email);
  const [alias, setAlias] = useState(names.alias);
  const [id, setId] = useState('');
  const [role, setRole] = useState<UserRole>(row?.user_role ?? 'internal_user');
  const { busy, error, send } = useSending();
  const isRight = areTermsRight(terms);

  const body = (): Record<string, unknown> => {
    const sent = termsBody(terms, before);
    if (email.trim() !== names.email) sent['user_email'] = email.trim() || null;
    if (alias.trim() !== names.alias) sent['user_alias'] = alias.trim() || null;
    if (row === null || role !== row.user_role) sent['user_role'] = role;
    if (row !== null) return { user_id: row.user_id, ...sent };
    // Keys are made on their own page, where their value is shown.
    return { ...sent, auto_create_key: false, ...(id.trim() === '' ? {} : { user_id: id.trim() }) };
  };

  const submit = async (): Promise<void> => {
    if (!isRight) return;
    await send(async () => {
      const { user_id: saved } = await change<{ readonly user_id: string }>(
        'POST',
        row === null ? 'user/new' : 'user/update',
        body(),
      );
      await refreshAll('user/');
      toast(texts.saved, 'good');
      onDone(saved);
    });
  };

  return (
    <Dialog
      title={row === null ? texts.create : texts.editTitle(names.alias || names.email || row.user_id)}
      onClose={onClose}
      wide
    >
      <Form
        label={row === null ? texts.columns.name : texts.edit}
        onSubmit={() => void submit()}
        error={error}
        actions={<FormButtons action={t().common.save} busy={busy} disabled={!isRight} onCancel={onClose} />}
      >
        <div class="pair">
          <TextField label={texts.email} value={email} onInput={setEmail} autoFocus />
          <TextField label={texts.alias} value={alias} onInput={setAlias} />
        </div>
        <div class="pair">
          <SelectField
            label={texts.role}
            value={role}
            onChange={(value) => setRole(ROLES.find((one) => one === value) ?? 'internal_user')}
            choices={ROLES.map((value) => ({ value, label: texts.roles[value] }))}
            hint={texts.roleHints[role]}
          />
          {row === null ? (
            <TextField label={texts.id} hint={texts.idHint} value={id} onInput={setId} mono />
          ) : null}
        </div>
        <TermsFields draft={terms} set={(changes) => setTerms({ ...terms, ...changes })} />
      </Form>
    </Dialog>
  );
}
