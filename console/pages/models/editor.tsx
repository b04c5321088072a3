// Adds or changes a runtime model. The rule about `/v1` is said as one types, with the address that was meant; below stands
// where a call would go. Static headers and the choice about client headers are under the same roof, because they are one decision:
// what the gateway learns of a caller.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, change } from '../../api/client.ts';
import { refreshAll } from '../../api/resource.ts';
import { t } from '../../text/index.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, FormButtons } from '../../ui/dialog.tsx';
import { Advanced, Form, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import {
  bodyOf,
  checkBase,
  FORWARDS,
  headersOf,
  modelOf,
  PROVIDERS,
  type Draft,
  type Provider,
} from './entry.ts';
import { Preview } from './preview.tsx';

interface Saved {
  readonly model_id: string;
  readonly message: string;
  readonly persisted: boolean;
}

export function Editor({
  draft: opened,
  onClose,
  onSaved,
}: {
  readonly draft: Draft;
  readonly onClose: () => void;
  readonly onSaved: (id: string) => void;
}): JSX.Element {
  const texts = t().models;
  const [given] = useState(opened); // the page behind reads it again while somebody types
  const [draft, setDraft] = useState(given);
  const [isChecked, setChecked] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (changes: Partial<Draft>): void => setDraft({ ...draft, ...changes });
  const base = checkBase(draft.provider, draft.apiBase);
  const headers = headersOf(draft);
  const missing = draft.name.trim() === '' || draft.model.trim() === '';

  const submit = async (): Promise<void> => {
    setChecked(true);
    if (missing || base !== null || 'issue' in headers) return;
    setBusy(true);
    setError(null);
    try {
      const path = draft.id === null ? 'model/new' : 'model/update';
      const saved = await change<Saved>('POST', path, bodyOf(draft, given));
      await refreshAll('model/', 'chain');
      toast(saved.persisted ? texts.saved : texts.savedInMemory, saved.persisted ? 'good' : 'warn');
      onSaved(saved.model_id);
    } catch (thrown) {
      setError(thrown instanceof ApiError ? thrown : new ApiError(String(thrown), 0));
      setBusy(false);
    }
  };

  const fields = { draft, set, isChecked };
  const title = draft.id === null ? texts.add : texts.edit;
  return (
    <Dialog title={title} onClose={onClose} wide>
      <Form
        label={title}
        onSubmit={() => void submit()}
        error={error?.message ?? null}
        actions={<FormButtons action={t().common.save} busy={isBusy} onCancel={onClose} />}
      >
        <TextField
          label={texts.name}
          hint={texts.nameHint}
          value={draft.name}
          onInput={(name) => set({ name })}
          error={isChecked && draft.name.trim() === '' ? texts.missing : null}
          required
          autoFocus
          mono
        />
        <UpstreamModel {...fields} given={given} />
        <Address {...fields} issue={base} />
        <SentAlong draft={draft} set={set} headers={headers} />
        <Preview draft={base === null && !missing && 'headers' in headers ? draft : null} before={given} />
      </Form>
    </Dialog>
  );
}

interface FieldsProps {
  readonly draft: Draft;
  readonly set: (changes: Partial<Draft>) => void;
  /** Somebody tried to save: what is missing is said. */
  readonly isChecked: boolean;
}

/** What stands behind the entry, and what the model is called there. */
function UpstreamModel({
  draft,
  set,
  isChecked,
  given,
}: FieldsProps & {
  /** The entry as it was when the form was opened. */
  readonly given: Draft;
}): JSX.Element {
  const texts = t().models;
  const other =
    given.provider === 'other' ? [{ value: 'other', label: modelOf({ ...given, model: '…' }) }] : [];
  return (
    <div class="pair">
      <SelectField
        label={texts.provider}
        value={draft.provider}
        onChange={(provider) => set({ provider: provider as Provider })}
        choices={[...other, ...PROVIDERS.map((one) => ({ value: one, label: texts.providers[one] }))]}
        hint={texts.providerHints[draft.provider]}
      />
      <TextField
        label={texts.model}
        hint={texts.modelHint(modelOf({ ...draft, model: draft.model.trim() || 'NAME' }))}
        value={draft.model}
        onInput={(model) => set({ model })}
        error={isChecked && draft.model.trim() === '' ? texts.missing : null}
        required
        mono
      />
    </div>
  );
}

/** The address of the gateway, and with one that is wrong the one that was meant. */
function Address({
  draft,
  set,
  isChecked,
  issue,
}: FieldsProps & { readonly issue: ReturnType<typeof checkBase> }): JSX.Element {
  const texts = t().models;
  const fixed = issue?.fixed ?? null;
  const isProxy = draft.provider === 'litellm_proxy';
  return (
    <>
      <TextField
        label={texts.apiBase}
        hint={texts.apiBaseHints[draft.provider]}
        type="url"
        value={draft.apiBase}
        onInput={(apiBase) => set({ apiBase })}
        error={
          issue === null || (issue.issue === 'missing' && !isChecked) ? null : texts.baseIssues[issue.issue]
        }
        placeholder={isProxy ? 'https://gateway.example.com' : 'https://gateway.example.com/v1'}
        required={draft.provider !== 'other'}
        mono
      />
      {fixed === null ? null : (
        <p class="models-fix">
          <Button icon="check" onClick={() => set({ apiBase: fixed })}>
            {texts.useInstead(fixed)}
          </Button>
        </p>
      )}
    </>
  );
}

/** What goes along with each call: the key, static headers, the headers of clients. */
function SentAlong({
  draft,
  set,
  headers,
}: Omit<FieldsProps, 'isChecked'> & { readonly headers: ReturnType<typeof headersOf> }): JSX.Element {
  const texts = t().models;
  return (
    <>
      <TextField
        label={texts.apiKey}
        hint={draft.id === null ? texts.apiKeyHint : texts.apiKeyKept}
        type="password"
        value={draft.apiKey}
        onInput={(apiKey) => set({ apiKey })}
        autoComplete="new-password"
      />
      {draft.provider === 'custom' ? (
        <TextArea
          label={texts.headers}
          hint={texts.headersHint}
          value={draft.headers}
          onInput={(text) => set({ headers: text })}
          error={'issue' in headers ? texts.headerIssues[headers.issue](headers.detail) : null}
          placeholder={'{ "x-team": "agents" }'}
          mono
        />
      ) : null}
      <Advanced title={texts.advanced}>
        <SelectField
          label={texts.forward}
          hint={texts.forwardHint}
          value={draft.forwards}
          onChange={(value) => set({ forwards: FORWARDS.find((one) => one === value) ?? 'inherited' })}
          choices={FORWARDS.map((value) => ({ value, label: texts.forwards[value] }))}
        />
      </Advanced>
    </>
  );
}
