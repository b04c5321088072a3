// Adds or changes a profile. What the form does not show is sent back as it was read, so that nothing of it gets lost.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../../api/client.ts';
import { readHeaders } from '../../base/headers.ts';
import { messageOf } from '../../base/message.ts';
import { t } from '../../text/index.ts';
import { Dialog, FormButtons } from '../../ui/dialog.tsx';
import { Advanced, Form, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import {
  changePlatform,
  headersIn,
  modelText,
  textIn,
  usePlatform,
  type ModelChoice,
  type Part,
  type Profile,
} from './platform.ts';

/** As the interface takes it. */
const NAME = /^[A-Za-z0-9._-]{1,64}$/;
const MODES = ['auto', 'chat', 'responses'] as const;

interface Draft {
  readonly name: string;
  readonly model: string;
  readonly headers: string;
  readonly canonical: string;
  readonly mode: string;
}

function draftOf(profile: Profile | null): Draft {
  const config = profile?.config ?? {};
  const text = (member: string): string => textIn(config, member);
  const headers = headersIn(config);
  return {
    name: profile?.name ?? '',
    model: text('model'),
    headers: Object.keys(headers).length === 0 ? '' : JSON.stringify(headers, null, 2),
    canonical: text('model_canonical_name'),
    mode: text('api_mode') || 'auto',
  };
}

/** RFC 9110: a name that is taken answers 412 to a new profile, and is not overwritten. */
const MUST_BE_NEW = { 'if-none-match': '*' };

/** The key is not there to be read; an empty one leaves the stored one as it is. */
function bodyOf(draft: Draft, profile: Profile | null): Record<string, unknown> {
  const read = readHeaders(draft.headers);
  const headers = 'headers' in read ? read.headers : {};
  return {
    preserve_existing_api_key: true,
    llm: {
      ...profile?.config,
      model: draft.model.trim(),
      extra_headers: Object.keys(headers).length === 0 ? null : headers,
      model_canonical_name: draft.canonical.trim() === '' ? null : draft.canonical.trim(),
      api_mode: draft.mode,
    },
  };
}

export function ProfileEditor({
  profile,
  onClose,
  onSaved,
}: {
  /** null = a new one. */
  readonly profile: Profile | null;
  readonly onClose: () => void;
  readonly onSaved: (name: string) => void;
}): JSX.Element {
  const texts = t().platform;
  const [draft, setDraft] = useState(() => draftOf(profile));
  const [state, setState] = useState<{ checked: boolean; busy: boolean; error: string | null }>({
    checked: false,
    busy: false,
    error: null,
  });
  const [taken, setTaken] = useState<string | null>(null);
  const set = (changes: Partial<Draft>): void => setDraft({ ...draft, ...changes });
  const headers = readHeaders(draft.headers);
  const name = draft.name.trim();
  const nameError =
    state.checked && !NAME.test(name) ? texts.nameWrong : name === taken ? texts.nameTaken : null;
  const title = profile === null ? texts.addProfile : texts.editProfile;

  const submit = async (): Promise<void> => {
    setState({ checked: true, busy: false, error: null });
    if (!NAME.test(name) || draft.model.trim() === '' || 'issue' in headers) return;
    setState({ checked: true, busy: true, error: null });
    try {
      const before = profile?.name ?? name;
      await changePlatform(
        'POST',
        `settings/profiles/${encodeURIComponent(before)}`,
        bodyOf(draft, profile),
        profile === null ? MUST_BE_NEW : {},
      );
      if (before !== name)
        await changePlatform('POST', `settings/profiles/${encodeURIComponent(before)}/rename`, {
          new_name: name,
        });
      toast(texts.saved, 'good');
      onSaved(name);
    } catch (thrown) {
      const isTaken = thrown instanceof ApiError && thrown.status === 412;
      if (isTaken) setTaken(name);
      setState({ checked: true, busy: false, error: isTaken ? null : messageOf(thrown) });
    }
  };

  return (
    <Dialog title={title} onClose={onClose} wide>
      <Form
        label={texts.form}
        onSubmit={() => void submit()}
        error={state.error}
        actions={<FormButtons action={t().common.save} busy={state.busy} onCancel={onClose} />}
      >
        <TextField
          label={texts.name}
          hint={texts.nameHint}
          value={draft.name}
          onInput={(next) => set({ name: next })}
          error={nameError}
          required
          autoFocus
        />
        <Model
          value={draft.model}
          onInput={(model) => set({ model })}
          error={state.checked && draft.model.trim() === '' ? texts.modelMissing : null}
        />
        <Advanced title={texts.advanced} open={profile !== null}>
          <TextArea
            label={texts.headers}
            hint={texts.headersHint}
            value={draft.headers}
            onInput={(text) => set({ headers: text })}
            error={'issue' in headers ? t().models.headerIssues[headers.issue](headers.detail) : null}
            placeholder={'{ "X-OpenHands-Project": "proj-42" }'}
            mono
          />
          <div class="pair">
            <TextField
              label={texts.canonical}
              hint={texts.canonicalHint}
              value={draft.canonical}
              onInput={(canonical) => set({ canonical })}
              mono
            />
            <SelectField
              label={texts.mode}
              value={draft.mode}
              onChange={(mode) => set({ mode })}
              choices={MODES.map((value) => ({ value, label: texts.modes[value] }))}
            />
          </div>
        </Advanced>
      </Form>
    </Dialog>
  );
}

function Model(props: {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly error: string | null;
}): JSX.Element {
  const texts = t().platform;
  const models = usePlatform<Part<ModelChoice>>('config/models/search?limit=100').state.value;
  return (
    <TextField
      label={texts.model}
      hint={texts.modelHint}
      suggestions={
        models.is === 'ready' ? models.data.items.filter(({ hidden }) => !hidden).map(modelText) : []
      }
      required
      mono
      {...props}
    />
  );
}
