// Who has seen an alert, when, and what they say of it; an administrator acknowledges it, or takes that back.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { refreshAll } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { messageOf } from '../../base/message.ts';
import { now } from '../../base/now.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { Form, TextField } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Alert } from './alert-rows.ts';

interface Props {
  readonly alert: Alert;
  readonly onChanged: (alert: Alert) => void;
}

export function Acknowledged({ alert, onChanged }: Props): JSX.Element {
  const texts = t().system.alerting;
  const [isAsked, setAsked] = useState(false);
  const { acknowledged } = alert;
  const close = (): void => setAsked(false);
  const act = async (verb: 'acknowledge' | 'reopen', body: object): Promise<void> => {
    onChanged(await change<Alert>('POST', `alerts/${encodeURIComponent(alert.id)}/${verb}`, body));
    await refreshAll('alerts', 'chain');
    toast(verb === 'acknowledge' ? texts.acknowledgedNow : texts.reopened, 'good');
  };
  if (acknowledged === null)
    return (
      <div class="alert-seen">
        <Badge tone="warn">{texts.open}</Badge>
        {may('change') ? (
          <Button kind="primary" icon="check" onClick={() => setAsked(true)}>
            {texts.acknowledge}
          </Button>
        ) : null}
        {isAsked ? <Ask act={(note) => act('acknowledge', { note })} onClose={close} /> : null}
      </div>
    );
  const { at, by, note } = acknowledged;
  return (
    <div class="alert-seen">
      <div>
        <Badge tone="good">{texts.acknowledgedBy(by)}</Badge>
        <p class="quiet">{`${dateTime(at)} (${ago(at, now.value)})`}</p>
        {note === null ? null : <p class="alert-note">{note}</p>}
      </div>
      {may('change') ? <Button onClick={() => setAsked(true)}>{texts.reopen}</Button> : null}
      {isAsked ? (
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
  const [state, setState] = useState<{ busy: boolean; error: string | null }>({ busy: false, error: null });
  const submit = async (): Promise<void> => {
    setState({ busy: true, error: null });
    try {
      await act(note.trim() || null);
      onClose();
    } catch (thrown) {
      setState({ busy: false, error: messageOf(thrown) });
    }
  };
  return (
    <Dialog title={texts.acknowledgeTitle} onClose={onClose}>
      <Form
        label={texts.acknowledgeTitle}
        onSubmit={() => void submit()}
        error={state.error}
        actions={
          <>
            <Button kind="quiet" onClick={onClose}>
              {t().common.cancel}
            </Button>
            <Button kind="primary" type="submit" busy={state.busy}>
              {texts.acknowledge}
            </Button>
          </>
        }
      >
        <p>{texts.acknowledgeWhy}</p>
        <TextField label={texts.note} hint={texts.noteHint} value={note} onInput={setNote} autoFocus />
      </Form>
    </Dialog>
  );
}
