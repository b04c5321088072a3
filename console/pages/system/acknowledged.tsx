// Who has seen an alert, when, and what they say of it; an administrator acknowledges it, or takes that back.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { refreshAll } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { now } from '../../base/now.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog, FormButtons } from '../../ui/dialog.tsx';
import { Form, TextField } from '../../ui/field.tsx';
import { useSending } from '../../ui/sending.ts';
import { toast } from '../../ui/toast.tsx';
import type { Alert } from './alert-rows.ts';

interface Props {
  readonly alert: Alert;
  readonly onChanged: (alert: Alert) => void;
}

type Verb = 'acknowledge' | 'reopen';

export function Acknowledged({ alert, onChanged }: Props): JSX.Element {
  const texts = t().system.alerting;
  const [asked, setAsked] = useState<Verb | null>(null);
  const { acknowledged } = alert;
  const note = acknowledged?.note ?? null;
  const verb: Verb = acknowledged === null ? 'acknowledge' : 'reopen';
  const close = (): void => setAsked(null);
  const act = async (what: Verb, body: object): Promise<void> => {
    onChanged(await change<Alert>('POST', `alerts/${encodeURIComponent(alert.id)}/${what}`, body));
    await refreshAll('alerts', 'chain');
    toast(what === 'acknowledge' ? texts.acknowledgedNow : texts.reopened, 'good');
  };
  return (
    <div class="alert-seen">
      <div>
        <Badge tone={acknowledged === null ? 'warn' : 'good'}>
          {acknowledged === null ? texts.open : texts.acknowledgedBy(acknowledged.by)}
        </Badge>
        {acknowledged === null ? null : (
          <p class="quiet">{`${dateTime(acknowledged.at)} (${ago(acknowledged.at, now.value)})`}</p>
        )}
        {note === null ? null : <p class="alert-note">{note}</p>}
      </div>
      {may('change') ? (
        // One button, so that the focus has a place to come back to.
        <Button
          kind={verb === 'acknowledge' ? 'primary' : 'plain'}
          icon={verb === 'acknowledge' ? 'check' : 'refresh'}
          onClick={() => setAsked(verb)}
        >
          {texts[verb]}
        </Button>
      ) : null}
      {asked === 'acknowledge' ? <Ask act={(note) => act('acknowledge', { note })} onClose={close} /> : null}
      {asked === 'reopen' ? (
        <Confirm
          title={texts.reopenTitle}
          action={texts.reopen}
          act={() => act('reopen', {})}
          onClose={close}
          danger={false}
        >
          {texts.reopenWhy}
        </Confirm>
      ) : null}
    </div>
  );
}

function Ask({
  act,
  onClose,
}: {
  act: (note: string | null) => Promise<void>;
  onClose: () => void;
}): JSX.Element {
  const texts = t().system.alerting;
  const [note, setNote] = useState('');
  const { busy, error, send } = useSending();
  const submit = (): Promise<void> =>
    send(async () => {
      await act(note.trim() || null);
      onClose();
    });
  return (
    <Dialog title={texts.acknowledgeTitle} onClose={onClose}>
      <Form
        label={texts.acknowledgeTitle}
        onSubmit={() => void submit()}
        error={error}
        actions={<FormButtons action={texts.acknowledge} busy={busy} onCancel={onClose} />}
      >
        <p>{texts.acknowledgeWhy}</p>
        <TextField label={texts.note} hint={texts.noteHint} value={note} onInput={setNote} autoFocus />
      </Form>
    </Dialog>
  );
}
